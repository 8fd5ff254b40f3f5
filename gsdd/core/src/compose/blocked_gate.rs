//! Gates that are missing because their capability was left out.

use super::candidate::Candidate;
use super::scope::Scope;
use super::skip::Skip;
use crate::registry::LoopPoint;

/// Text shown for a bundle that nobody agreed to: nothing of what it says is repeated.
const UNCONSENTED_TEXT: &str = "a project capability that nobody agreed to declares a gate here";

/// One gate that does not guard its point; the loop goes on, with a warning.
///
/// Source: overlay model, "The one place where a skip must be loud: gates" (#2009).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedGate {
    /// The point as written; it need not exist.
    pub point: String,
    /// Name of the folder, verbatim.
    pub id: String,
    /// Scope of the root.
    pub scope: Scope,
    /// Category of the skip.
    pub category: &'static str,
    /// Why the capability was left out, cleaned.
    pub reason: String,
    /// The command that removes the cause, when there is one and the name is safe to repeat.
    pub remedy: Option<String>,
}

/// The gates that a skip costs. Of a bundle that nobody agreed to only real points are named.
pub(super) fn blocked_by(candidate: &Candidate, skip: &Skip) -> Vec<BlockedGate> {
    let unconsented = candidate.is_unconsented();
    let gates = candidate.assessed().map(|assessed| assessed.gates.as_slice()).unwrap_or_default();
    gates
        .iter()
        .filter(|gate| !unconsented || LoopPoint::parse(&gate.point).is_some())
        .map(|gate| BlockedGate {
            point: gate.point.clone(),
            id: candidate.dir_name.clone(),
            scope: candidate.scope,
            category: skip.reason.category(),
            reason: if unconsented { UNCONSENTED_TEXT.to_owned() } else { skip.text() },
            remedy: skip.remedy(),
        })
        .collect()
}
