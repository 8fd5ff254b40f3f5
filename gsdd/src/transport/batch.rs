//! Several messages in one frame.

use gsd_proto::code::rpc;
use gsd_proto::message::{Incoming, RequestId, classify_one};
use jsonrpsee_core::server::{BatchResponseBuilder, MethodResponse};
use serde_json::value::RawValue;

use super::cancel::is_cancel;
use super::dispatch::{Call, Caller, Place, dispatch, transport_error};

/// Serves the entries in order. `None` when there is nothing to answer: all of them were notifications.
pub(super) async fn serve_batch(caller: &Caller, entries: Vec<Box<RawValue>>) -> Option<MethodResponse> {
    let limits = caller.service.limits;
    if entries.is_empty() {
        return Some(transport_error(&RequestId::Null, rpc::INVALID_REQUEST, "an empty batch"));
    }
    if entries.len() > limits.batch {
        let message = format!("at most {} entries in a batch", limits.batch);
        return Some(transport_error(&RequestId::Null, rpc::BATCH_TOO_LONG, &message));
    }
    let mut answers = BatchResponseBuilder::new_with_limit(limits.answer_bytes);
    for entry in entries {
        let answer = match classify_one(entry.get()) {
            Incoming::Call { id, method, params } => {
                let call = owned(id, &method, params);
                dispatch(caller, call, Place::InBatch).await
            }
            Incoming::Notification { method, params } if is_cancel(&method) => {
                caller.cancels.cancel(params);
                None
            }
            Incoming::Notification { method, params } => {
                let call = owned(RequestId::Null, &method, params);
                drop(dispatch(caller, call, Place::Notification).await);
                None
            }
            Incoming::Refused(refusal) => Some(transport_error(&refusal.id, refusal.number, refusal.reason)),
            Incoming::Batch(_) => {
                Some(transport_error(&RequestId::Null, rpc::INVALID_REQUEST, "a batch inside a batch"))
            }
        };
        if let Some(answer) = answer
            && let Err(too_long) = answers.append(answer)
        {
            return Some(too_long);
        }
    }
    if answers.is_empty() { None } else { Some(MethodResponse::from_batch(answers.finish())) }
}

/// A call that no longer borrows from its frame.
pub(super) fn owned(id: RequestId<'_>, method: &str, params: Option<&RawValue>) -> Call {
    Call { id: id.into_owned(), method: method.to_owned(), params: params.map(ToOwned::to_owned) }
}
