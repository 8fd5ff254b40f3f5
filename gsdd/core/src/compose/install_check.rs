//! What an install or a removal does to the merged set.
//!
//! Source: ADR-1244 D2 (at install time over the merged set), decision D-08.

use super::candidate::{Candidate, ConsentVerdict, LedgerState};
use super::composition::precedence;
use super::engine::{Outcome, judge};
use super::scope::Scope;
use super::skip::{Skip, SkipReason};
use crate::manifest::{Problem, RuleId};
use crate::registry::Base;

/// A capability that works now and would not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its id.
    pub id: String,
    /// Its scope.
    pub scope: Scope,
    /// What it would lack.
    pub reason: SkipReason,
}

/// What speaks against installing `new` beside what is shipped and `installed`: its own problems, and capabilities
/// that would stop working. The new one yields to everything that is there; an installed version of the same
/// capability in the same scope counts as replaced. Empty: nothing speaks against it.
#[must_use]
pub fn check_install(base: &Base, installed: &[&Candidate], new: &Candidate) -> Vec<Problem> {
    let mut agreed = new.clone();
    agreed.ledger = LedgerState::Committed;
    agreed.consent = ConsentVerdict::Granted;
    let replaced = |other: &&Candidate| other.scope == new.scope && other.dir_name == new.dir_name;
    let mut ordered = in_order(installed.iter().copied().filter(|other| !replaced(other)));
    ordered.push(&agreed);
    let mut outcomes = judge(base, &ordered);
    match outcomes.pop() {
        Some(Outcome::Skipped(reason)) => problems(&agreed, reason),
        Some(Outcome::Accepted) | None => {
            let before = judge_accepted(base, &in_order(installed.iter().copied()));
            let others = ordered.iter().copied().zip(outcomes);
            let lost = others.filter_map(|(one, outcome)| lost(one, outcome, &before));
            lost.map(|lost| would_stop(&lost)).collect()
        }
    }
}

/// Which other capabilities would stop working without the folder `dir_name` of `scope`.
#[must_use]
pub fn lost_without(base: &Base, installed: &[&Candidate], scope: Scope, dir_name: &str) -> Vec<Lost> {
    let before = judge_accepted(base, &in_order(installed.iter().copied()));
    let stays = |other: &&Candidate| other.scope != scope || other.dir_name != dir_name;
    let ordered = in_order(installed.iter().copied().filter(stays));
    let outcomes = judge(base, &ordered);
    ordered.into_iter().zip(outcomes).filter_map(|(one, outcome)| lost(one, outcome, &before)).collect()
}

fn in_order<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Vec<&'a Candidate> {
    let mut ordered: Vec<&Candidate> = candidates.filter(|one| !one.is_leftover()).collect();
    ordered.sort_by(|a, b| precedence(a).cmp(&precedence(b)));
    ordered
}

/// Scope and name of the candidates that are accepted.
fn judge_accepted<'a>(base: &Base, ordered: &[&'a Candidate]) -> Vec<(Scope, &'a str)> {
    let outcomes = ordered.iter().zip(judge(base, ordered));
    let accepted = outcomes.filter(|(_, outcome)| matches!(outcome, Outcome::Accepted));
    accepted.map(|(one, _)| (one.scope, one.dir_name.as_str())).collect()
}

fn lost(candidate: &Candidate, outcome: Outcome, before: &[(Scope, &str)]) -> Option<Lost> {
    let Outcome::Skipped(reason) = outcome else { return None };
    let worked = before.contains(&(candidate.scope, candidate.dir_name.as_str()));
    worked.then(|| Lost { id: candidate.dir_name.clone(), scope: candidate.scope, reason })
}

fn would_stop(lost: &Lost) -> Problem {
    let reason = lost.reason.clone();
    let skip = Skip { id: lost.id.clone(), scope: lost.scope, reason, demoted: false, unconsented: false };
    let rule = lost.reason.problems().first().map_or(RuleId::CrossRequiresExists, |problem| problem.rule);
    let message = format!("`{}` ({}) would stop working: {}", lost.id, lost.scope.as_str(), skip.text());
    Problem::new(rule, String::new(), message)
}

fn problems(candidate: &Candidate, reason: SkipReason) -> Vec<Problem> {
    let assessed = candidate.assessed();
    let rule = match &reason {
        SkipReason::ManifestInvalid { .. } | SkipReason::ManifestUnreadable { .. } if assessed.is_some() => {
            return assessed.map(|assessed| assessed.problems.clone()).unwrap_or_default();
        }
        SkipReason::SkillOwned { .. }
        | SkipReason::AgentOwned { .. }
        | SkipReason::ConfigKeyOwned { .. }
        | SkipReason::FamilyOwned { .. }
        | SkipReason::CrossInvalid { .. }
        | SkipReason::CrossFault { .. }
        | SkipReason::ComposeFallback { .. } => return reason.problems().to_vec(),
        SkipReason::ReservedPrefix { .. } => RuleId::OverlayIdReservedPrefix,
        SkipReason::IdCollision { .. } => RuleId::OverlayIdFirstParty,
        SkipReason::EngineIncompatible { .. } => RuleId::OverlayEnginesGsd,
        SkipReason::FragmentInvalid { .. } | SkipReason::FragmentFault { .. } => {
            RuleId::OverlayFragmentUnreadable
        }
        SkipReason::Confinement { .. } => RuleId::OverlayDescriptorDestConfined,
        SkipReason::ManifestMissing
        | SkipReason::ManifestUnreadable { .. }
        | SkipReason::ManifestInvalid { .. }
        | SkipReason::Pending
        | SkipReason::Unconsented { .. }
        | SkipReason::ProcessingFault => RuleId::ParseJson,
    };
    let (id, scope) = (candidate.dir_name.clone(), candidate.scope);
    let skip = Skip { id, scope, reason, demoted: false, unconsented: false };
    vec![Problem::new(rule, String::new(), skip.text())]
}
