//! Replacing ranges of a text.

use std::ops::Range;

/// A range and what takes its place.
pub(super) type Splice = (Range<usize>, String);

/// Applies splices that do not overlap, in any order.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + splices.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in splices {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end.max(at);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
