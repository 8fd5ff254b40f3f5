//! Whether a bundle runs on this level of GSD, and which other version of it would.
//!
//! The range grammar is the caller's (it belongs to manifests); this is the decision over `engines.gsd` and
//! `compatVersions`.
//!
//! Source: ADR-1244 D6, lifecycle formats section 14.

use std::cmp::Ordering;

use serde_json::Value;

use crate::trust::canonical_json::javascript_order;

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineVerdict {
    /// The manifest demands nothing.
    Unconstrained,
    /// The host satisfies the range.
    Satisfied {
        /// `engines.gsd`.
        range: String,
    },
    /// It does not.
    Incompatible {
        /// `engines.gsd`.
        range: String,
        /// The version to fetch instead: the highest of `compatVersions` whose range the host satisfies.
        downgrade_to: Option<String>,
    },
}

/// Decides over a manifest of any shape; `satisfies` says whether the host satisfies a range, and answers no for
/// what is not a range.
pub fn judge_engines(manifest: &Value, satisfies: impl Fn(&str) -> bool) -> EngineVerdict {
    let range = manifest.get("engines").and_then(|engines| engines.get("gsd")).and_then(Value::as_str);
    let Some(range) = range.filter(|range| !range.is_empty()) else {
        return EngineVerdict::Unconstrained;
    };
    let range = range.to_owned();
    if satisfies(&range) {
        return EngineVerdict::Satisfied { range };
    }
    let candidates = manifest.get("compatVersions").and_then(Value::as_object);
    let mut best: Option<String> = None;
    for (version, wanted) in javascript_order(candidates.cloned().unwrap_or_default()) {
        let usable = wanted.as_str().is_some_and(|wanted| !wanted.is_empty() && satisfies(wanted));
        if usable && best.as_ref().is_none_or(|best| compare_cores(&version, best) == Ordering::Greater) {
            best = Some(version);
        }
    }
    EngineVerdict::Incompatible { range, downgrade_to: best }
}

/// Compares the numeric cores of two versions; prerelease and build do not count, what can't be read counts as 0.
#[must_use]
pub fn compare_cores(left: &str, right: &str) -> Ordering {
    let (left, right) = (core(left), core(right));
    left.into_iter()
        .zip(right)
        .map(|(left, right)| compare_digits(&left, &right))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Major, minor and patch as digits without leading zeros, of any length.
fn core(version: &str) -> [String; 3] {
    let version = version.trim();
    let version = version.strip_prefix('v').unwrap_or(version);
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = numbers.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').to_owned()
    });
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

fn compare_digits(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_compare_as_numbers() {
        for (left, right, expected) in [
            ("1.10.0", "1.9.9", Ordering::Greater),
            ("1.0.0-rc.1", "1.0.0", Ordering::Equal),
            ("v2", "1.9", Ordering::Greater),
            ("garbage", "0.0.0", Ordering::Equal),
            ("99999999999999999999.0.0", "1.0.0", Ordering::Greater),
            ("01.02.03", "1.2.3", Ordering::Equal),
        ] {
            assert_eq!(compare_cores(left, right), expected, "{left} {right}");
        }
    }
}
