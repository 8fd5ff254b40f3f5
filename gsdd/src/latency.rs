//! How long each method takes: counts in buckets that grow by a quarter, so a percentile is right within that.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gsd_proto::api::daemon::Latency;

/// Four buckets for each power of two, up to more than an hour in microseconds.
const BUCKETS: usize = 4 * 33;

/// Latencies of all methods since the start.
#[derive(Debug, Default)]
pub struct Latencies {
    by_method: Mutex<BTreeMap<&'static str, Histogram>>,
}

impl Latencies {
    /// Records one call. The name must be one of the method table, never a caller's text: the map would grow.
    pub fn record(&self, method: &'static str, taken: Duration) {
        let mut by_method = self.by_method.lock().unwrap_or_else(PoisonError::into_inner);
        by_method.entry(method).or_default().record(taken);
    }

    /// A copy of what was counted.
    #[must_use]
    pub fn report(&self) -> BTreeMap<String, Latency> {
        let by_method = self.by_method.lock().unwrap_or_else(PoisonError::into_inner);
        by_method.iter().map(|(name, histogram)| ((*name).to_owned(), histogram.summary())).collect()
    }
}

/// One distribution of times.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: [u64; BUCKETS],
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0 }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, taken: Duration) {
        let micros = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(bucket(micros)) {
            *count += 1;
            self.total += 1;
        }
    }

    pub(crate) fn summary(&self) -> Latency {
        Latency { count: self.total, p50_us: self.percentile(50), p99_us: self.percentile(99) }
    }

    /// Upper end of the bucket in which the given share of the calls is reached.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return upper_end(index);
            }
        }
        0
    }
}

fn bucket(micros: u64) -> usize {
    let value = micros.max(1);
    let power = value.ilog2() as usize;
    // The two bits after the leading one choose the quarter.
    let quarter = if power >= 2 { (value >> (power - 2)) & 3 } else { (value << (2 - power)) & 3 } as usize;
    (power * 4 + quarter).min(BUCKETS - 1)
}

fn upper_end(index: usize) -> u64 {
    let (power, quarter) = (index / 4, (index % 4) as u64);
    ((1_u64 << power) * (5 + quarter)).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_within_a_quarter() {
        let latencies = Latencies::default();
        for micros in 1..=1000 {
            latencies.record("m", Duration::from_micros(micros));
        }
        let latency = latencies.report()["m"];
        assert_eq!(latency.count, 1000);
        assert!((500..=640).contains(&latency.p50_us), "{latency:?}");
        assert!((990..=1280).contains(&latency.p99_us), "{latency:?}");
    }

    #[test]
    fn every_duration_has_a_bucket_that_contains_it() {
        for micros in (0..5000).chain([1 << 20, 1 << 30, u64::MAX]) {
            let index = bucket(micros);
            assert!(index < BUCKETS);
            if index < BUCKETS - 1 {
                assert!(upper_end(index) >= micros, "{micros} in {index}");
                assert!(index == 0 || upper_end(index - 1) <= micros.max(1) + 1, "{micros} in {index}");
            }
        }
    }
}
