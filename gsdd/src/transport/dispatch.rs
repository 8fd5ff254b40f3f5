//! One call: from its name to its answer.

use gsd_proto::Code;
use gsd_proto::WireError;
use gsd_proto::code::rpc;
use gsd_proto::message::RequestId;
use jsonrpsee_core::server::{
    BoundedSubscriptions, ConnectionId, Extensions, MethodCallback, MethodResponse, MethodSink,
    SubscriptionState,
};
use jsonrpsee_types::{ErrorObjectOwned, Id, Params};
use serde_json::value::RawValue;

use super::cancel::Cancels;
use super::{Current, Peer, Service};
use crate::rpc::error_object;
use crate::rpc::guard;

/// What the calls of one connection share.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) service: std::sync::Arc<Service>,
    pub(super) connection: ConnectionId,
    pub(super) peer: Peer,
    pub(super) sink: MethodSink,
    pub(super) subscriptions: BoundedSubscriptions,
    pub(super) cancels: Cancels,
}

/// One call, free of the frame it came in.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId<'static>,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// Where a call stands; subscriptions cannot be opened everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    InBatch,
    Notification,
}

/// The id in the form of the method table.
pub(super) fn table_id(id: &RequestId<'_>) -> Id<'static> {
    match id {
        RequestId::Null => Id::Null,
        RequestId::Number(number) => Id::Number(*number),
        RequestId::Text(text) => Id::Str(text.to_string().into()),
    }
}

/// An error of the transport itself.
pub(super) fn transport_error(id: &RequestId<'_>, number: i32, message: &str) -> MethodResponse {
    MethodResponse::error(table_id(id), ErrorObjectOwned::owned(number, message, None::<()>))
}

/// Serves one call. `None` if its answer went, or will go, through the sink.
pub(super) async fn dispatch(caller: &Caller, call: Call, place: Place) -> Option<MethodResponse> {
    let service = &caller.service;
    let Some((name, callback)) = service.methods.method_with_name(&call.method) else {
        return Some(unknown_method(&call));
    };
    let cancel = caller.cancels.register(call.id.clone());
    let id = table_id(&call.id);
    let params = Params::new(call.params.as_ref().map(|raw| raw.get())).into_owned();
    let mut extensions = Extensions::new();
    extensions.insert(caller.peer);
    extensions.insert(caller.connection);
    let answer_bytes = service.limits.answer_bytes;
    let (connection, callback, reply_to) = (caller.connection, callback.clone(), id.clone());
    let current = Current::new(caller.peer, id.clone(), caller.sink.clone());
    let work = current.scope(async move {
        match callback {
            MethodCallback::Sync(run) => Some(run(reply_to, params, answer_bytes, extensions)),
            MethodCallback::Async(run) => {
                Some(run(reply_to, params, connection, answer_bytes, extensions).await)
            }
            MethodCallback::Unsubscription(run) => {
                Some(run(reply_to, params, connection, answer_bytes, extensions))
            }
            MethodCallback::Subscription(run) => {
                if place != Place::Alone {
                    let message = "subscriptions cannot be opened in a batch or by a notification";
                    return Some(MethodResponse::error(
                        reply_to,
                        ErrorObjectOwned::owned(rpc::INVALID_REQUEST, message, None::<()>),
                    ));
                }
                // The permit belongs to the subscription and comes back when that ends.
                let Some(permit) = caller.subscriptions.acquire() else {
                    let limit = caller.subscriptions.max();
                    let message = format!("at most {limit} subscriptions on one connection");
                    return Some(MethodResponse::error(
                        reply_to,
                        ErrorObjectOwned::owned(rpc::TOO_MANY_SUBSCRIPTIONS, message, None::<()>),
                    ));
                };
                let state = SubscriptionState {
                    conn_id: connection,
                    id_provider: &caller.service.ids,
                    subscription_permit: permit,
                };
                // Its answer goes through the sink, before the first event.
                let answer = run(reply_to, params, caller.sink.clone(), state, extensions).await;
                // A handler that dropped the pending subscription sent nothing; that must not leave the caller waiting.
                (!answer.is_subscription()).then_some(answer)
            }
        }
    });
    guard::guarded(name, id, &service.app, service.limits.call, &cancel.token, work).await
}

fn unknown_method(call: &Call) -> MethodResponse {
    // The name is the caller's own text; it goes back to the caller and nowhere else, cleaned and cut.
    let shown = gsdd_core::text::shown_up_to(&call.method, 80);
    let error = WireError::new(Code::UsageUnknownMethod, format!("there is no method `{shown}`"));
    MethodResponse::error(table_id(&call.id), error_object(rpc::METHOD_NOT_FOUND, error))
}
