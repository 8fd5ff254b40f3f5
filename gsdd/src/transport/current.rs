//! The call that is being served, for the code that serves it: who asked, and how to tell how far it is.
//!
//! It is found through the task, so that it need not be handed through every function; handlers that block get it on
//! their thread too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gsd_proto::api::{PROGRESS, Progress};
use jsonrpsee_core::server::MethodSink;
use jsonrpsee_types::Id;
use serde_json::json;

use super::Peer;

tokio::task_local! {
    static CURRENT: Arc<Current>;
}

/// One call.
#[derive(Debug)]
pub struct Current {
    peer: Peer,
    id: Id<'static>,
    sink: MethodSink,
    wants_progress: AtomicBool,
    /// In milliseconds; the largest number is "not said".
    wait_ms: AtomicU64,
}

impl Current {
    pub(super) fn new(peer: Peer, id: Id<'static>, sink: MethodSink) -> Arc<Self> {
        Arc::new(Self {
            peer,
            id,
            sink,
            wants_progress: AtomicBool::new(false),
            wait_ms: AtomicU64::new(u64::MAX),
        })
    }

    /// The call that this code is part of; `None` outside of one.
    #[must_use]
    pub fn get() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `work` as part of this call.
    pub(super) async fn scope<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// Runs `work` as part of `current`, on another thread.
    pub(crate) fn on_thread<R>(current: Option<Arc<Self>>, work: impl FnOnce() -> R) -> R {
        match current {
            Some(current) => CURRENT.sync_scope(current, work),
            None => work(),
        }
    }

    /// Who asked.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Notes that the caller asked to be told how far the call is.
    pub(crate) fn want_progress(&self) {
        self.wants_progress.store(true, Ordering::Relaxed);
    }

    /// Notes how long the caller waits for others.
    pub(crate) fn set_wait(&self, wait_ms: u64) {
        self.wait_ms.store(wait_ms, Ordering::Relaxed);
    }

    /// How long the caller waits for others, if it said so.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let wait_ms = self.wait_ms.load(Ordering::Relaxed);
        (wait_ms != u64::MAX).then(|| Duration::from_millis(wait_ms))
    }

    /// Tells the caller how far the call is, if it asked for that. Never waits: a step that finds no room is left out,
    /// the next one says more anyway.
    pub fn progress(&self, progress: &Progress) {
        if !self.wants_progress.load(Ordering::Relaxed) {
            return;
        }
        let mut params = json!(progress);
        params["token"] = json!(self.id);
        let message = json!({"jsonrpc": "2.0", "method": PROGRESS, "params": params});
        if let Ok(message) = serde_json::value::to_raw_value(&message) {
            drop(self.sink.clone().try_send(message));
        }
    }
}
