//! Which candidates are accepted.
//!
//! Candidates are judged in one order of precedence, but what they need from each other may come from any of
//! them: a candidate is judged as if everything that can still be accepted were there, and those that in the end
//! lack something are taken out before the next pass. Who was left out gets another chance beside what was
//! accepted, because a name or a place may have become free. So the outcome depends on the set and its order of
//! precedence, not on which folder name sorts first, and nobody is left out who could be added.

use std::collections::HashSet;

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

/// Most passes; a set that needs more than a few is made to be costly, and the rest of it is left out.
const MAX_PASSES: usize = 64;

/// Judges `candidates` in their order of precedence.
pub(super) fn judge(base: &Base, candidates: &[&Candidate]) -> Vec<Outcome> {
    let shipped = base.registry().capabilities().iter();
    let mut fixed: Vec<(&Manifest, Scope)> =
        shipped.map(|capability| (capability.manifest.as_ref(), Scope::FirstParty)).collect();
    let mut reasons: Vec<Option<SkipReason>> = vec![None; candidates.len()];
    let mut open = Vec::new();
    for (position, candidate) in candidates.iter().copied().enumerate() {
        match static_gates::before_claims(candidate) {
            Ok(manifest) => {
                let late = static_gates::after_claims(candidate, manifest, base.gsd_version());
                open.push(Viable { position, candidate, manifest, late });
            }
            Err(reason) => set(&mut reasons, position, reason),
        }
    }
    let mut accepted = HashSet::new();
    let mut passes = 0;
    while !open.is_empty() && passes < MAX_PASSES {
        let round = run_round(base, &fixed, &open, &mut passes);
        for (position, reason) in round.left_out {
            // The first reason is the one that the order of precedence gives.
            if let Some(slot @ None) = reasons.get_mut(position) {
                *slot = Some(reason);
            }
        }
        if round.accepted.is_empty() {
            break;
        }
        accepted.extend(round.accepted.iter().map(|one| one.position));
        fixed.extend(round.accepted.iter().map(|one| (one.manifest, one.candidate.scope)));
        open.retain(|one| one.late.is_none() && !accepted.contains(&one.position));
    }
    let numbered = reasons.into_iter().enumerate();
    numbered
        .map(|(position, reason)| match reason {
            _ if accepted.contains(&position) => Outcome::Accepted,
            Some(reason) => Outcome::Skipped(reason),
            None => Outcome::Skipped(SkipReason::ProcessingFault),
        })
        .collect()
}

/// What one round came to.
struct Round<'v, 'a> {
    accepted: Vec<&'v Viable<'a>>,
    left_out: Vec<(usize, SkipReason)>,
}

/// Passes over `open` until those accepted lack nothing.
fn run_round<'v, 'a>(
    base: &Base,
    fixed: &[(&'a Manifest, Scope)],
    open: &'v [Viable<'a>],
    passes: &mut usize,
) -> Round<'v, 'a> {
    let members = |some: &[&Viable<'a>]| {
        fixed.iter().map(|(manifest, _)| *manifest).chain(some.iter().map(|one| one.manifest)).collect()
    };
    let first = fixed.len();
    let mut lacking: Vec<(usize, SkipReason)> = Vec::new();
    let mut viable: Vec<&Viable<'a>> = open.iter().collect();
    loop {
        *passes += 1;
        let hopeful: Vec<&Viable<'a>> = viable.iter().copied().filter(|one| one.late.is_none()).collect();
        let mut hoped = Supply::new(base.contract(), members(&hopeful));
        // Who lacks something even if everybody else were accepted is no help to anybody.
        hoped.settle(first);
        let pass = run_pass(base, fixed, &viable, &hoped);
        let mut real = Supply::new(base.contract(), members(&pass.accepted));
        let roots: Vec<usize> =
            (first..first + pass.accepted.len()).filter(|m| !real.is_complete(*m)).collect();
        if roots.is_empty() {
            lacking.extend(pass.left_out);
            return Round { accepted: pass.accepted, left_out: lacking };
        }
        let found =
            |member: &usize| member.checked_sub(first).and_then(|index| pass.accepted.get(index)).copied();
        if *passes >= MAX_PASSES {
            let gone: HashSet<usize> = real.settle(first).into_iter().collect();
            let numbered = pass.accepted.iter().enumerate();
            let kept = numbered.filter(|(index, _)| !gone.contains(&(first + index))).map(|(_, one)| *one);
            let left =
                gone.iter().filter_map(|m| Some((found(m)?.position, cross_reason(needs(&real, *m, None)))));
            lacking.extend(pass.left_out.into_iter().chain(left));
            return Round { accepted: kept.collect(), left_out: lacking };
        }
        let reasons =
            roots.iter().filter_map(|m| Some((found(m)?.position, cross_reason(needs(&real, *m, None)))));
        lacking.extend(reasons);
        let without: HashSet<usize> = roots.iter().filter_map(found).map(|one| one.position).collect();
        viable.retain(|one| !without.contains(&one.position));
    }
}

fn set(reasons: &mut [Option<SkipReason>], position: usize, reason: SkipReason) {
    if let Some(slot) = reasons.get_mut(position) {
        *slot = Some(reason);
    }
}

/// One pass over the viable candidates in their order.
fn run_pass<'v, 'a>(
    base: &Base,
    fixed: &[(&'a Manifest, Scope)],
    viable: &[&'v Viable<'a>],
    hoped: &Supply<'_>,
) -> Round<'v, 'a> {
    let mut merged = Merged::new(Spelling::Twins);
    for (manifest, scope) in fixed {
        merged.insert(manifest, *scope);
    }
    let mut round = Round { accepted: Vec::new(), left_out: Vec::new() };
    let mut member = fixed.len();
    for one in viable.iter().copied() {
        let own_member = member;
        member += usize::from(one.late.is_none());
        match judge_one(base, &mut merged, hoped, own_member, one) {
            None => round.accepted.push(one),
            Some(reason) => round.left_out.push((one.position, reason)),
        }
    }
    round
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
