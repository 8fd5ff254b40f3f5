//! The rules over the merged set, for an install.
//!
//! Source: ADR-1244 D2 (at install time over the merged set).

use super::candidate::{Candidate, ConsentVerdict, LedgerState};
use super::composition::precedence;
use super::engine::{Outcome, judge};
use super::skip::{Skip, SkipReason};
use crate::manifest::{Problem, RuleId, rule_by_id};
use crate::registry::Base;

/// What speaks against installing `new` beside what is shipped and `installed`. The new one yields to everything
/// that is there; an installed version of the same capability in the same scope counts as replaced.
#[must_use]
pub fn check_install(base: &Base, installed: &[Candidate], new: &Candidate) -> Vec<Problem> {
    let mut agreed = new.clone();
    agreed.ledger = LedgerState::Committed;
    agreed.consent = ConsentVerdict::Granted;
    let replaced = |other: &&Candidate| other.scope == new.scope && other.dir_name == new.dir_name;
    let mut ordered: Vec<&Candidate> =
        installed.iter().filter(|other| !replaced(other) && !other.is_leftover()).collect();
    ordered.sort_by(|a, b| precedence(a).cmp(&precedence(b)));
    ordered.push(&agreed);
    match judge(base, &ordered).pop() {
        Some(Outcome::Accepted) => Vec::new(),
        Some(Outcome::Skipped(reason)) => problems(&agreed, reason),
        None => Vec::new(),
    }
}

fn problems(candidate: &Candidate, reason: SkipReason) -> Vec<Problem> {
    if let SkipReason::ManifestInvalid { .. } = reason {
        return candidate.assessed().map(|assessed| assessed.problems.clone()).unwrap_or_default();
    }
    if !reason.problems().is_empty() {
        return reason.problems().to_vec();
    }
    let rule = match &reason {
        SkipReason::ManifestMissing | SkipReason::ManifestUnreadable { .. } => RuleId::ParseJson,
        SkipReason::ReservedPrefix { .. } => RuleId::OverlayIdReservedPrefix,
        SkipReason::IdCollision { .. } => RuleId::OverlayIdFirstParty,
        SkipReason::EngineIncompatible { .. } => RuleId::OverlayEnginesGsd,
        SkipReason::FragmentInvalid { .. } | SkipReason::FragmentFault { .. } => {
            RuleId::OverlayFragmentUnreadable
        }
        SkipReason::Confinement { .. } => RuleId::OverlayDescriptorDestConfined,
        SkipReason::Pending
        | SkipReason::ManifestInvalid { .. }
        | SkipReason::SkillOwned { .. }
        | SkipReason::AgentOwned { .. }
        | SkipReason::ConfigKeyOwned { .. }
        | SkipReason::FamilyOwned { .. }
        | SkipReason::Unconsented { .. }
        | SkipReason::CrossInvalid { .. }
        | SkipReason::CrossFault { .. }
        | SkipReason::ProcessingFault
        | SkipReason::ComposeFallback { .. } => {
            rule_by_id("manifest.object").map_or(RuleId::ManifestObject, |rule| rule.key)
        }
    };
    let skip = Skip { id: candidate.dir_name.clone(), scope: candidate.scope, reason, unconsented: false };
    vec![Problem::new(rule, String::new(), skip.text())]
}
