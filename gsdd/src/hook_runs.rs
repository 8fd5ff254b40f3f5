//! How each hook has been doing since the daemon started.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::latency::Histogram;

/// Counts per host, event, capability and script.
#[derive(Debug, Default)]
pub(crate) struct HookRuns(Mutex<BTreeMap<HookKey, HookCount>>);

/// Which hook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HookKey {
    pub(crate) host: String,
    pub(crate) event: String,
    pub(crate) capability: String,
    pub(crate) script: String,
}

/// How it has been doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookCount {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) times: Histogram,
}

impl HookRuns {
    /// Counts one run.
    pub(crate) fn record(&self, key: HookKey, duration_us: u64, failed: bool) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = runs.entry(key).or_default();
        count.calls += 1;
        count.failures += u64::from(failed);
        count.times.record(Duration::from_micros(duration_us));
    }

    /// The counts of one hook.
    pub(crate) fn get(&self, key: &HookKey) -> HookCount {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }
}
