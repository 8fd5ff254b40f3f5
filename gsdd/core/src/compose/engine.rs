//! Which candidates are accepted.
//!
//! Candidates are judged in one order, but what they need from each other may come from any of them: a candidate
//! is first judged as if everything that could be accepted were there, and those that in the end lack something
//! are taken out before the next pass. So the outcome depends on the set and its order of precedence, not on
//! which folder name sorts first.

use super::candidate::Candidate;
use super::claims::{Spelling, built_in_families};
use super::cross_rules::{Merged, cluster_mismatch};
use super::scope::Scope;
use super::skip::SkipReason;
use super::static_gates;
use super::supply::Supply;
use crate::manifest::{Manifest, Problem, RuleId};
use crate::registry::Base;

/// Most problems that a skip repeats.
const MAX_REPEATED: usize = 20;

/// What became of each candidate, by position.
pub(super) enum Outcome {
    /// It is part of the set.
    Accepted,
    /// It is left out.
    Skipped(SkipReason),
}

/// A candidate that may still be accepted.
struct Viable<'a> {
    position: usize,
    candidate: &'a Candidate,
    manifest: &'a Manifest,
    /// The gate after the claims that it fails, if any.
    late: Option<SkipReason>,
}

/// Judges `candidates` in their order of precedence.
pub(super) fn judge(base: &Base, candidates: &[&Candidate]) -> Vec<Outcome> {
    let shipped: Vec<&Manifest> =
        base.registry().capabilities().iter().map(|capability| capability.manifest.as_ref()).collect();
    let mut reasons: Vec<Option<SkipReason>> = vec![None; candidates.len()];
    let mut viable = Vec::new();
    for (position, candidate) in candidates.iter().copied().enumerate() {
        match static_gates::before_claims(candidate) {
            Ok(manifest) => {
                let late = static_gates::after_claims(candidate, manifest, base.gsd_version());
                viable.push(Viable { position, candidate, manifest, late });
            }
            Err(reason) => set(&mut reasons, position, reason),
        }
    }
    loop {
        let hopeful: Vec<&Viable<'_>> = viable.iter().filter(|one| one.late.is_none()).collect();
        let members = shipped.iter().copied().chain(hopeful.iter().map(|one| one.manifest)).collect();
        let hoped = Supply::new(base.contract(), members);
        let mut pass = reasons.clone();
        let accepted = run_pass(base, &shipped, &viable, &hoped, &mut pass);
        let members = shipped.iter().copied().chain(accepted.iter().map(|one| one.manifest)).collect();
        let mut real = Supply::new(base.contract(), members);
        let gone = real.settle(shipped.len());
        if gone.is_empty() {
            return outcomes(pass, &accepted);
        }
        for member in gone {
            let Some(one) = member.checked_sub(shipped.len()).and_then(|index| accepted.get(index)) else {
                continue;
            };
            let problems = needs(&real, member, None);
            set(&mut reasons, one.position, cross_reason(problems));
        }
        viable.retain(|one| reasons.get(one.position).is_some_and(Option::is_none));
    }
}

fn set(reasons: &mut [Option<SkipReason>], position: usize, reason: SkipReason) {
    if let Some(slot) = reasons.get_mut(position) {
        *slot = Some(reason);
    }
}

