//! Why a capability is active or not.

use super::explanation::{Explanation, Party, Predicate, Verdict};
use super::subject::SubjectKind;
use super::world::{Found, Stage, World, assessed, consent, fixes_of, ledger, rule_of};
use crate::compose::{Skip, SkipReason};
use crate::manifest::{Manifest, Problem, RuleId};
use crate::registry::Composed;
use crate::text::{shown, shown_up_to};

/// Most parties of one answer.
const MAX_PARTIES: usize = 100;

pub(super) fn explain(world: &World<'_>, id: &str) -> Option<Explanation> {
    let composed = world.composed(id);
    let skipped: Vec<(&Found<'_>, &Skip)> = world.skipped().filter(|(_, skip)| skip.id == id).collect();
    let mut explanation = match (composed, skipped.first()) {
        (Some(composed), _) => in_registry(world, composed),
        (None, Some((found, skip))) => left_out(world, found, skip),
        (None, None) => return None,
    };
    // The same id in another scope yields, and is worth a word.
    let others = if composed.is_some() { &skipped[..] } else { &skipped[1..] };
    explanation.parties.extend(others.iter().map(|(_, skip)| world.left_out(skip, "same-id")));
    explanation.parties.truncate(MAX_PARTIES);
    Some(explanation)
}

fn in_registry(world: &World<'_>, composed: &Composed) -> Explanation {
    let manifest = composed.manifest.as_ref();
    let mut state = world.state(composed);
    // Single hooks have switches of their own, which say nothing about the whole.
    let whens = manifest.steps.iter().map(|step| step.when.as_ref());
    let whens = whens.chain(manifest.contributions.iter().map(|one| one.when.as_ref()));
    for key in whens.chain(manifest.gates.iter().map(|gate| gate.when.as_ref())).flatten() {
        let switch = world.switch(key);
        if !state.predicates.contains(&switch) {
            state.predicates.push(switch);
        }
    }
    let mut parties = requirements(world, manifest);
    for dependent in world.composition.registry.dependents(manifest.id.as_str()) {
        if let Some(dependent) = world.composed(dependent.as_str()) {
            parties.push(world.party(dependent, "required-by", ""));
        }
    }
    Explanation {
        kind: SubjectKind::Capability,
        name: manifest.id.to_string(),
        verdict: state.verdict,
        text: format!(
            "{} {} ({}, {}): {}; {}",
            manifest.role.as_str(),
            manifest.version,
            composed.scope.as_str(),
            shown_up_to(&manifest.title, 80),
            state.verdict.word(),
            state.reason
        ),
        rule: state.rule,
        parties,
        predicates: state.predicates,
        fixes: state.fixes,
    }
}

fn requirements(world: &World<'_>, manifest: &Manifest) -> Vec<Party> {
    let required = manifest.requires.iter().map(|id| match world.composed(id) {
        Some(composed) => world.party(composed, "requires", ""),
        None => missing(id),
    });
    required.take(MAX_PARTIES).collect()
}

fn missing(id: &str) -> Party {
    Party { id: shown(id), scope: "", part: "requires", status: "missing", note: String::new() }
}

fn left_out(world: &World<'_>, found: &Found<'_>, skip: &Skip) -> Explanation {
    let candidate = found.candidate;
    let mut predicates = vec![
        Stage::Composed.predicate(false),
        Predicate::new("scope", skip.scope.as_str(), &candidate.bundle_dir, true),
        ledger(candidate),
        consent(candidate),
    ];
    let mut parties = Vec::new();
    if !skip.unconsented {
        let manifest = assessed(candidate).and_then(|assessed| assessed.manifest.as_deref());
        if let Some(range) = manifest.and_then(|manifest| manifest.engines_gsd.as_deref()) {
            let fits = !matches!(skip.reason, SkipReason::EngineIncompatible { .. });
            let version = format!("this is GSD {}", world.base.gsd_version());
            predicates.push(Predicate::new("engines.gsd", range, &version, fits));
        }
        for problem in skip.reason.problems() {
            let place = if problem.pointer.is_empty() { "manifest" } else { &problem.pointer };
            predicates.push(Predicate::new(problem.rule.as_str(), &problem.message, place, false));
            let owner = manifest.and_then(|manifest| owner_in_the_way(world, manifest, problem));
            parties
                .extend(owner.map(|owner| world.party(owner, "owner", &shown_up_to(&problem.pointer, 80))));
        }
        if let SkipReason::IdCollision { .. } = skip.reason
            && let Some(holder) = world.composed(&skip.id)
        {
            parties.push(world.party(holder, "owner", ""));
        }
        let absent = manifest.into_iter().flat_map(|manifest| requirements(world, manifest));
        parties.extend(absent);
    }
    for gate in
        world.composition.blocked_gates.iter().filter(|gate| gate.id == skip.id && gate.scope == skip.scope)
    {
        predicates.push(Predicate::new("missing gate", &gate.point, "", false));
    }
    Explanation {
        kind: SubjectKind::Capability,
        name: shown(&skip.id),
        verdict: match skip.reason {
            SkipReason::Unconsented { .. } | SkipReason::Pending => Verdict::Inactive,
            _ => Verdict::Skipped,
        },
        text: format!("installed ({}), not used: {}", skip.scope.as_str(), shown_up_to(&skip.text(), 600)),
        rule: rule_of(skip),
        parties,
        predicates,
        fixes: fixes_of(skip),
    }
}

/// Who has the name that a problem is about.
fn owner_in_the_way<'a>(world: &World<'a>, manifest: &Manifest, problem: &Problem) -> Option<&'a Composed> {
    let registry = &world.composition.registry;
    let index = || problem.pointer.split('/').nth(2)?.parse::<usize>().ok();
    let owner = match problem.rule {
        RuleId::OverlaySkillClaimed => registry.skill_owner(manifest.skills.get(index()?)?)?.as_str(),
        RuleId::OverlayAgentClaimed => registry.agent_owner(manifest.agents.get(index()?)?)?.as_str(),
        RuleId::OverlayCommandFamilyClaimed => {
            registry.family(&manifest.commands.get(index()?)?.family)?.owner.id().as_str()
        }
        RuleId::OverlayConfigKeyClaimed => {
            let key = problem.pointer.split('/').nth(2)?.replace("~1", "/").replace("~0", "~");
            registry.config_entry(&key)?.owner.id().as_str()
        }
        _ => return None,
    };
    world.composed(owner)
}
