//! The ties between a fetch and whoever waits for it: how far it is, and that it is not wanted any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gsd_proto::api::Progress;
use gsd_proto::{Code, WireError};
use tokio_util::sync::CancellationToken;

use crate::transport::Current;

/// Reports are at least this far apart, except for the first and the last of a phase.
const PAUSE: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    cancel: CancellationToken,
    call: Option<Arc<Current>>,
    last: Arc<Mutex<Option<(Instant, &'static str)>>>,
}

impl Watch {
    /// A fetch for the call that this thread serves; `cancel` gives it up.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self { cancel, call: Current::get(), last: Arc::default() }
    }

    /// Completes when nobody waits any more.
    pub(crate) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// For work between two steps.
    ///
    /// # Errors
    /// When nobody waits any more.
    pub(crate) fn check(&self) -> Result<(), WireError> {
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Tells how far `phase` is.
    pub(crate) fn advance(&self, phase: &'static str, done: u64, total: Option<u64>, unit: &'static str) {
        let Some(call) = &self.call else { return };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last.is_some_and(|(at, of)| of == phase && now.duration_since(at) < PAUSE) {
            return;
        }
        *last = Some((now, phase));
        drop(last);
        call.progress(&Progress {
            phase: phase.to_owned(),
            done,
            total,
            unit: unit.to_owned(),
            ..Progress::default()
        });
    }

    /// Tells that `phase` is done.
    pub(crate) fn finished(&self, phase: &'static str, done: u64, unit: &'static str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.advance(phase, done, Some(done), unit);
    }
}

/// The answer to a call that was given up.
pub(crate) fn cancelled() -> WireError {
    WireError::new(Code::Cancelled, "cancelled by the caller")
}
