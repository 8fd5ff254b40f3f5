//! The composed result.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::blocked_gate::{BlockedGate, blocked_by};
use super::candidate::{Candidate, FragmentRead, LedgerState};
use super::engine::{Outcome, judge};
use super::same_fate::same_fates;
use super::scope::Scope;
use super::skip::{Skip, SkipReason};
use crate::ids::CapabilityId;
use crate::manifest::{Problem, RuleId};
use crate::registry::{Base, Composed, Registry};
use crate::text::shown_up_to;

/// The registry with an account of what was left out and why.
#[derive(Clone, Debug)]
pub struct Composition {
    /// Every view over shipped and accepted capabilities.
    pub registry: Arc<Registry>,
    /// Ids of the accepted candidates: global root first, byte order inside a root.
    pub accepted: Vec<CapabilityId>,
    /// What was left out, in the same order.
    pub skips: Vec<Skip>,
    /// Gates that are missing because of a skip.
    pub blocked_gates: Vec<BlockedGate>,
    /// Names of the skipped folders with gates, one entry per skip.
    pub gate_caps: Vec<String>,
    /// Findings about accepted candidates.
    pub diagnostics: Vec<String>,
    /// Folder from which the command modules of a committed capability may run.
    pub command_roots: BTreeMap<CapabilityId, String>,
    /// Whether there was any candidate to say something about.
    pub overlay_attached: bool,
    /// Folders that are leftovers of an install, for the doctor.
    pub leftovers: Vec<(String, Scope)>,
    /// Positions of the accepted ones among the candidates, in the order of `accepted`.
    taken_in: Vec<usize>,
}

/// Candidates and what was composed of them.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// All candidates, in the same order as now.
    pub candidates: &'a [&'a Candidate],
    /// What came of them.
    pub composition: &'a Composition,
}

/// An accepted candidate and its position among all of them.
type Placed<'a> = (usize, &'a Candidate);

/// Composes the candidates on top of the base. Total; the order of `candidates` does not matter.
///
/// Source: overlay model, "Where overlays come from", "First-party always wins", "skip, don't crash".
#[must_use]
pub fn compose(base: &Base, candidates: &[Candidate]) -> Composition {
    compose_after(base, &candidates.iter().collect::<Vec<_>>(), None)
}

/// [`compose`] with what came of `known` on the same base: the same outcome, sooner. Nobody is judged again as long as
/// nothing differs that a judgement depends on: most edits of a manifest are to texts, versions, scripts or defaults.
#[must_use]
pub fn compose_after(base: &Base, candidates: &[&Candidate], known: Option<Known<'_>>) -> Composition {
    let Some(known) = known else { return judged(base, candidates) };
    if !same_fates(known.candidates, candidates, &known.composition.taken_in) {
        return judged(base, candidates);
    }
    let before = known.composition;
    let mut composition = Composition {
        registry: Arc::clone(base.registry()),
        accepted: Vec::with_capacity(before.accepted.len()),
        skips: before.skips.clone(),
        blocked_gates: before.blocked_gates.clone(),
        gate_caps: before.gate_caps.clone(),
        diagnostics: Vec::new(),
        command_roots: BTreeMap::new(),
        overlay_attached: before.overlay_attached,
        leftovers: before.leftovers.clone(),
        taken_in: Vec::with_capacity(before.taken_in.len()),
    };
    let accepted: Vec<Placed<'_>> =
        before.taken_in.iter().filter_map(|at| Some((*at, *candidates.get(*at)?))).collect();
    let shipped = base.registry().capabilities();
    let installed = before.registry.capabilities().iter().skip(shipped.len()).zip(&accepted);
    let renewed = installed.map(|(one, placed)| composed_again(one, known, *placed));
    // Nobody is judged otherwise, so everybody stands where they stood.
    let capabilities = shipped.iter().map(Arc::clone).chain(renewed).collect();
    composition.registry = Arc::new(before.registry.standing_alike(capabilities));
    composition.take_in_all(accepted);
    composition
}

