//! What the ledger says about each capability when the set is composed.
//!
//! The third reading of the file, more forgiving than the other two: the envelope is not looked at and a bad entry
//! costs only itself, because a composition must not fail over a ledger.
//!
//! Source: overlay model (pending entries are skipped), composition rules section 4.

use std::collections::BTreeMap;

use serde_json::Value;

use super::MAX_LEDGER_BYTES;
use super::entry::Entry;

/// State of one key of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerState {
    /// An operation on it is unfinished.
    Pending,
    /// Installed.
    Committed,
    /// There is something under the key, but no entry that counts.
    Neither,
}

/// The state of every key; a file without readable `entries` has none.
#[must_use]
pub fn classify(bytes: &[u8]) -> BTreeMap<String, LedgerState> {
    if bytes.len() > MAX_LEDGER_BYTES {
        return BTreeMap::new();
    }
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
        return BTreeMap::new();
    };
    let Some(entries) = document.get("entries").and_then(Value::as_object) else {
        return BTreeMap::new();
    };
    entries.iter().map(|(key, value)| (key.clone(), state(key, value))).collect()
}

fn state(key: &str, value: &Value) -> LedgerState {
    match value.get("_pending") {
        Some(intent) if is_truthy(intent) => LedgerState::Pending,
        Some(_) => LedgerState::Neither,
        None if Entry::read(key, value).is_ok() => LedgerState::Committed,
        None => LedgerState::Neither,
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_entry_does_not_affect_its_neighbours() {
        let states = classify(
            br#"{"version":7,"entries":{
                "a":{"id":"a","version":"1","source":"","integrity":"","files":[],"sharedEdits":[]},
                "b":{"_pending":1},
                "c":{"id":"c","version":"1","source":"","integrity":"","files":[],"sharedEdits":[],"_pending":null},
                "d":5}}"#,
        );
        let expected = [
            ("a", LedgerState::Committed),
            ("b", LedgerState::Pending),
            ("c", LedgerState::Neither),
            ("d", LedgerState::Neither),
        ];
        assert_eq!(states, expected.map(|(key, state)| (key.to_owned(), state)).into());
        assert!(classify(b"[]").is_empty());
        assert!(classify(br#"{"entries":[]}"#).is_empty());
    }
}
