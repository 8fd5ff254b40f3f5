//! What one message is: a call, a notification, a batch, or something that has to be refused and with which id.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::value::RawValue;

use crate::code::rpc;
use crate::scan::{self, BadShape};

/// The id of a call.
///
/// The specification allows any number; those that are not whole, negative or larger than 64 bits are refused with
/// an answer, because they cannot be sent back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId<'a> {
    /// `null`, unusual but allowed.
    Null,
    /// A whole number.
    Number(u64),
    /// A text.
    Text(Cow<'a, str>),
}

impl RequestId<'_> {
    /// The same id without borrowed parts.
    #[must_use]
    pub fn into_owned(self) -> RequestId<'static> {
        match self {
            Self::Null => RequestId::Null,
            Self::Number(number) => RequestId::Number(number),
            Self::Text(text) => RequestId::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// Reads an id from its JSON text; `None` if it is not usable.
    #[must_use]
    pub fn parse(raw: &RawValue) -> Option<RequestId<'_>> {
        let text = raw.get();
        if text == "null" {
            return Some(RequestId::Null);
        }
        if text.starts_with('"') {
            return serde_json::from_str::<BorrowedText<'_>>(text).ok().map(|text| RequestId::Text(text.0));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok().map(RequestId::Number)
        } else {
            None
        }
    }
}

#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// One message, classified.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A request that expects an answer.
    Call {
        /// To be sent back.
        id: RequestId<'a>,
        /// Name of the method.
        method: Cow<'a, str>,
        /// Object or array, if there.
        params: Option<&'a RawValue>,
    },
    /// A request without id: never answered, not even with an error.
    Notification {
        /// Name of the method.
        method: Cow<'a, str>,
        /// Object or array, if there.
        params: Option<&'a RawValue>,
    },
    /// Several messages in one frame; may be empty, which is an error to answer.
    Batch(Vec<&'a RawValue>),
    /// Not a request: answer with this error.
    Refused(Refusal<'a>),
}

/// A message that gets an error as its answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// Its id if it was usable, else null.
    pub id: RequestId<'a>,
    /// JSON-RPC number.
    pub number: i32,
    /// What is wrong.
    pub reason: &'static str,
}

fn refused<'a>(id: RequestId<'a>, number: i32, reason: &'static str) -> Incoming<'a> {
    Incoming::Refused(Refusal { id, number, reason })
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// `null` is a value here: `"id": null` is not the same as no id.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Classifies one frame.
#[must_use]
pub fn classify(frame: &[u8]) -> Incoming<'_> {
    let Ok(text) = std::str::from_utf8(frame) else {
        return refused(RequestId::Null, rpc::PARSE_ERROR, "not UTF-8");
    };
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return refused(RequestId::Null, rpc::PARSE_ERROR, "not JSON");
    }
    match scan::check(frame) {
        Ok(()) => {}
        Err(BadShape::TooDeep) => return refused(RequestId::Null, rpc::INVALID_REQUEST, "nested too deep"),
        Err(BadShape::DuplicateKey) => {
            return refused(RequestId::Null, rpc::INVALID_REQUEST, "an object has a key twice");
        }
    }
    if text.trim_start().starts_with('[') {
        return match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(entries) => Incoming::Batch(entries),
            Err(_) => refused(RequestId::Null, rpc::PARSE_ERROR, "not JSON"),
        };
    }
    classify_one(text)
}

/// Classifies one entry of a batch, or a single message that is known to be well-formed JSON.
#[must_use]
pub fn classify_one(text: &str) -> Incoming<'_> {
    let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(text) else {
        return refused(RequestId::Null, rpc::INVALID_REQUEST, "not a request object");
    };
    // The id first: a call with an unusable id must not be mistaken for a notification, which gets no answer.
    let id = match envelope.id.map(RequestId::parse) {
        Some(None) => return refused(RequestId::Null, rpc::INVALID_REQUEST, "unusable id"),
        Some(Some(id)) => Some(id),
        None => None,
    };
    let reply_to = || id.clone().unwrap_or(RequestId::Null);
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return refused(reply_to(), rpc::INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    }
    let method = envelope.method.and_then(|raw| serde_json::from_str::<BorrowedText<'_>>(raw.get()).ok());
    let Some(BorrowedText(method)) = method else {
        return refused(reply_to(), rpc::INVALID_REQUEST, "`method` must be a text");
    };
    let params = envelope.params.filter(|raw| raw.get() != "null");
    if params.is_some_and(|raw| !raw.get().starts_with(['{', '['])) {
        return refused(reply_to(), rpc::INVALID_REQUEST, "`params` must be an object or an array");
    }
    match id {
        Some(id) => Incoming::Call { id, method, params },
        None => Incoming::Notification { method, params },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(frame: &str, id: RequestId<'_>, number: i32) {
        match classify(frame.as_bytes()) {
            Incoming::Refused(refusal) => assert_eq!((refusal.id, refusal.number), (id, number), "{frame}"),
            other => panic!("{frame}: {other:?}"),
        }
    }

    #[test]
    fn calls_and_notifications() {
        let call = br#"{"jsonrpc":"2.0","id":"\u0061","method":"m","params":{"x":1}}"#;
        assert!(
            matches!(classify(call), Incoming::Call { id: RequestId::Text(id), params: Some(_), .. } if id == "a")
        );
        let null = br#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#;
        assert!(matches!(classify(null), Incoming::Call { id: RequestId::Null, params: None, .. }));
        let notification = br#"{"jsonrpc":"2.0","method":"m","params":[1]}"#;
        assert!(matches!(classify(notification), Incoming::Notification { .. }));
    }

    #[test]
    fn p01_unusable_ids_are_refused_with_an_answer() {
        for id in ["-5", "1.5", "18446744073709551616", "1e3", "true", "[1]", "{}"] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            check_refused(&frame, RequestId::Null, rpc::INVALID_REQUEST);
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_id() {
        check_refused("{", RequestId::Null, rpc::PARSE_ERROR);
        check_refused(r#"{"jsonrpc":"1.0","id":4,"method":"m"}"#, RequestId::Number(4), rpc::INVALID_REQUEST);
        check_refused(r#"{"jsonrpc":"2.0","id":4}"#, RequestId::Number(4), rpc::INVALID_REQUEST);
        check_refused(
            r#"{"jsonrpc":"2.0","id":4,"method":"m","params":7}"#,
            RequestId::Number(4),
            rpc::INVALID_REQUEST,
        );
        check_refused("7", RequestId::Null, rpc::INVALID_REQUEST);
        assert!(matches!(classify(b"\xff"), Incoming::Refused(Refusal { number: rpc::PARSE_ERROR, .. })));
    }

    #[test]
    fn t176_deep_or_duplicate_key_requests_are_refused() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        check_refused(&deep, RequestId::Null, rpc::INVALID_REQUEST);
        check_refused(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            RequestId::Null,
            rpc::INVALID_REQUEST,
        );
        check_refused(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"k":1,"k":2}}"#,
            RequestId::Null,
            rpc::INVALID_REQUEST,
        );
    }

    #[test]
    fn batches_keep_their_entries() {
        assert!(matches!(classify(b"[]"), Incoming::Batch(entries) if entries.is_empty()));
        assert!(matches!(classify(b" [1, {\"a\":[]}]"), Incoming::Batch(entries) if entries.len() == 2));
    }
}