fn judged(base: &Base, candidates: &[&Candidate]) -> Composition {
    let mut leftovers = Vec::new();
    let mut ordered = Vec::with_capacity(candidates.len());
    for (position, candidate) in candidates.iter().copied().enumerate() {
        if candidate.is_leftover() {
            leftovers.push((candidate.dir_name.clone(), candidate.scope));
        } else {
            ordered.push((position, candidate));
        }
    }
    ordered.sort_by(|(_, a), (_, b)| precedence(a).cmp(&precedence(b)));
    leftovers.sort();
    let mut composition = Composition {
        registry: Arc::clone(base.registry()),
        accepted: Vec::new(),
        skips: Vec::new(),
        blocked_gates: Vec::new(),
        gate_caps: Vec::new(),
        diagnostics: Vec::new(),
        command_roots: BTreeMap::new(),
        overlay_attached: !ordered.is_empty(),
        leftovers,
        taken_in: Vec::new(),
    };
    let mut accepted = Vec::new();
    let in_order: Vec<&Candidate> = ordered.iter().map(|(_, candidate)| *candidate).collect();
    for ((position, candidate), outcome) in ordered.into_iter().zip(judge(base, &in_order)) {
        match outcome {
            Outcome::Accepted => accepted.push((position, candidate)),
            Outcome::Skipped(reason) => composition.leave_out(candidate, reason),
        }
    }
    composition.materialise(base, accepted);
    composition
}

/// Global before project (a demoted root before the project's own), then byte order.
pub(super) fn precedence(candidate: &Candidate) -> (Scope, bool, &[u8], &str) {
    (candidate.scope, !candidate.demoted, candidate.dir_name.as_bytes(), &candidate.bundle_dir)
}

impl Composition {
    fn leave_out(&mut self, candidate: &Candidate, reason: SkipReason) {
        let skip = Skip {
            id: candidate.dir_name.clone(),
            scope: candidate.scope,
            reason,
            demoted: candidate.demoted,
            unconsented: candidate.is_unconsented(),
        };
        let blocked = blocked_by(candidate, &skip);
        if !blocked.is_empty() {
            self.gate_caps.push(skip.id.clone());
            self.blocked_gates.extend(blocked);
        }
        self.skips.push(skip);
    }

    /// Builds the views. Should that fail although every candidate passed alone, the latest candidate among the
    /// culprits is dropped, until it works.
    fn materialise(&mut self, base: &Base, mut accepted: Vec<Placed<'_>>) {
        loop {
            if accepted.is_empty() {
                self.registry = Arc::clone(base.registry());
                return;
            }
            let mut set = base.registry().capabilities().to_vec();
            set.extend(accepted.iter().filter_map(|(_, candidate)| composed(candidate).map(Arc::new)));
            let cycle = match Registry::build(set) {
                Ok(registry) => {
                    self.registry = Arc::new(registry);
                    break;
                }
                Err(cycle) => cycle,
            };
            let culprits: HashSet<&str> = cycle.owners.iter().map(|owner| owner.id().as_str()).collect();
            let culprit = accepted.iter().rposition(|(_, one)| culprits.contains(one.dir_name.as_str()));
            let (_, dropped) = accepted.remove(culprit.unwrap_or(accepted.len() - 1));
            let rule =
                if cycle.steps { RuleId::OrderStepsAcyclic } else { RuleId::OrderContributionsAcyclic };
            let message = format!("hooks at `{}` wait for each other", cycle.point);
            let problem = Problem::new(rule, String::new(), message);
            self.leave_out(dropped, SkipReason::ComposeFallback { problem });
        }
        self.take_in_all(accepted);
    }

    fn take_in_all(&mut self, accepted: Vec<Placed<'_>>) {
        for (position, candidate) in accepted {
            self.take_in(position, candidate);
        }
    }

