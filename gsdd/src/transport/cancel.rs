//! Calls that can still be given up: `$/cancel` (and `$/cancelRequest`, its name in editor libraries) names the id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gsd_proto::message::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// Whether a method is a request to give up a call.
pub(super) fn is_cancel(method: &str) -> bool {
    matches!(method, "$/cancel" | "$/cancelRequest")
}

/// The calls of one connection that have not been answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancels {
    open: Arc<Mutex<HashMap<RequestId<'static>, CancellationToken>>>,
}

impl Cancels {
    /// Registers a call; it can be given up until the guard goes.
    pub(super) fn register(&self, id: RequestId<'static>) -> CancelGuard {
        let token = CancellationToken::new();
        self.lock().insert(id.clone(), token.clone());
        CancelGuard { cancels: self.clone(), id, token }
    }

    /// Gives up the call named in the parameters, if it is open. Unknown ids are ignored: the answer and the
    /// cancellation may cross.
    pub(super) fn cancel(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        let named = params.and_then(|raw| serde_json::from_str::<Named<'_>>(raw.get()).ok());
        let Some(id) = named.and_then(|named| RequestId::parse(named.id)) else { return };
        if let Some(token) = self.lock().get(&id.into_owned()) {
            token.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId<'static>, CancellationToken>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Cancels::register`].
#[derive(Debug)]
pub(super) struct CancelGuard {
    cancels: Cancels,
    id: RequestId<'static>,
    /// Cancelled when the call is to be given up.
    pub(super) token: CancellationToken,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.cancels.lock().remove(&self.id);
    }
}