fn outcomes(reasons: Vec<Option<SkipReason>>, accepted: &[&Viable<'_>]) -> Vec<Outcome> {
    let mut accepted = accepted.iter().peekable();
    let numbered = reasons.into_iter().enumerate();
    numbered
        .map(|(position, reason)| match (reason, accepted.next_if(|one| one.position == position)) {
            (None, Some(_)) => Outcome::Accepted,
            (Some(reason), _) => Outcome::Skipped(reason),
            (None, None) => Outcome::Skipped(SkipReason::ProcessingFault),
        })
        .collect()
}

/// One pass over the viable candidates; fills in the reasons of this pass, answers the accepted ones in order.
fn run_pass<'v, 'a>(
    base: &'a Base,
    shipped: &[&'a Manifest],
    viable: &'v [Viable<'a>],
    hoped: &Supply<'_>,
    reasons: &mut [Option<SkipReason>],
) -> Vec<&'v Viable<'a>> {
    let mut merged = Merged::new(Spelling::Twins);
    for manifest in shipped {
        merged.insert(manifest, Scope::FirstParty);
    }
    let mut accepted = Vec::new();
    let mut member = shipped.len();
    for one in viable {
        let own_member = member;
        member += usize::from(one.late.is_none());
        match judge_one(base, &mut merged, hoped, own_member, one) {
            None => accepted.push(one),
            Some(reason) => set(reasons, one.position, reason),
        }
    }
    accepted
}

fn judge_one<'a>(
    base: &Base,
    merged: &mut Merged<'a>,
    hoped: &Supply<'_>,
    member: usize,
    one: &Viable<'a>,
) -> Option<SkipReason> {
    let manifest = one.manifest;
    if let Some(reason) = claimed(merged, manifest) {
        return Some(reason);
    }
    if let Some(reason) = &one.late {
        return Some(reason.clone());
    }
    let escaping = static_gates::escaping_destination(one.candidate, manifest);
    let problems = merged.try_insert(manifest, one.candidate.scope, |merged, hooks| {
        // Two producers end the examination of the data flow, as upstream's does.
        if !hooks.producers.is_empty() {
            return hooks.producers.clone();
        }
        let assessed = one.candidate.assessed();
        let mut problems: Vec<Problem> =
            assessed.into_iter().flat_map(|assessed| assessed.contract_problems().cloned()).collect();
        problems.extend(hoped.unmet_inputs(member));
        problems.extend(merged.claims.own_duplicates(manifest));
        problems.extend(merged.claims.central_keys(manifest, base.central()));
        problems.extend(merged.claims.taken_lane_words(manifest));
        problems.extend(needs(hoped, member, merged.requires_circle(manifest)).into_iter().filter(not_input));
        problems.extend(cluster_mismatch(manifest, base.clusters()));
        problems.extend(hooks.circles.iter().cloned());
        if problems.is_empty()
            && let Some(dest) = &escaping
        {
            let rule = RuleId::OverlayDescriptorDestConfined;
            problems.push(Problem::new(rule, "/runtime/artifactLayout".to_owned(), dest.clone()));
        }
        problems
    });
    match (problems.first().map(|problem| problem.rule), escaping) {
        (None, _) => None,
        (Some(RuleId::OverlayDescriptorDestConfined), Some(dest)) => Some(SkipReason::Confinement { dest }),
        (Some(_), _) => Some(cross_reason(problems)),
    }
}

/// G6 to G10: names that others own.
fn claimed(merged: &Merged<'_>, manifest: &Manifest) -> Option<SkipReason> {
    if let Some(holder) = merged.holder_of(manifest.id.as_str()) {
        return Some(SkipReason::IdCollision { holder });
    }
    let claims = &merged.claims;
    let some = |problems: Vec<Problem>| (!problems.is_empty()).then_some(problems);
    if let Some(problems) = some(claims.taken_skills(manifest, RuleId::OverlaySkillClaimed)) {
        return Some(SkipReason::SkillOwned { problems });
    }
    if let Some(problems) = some(claims.taken_agents(manifest, RuleId::OverlayAgentClaimed)) {
        return Some(SkipReason::AgentOwned { problems });
    }
    if let Some(problems) = some(claims.taken_keys(manifest, RuleId::OverlayConfigKeyClaimed)) {
        return Some(SkipReason::ConfigKeyOwned { problems });
    }
    let mut families = claims.taken_families(manifest, RuleId::OverlayCommandFamilyClaimed);
    families.extend(built_in_families(manifest));
    Some(SkipReason::FamilyOwned { problems: some(families)? })
}

/// Everything that a member lacks, in the order in which it is reported.
fn needs(supply: &Supply<'_>, member: usize, circle: Option<Problem>) -> Vec<Problem> {
    let mut problems = supply.unmet_inputs(member);
    problems.extend(supply.unknown_ids(member));
    problems.extend(circle);
    problems.extend(supply.higher_tiers(member));
    problems
}

fn not_input(problem: &Problem) -> bool {
    !problem.pointer.starts_with("/steps/")
}

fn cross_reason(mut problems: Vec<Problem>) -> SkipReason {
    let fault = problems.iter().any(|p| p.rule == RuleId::CrossArtifactSingleProducerPerPoint);
    problems.truncate(MAX_REPEATED);
    if fault { SkipReason::CrossFault { problems } } else { SkipReason::CrossInvalid { problems } }
}