    fn take_in(&mut self, position: usize, candidate: &Candidate) {
        let Some(manifest) = candidate.assessed().and_then(|assessed| assessed.manifest.as_deref()) else {
            return;
        };
        self.accepted.push(manifest.id.clone());
        self.taken_in.push(position);
        if candidate.ledger == LedgerState::Committed && !manifest.commands.is_empty() {
            self.command_roots.insert(manifest.id.clone(), candidate.bundle_dir.clone());
        }
        for warning in candidate.assessed().into_iter().flat_map(|assessed| &assessed.warnings) {
            let (scope, id) = (candidate.scope.as_str(), &manifest.id);
            self.diagnostics.push(format!("{scope}:{id}: {}", shown_up_to(&warning.message, 200)));
        }
    }
}

/// `one` as it is now; itself when all of it is the same.
fn composed_again(one: &Arc<Composed>, known: Known<'_>, (position, candidate): Placed<'_>) -> Arc<Composed> {
    let same_text = |(a, b): (&FragmentRead, &FragmentRead)| match (a, b) {
        (FragmentRead::Text(a), FragmentRead::Text(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    let same_parts = |before: &Candidate| {
        before.assessed().zip(candidate.assessed()).is_some_and(|(before, after)| std::ptr::eq(before, after))
            && before.fragments.len() == candidate.fragments.len()
            && before.fragments.keys().eq(candidate.fragments.keys())
            && before.fragments.values().zip(candidate.fragments.values()).all(same_text)
    };
    let before = known.candidates.get(position).copied();
    if before.is_some_and(|before| std::ptr::eq(before, candidate) || same_parts(before)) {
        return Arc::clone(one);
    }
    composed(candidate).map_or_else(|| Arc::clone(one), Arc::new)
}

fn composed(candidate: &Candidate) -> Option<Composed> {
    let manifest = candidate.assessed()?.manifest.clone()?;
    Some(Composed::new(manifest, candidate.scope, |path| match candidate.fragments.get(path)? {
        FragmentRead::Text(text) => Some(Arc::clone(text)),
        FragmentRead::Refused(_) | FragmentRead::Fault(_) => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::{ConsentVerdict, ManifestRead};
    use crate::manifest::assess;
    use crate::registry::{BaseParts, HostContract};

    fn candidate(id: &str, produces: &str, consumes: &str) -> Candidate {
        let text = format!(
            r#"{{"id":"{id}","role":"feature","version":"1.0.0","title":"T","description":"D","tier":"full",
            "requires":[],"runtimeCompat":{{"supported":["*"],"unsupported":[]}},"skills":[],"agents":[],
            "config":{{}},"steps":[],"gates":[{{"point":"ship:pre","check":{{"query":"q"}},"blocking":true,
            "onError":"halt"}}],"contributions":[{{"point":"plan:pre","into":"planner",
            "fragment":{{"inline":"x"}},"produces":["{produces}"],"consumes":["{consumes}"]}}]}}"#
        );
        Candidate {
            dir_name: id.to_owned(),
            scope: Scope::Global,
            demoted: false,
            bundle_dir: String::new(),
            ledger: LedgerState::Committed,
            consent: ConsentVerdict::NotNeeded,
            manifest: ManifestRead::Read(Arc::new(assess(id, text.as_bytes(), &HostContract::builtin()))),
            fragments: Arc::default(),
            config_home: None,
        }
    }

    /// The last resort, reached here by going around the gates that make it unnecessary.
    #[test]
    fn a_set_that_cannot_be_built_loses_its_culprit_only() {
        let Ok(base) = Base::build(BaseParts::default()) else { panic!("an empty base is fine") };
        let all = [candidate("acorn", "A", "B"), candidate("birch", "B", "A"), candidate("cedar", "C", "")];
        let mut composition = compose(&base, &[]);
        composition.materialise(&base, all.iter().enumerate().collect());
        let accepted: Vec<&str> = composition.accepted.iter().map(CapabilityId::as_str).collect();
        assert_eq!(accepted, ["acorn", "cedar"]);
        assert_eq!(composition.skips.len(), 1);
        assert_eq!(composition.skips[0].reason.category(), "compose-fallback");
        assert_eq!(composition.skips[0].reason.details(), ["contribution-cycle"]);
        assert_eq!(composition.gate_caps, ["birch"]);
    }
}
