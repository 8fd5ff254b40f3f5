//! Events of a subscription, one after the other.

use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CallError, Client};
use crate::method::Subscription;

/// An open subscription. As an iterator it blocks until the next event and ends when the daemon closes the
/// connection; dropping it closes the connection, which ends the subscription.
pub struct Events<S> {
    client: Client,
    id: String,
    kind: PhantomData<fn() -> S>,
}

impl<S> std::fmt::Debug for Events<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(borrow, default)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    subscription: &'a RawValue,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

impl<S: Subscription> Events<S> {
    pub(super) fn new(client: Client, id: String) -> Self {
        Self { client, id, kind: PhantomData }
    }

    /// Waits for the next event up to `timeout`.
    ///
    /// # Errors
    /// [`CallError::Timeout`] if none came, [`CallError::Closed`] when the subscription has ended.
    pub fn next_within(&mut self, timeout: Option<Duration>) -> Result<S::Event, CallError> {
        self.client.timeout = timeout;
        let deadline = self.client.deadline();
        loop {
            let frame = self.client.read_frame(deadline)?;
            let Ok(notification) = serde_json::from_slice::<Notification<'_>>(&frame) else { continue };
            let Some(params) = notification.params else { continue };
            if notification.method.as_deref() != Some(S::EVENT) || params.subscription.get() != self.id {
                continue;
            }
            // A message with `error` instead of `result` is the daemon's last word on this subscription.
            let Some(result) = params.result else { return Err(CallError::Closed) };
            return serde_json::from_str(result.get())
                .map_err(|error| CallError::Decode { method: S::EVENT.to_owned(), error });
        }
    }
}

impl<S: Subscription> Iterator for Events<S> {
    type Item = Result<S::Event, CallError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_within(None) {
            Err(CallError::Closed) => None,
            other => Some(other),
        }
    }
}
