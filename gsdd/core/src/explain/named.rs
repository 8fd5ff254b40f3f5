//! Whose a skill, an agent or a command family is.

use serde_json::Value;

use super::explanation::{Explanation, Fix, Predicate, Verdict};
use super::subject::SubjectKind;
use super::world::{Executable, OWNERS, Stage, World, declares, fixes_of, is_shipped, rule_of};
use crate::compose::{LedgerState, Skip};
use crate::ids::CapabilityId;
use crate::policy::SurfaceClass;
use crate::registry::{Composed, is_built_in_word};
use crate::text::{shown, shown_up_to};

pub(super) fn explain(world: &World<'_>, kind: SubjectKind, name: &str) -> Option<Explanation> {
    let registry = &world.composition.registry;
    let owner = match kind {
        SubjectKind::Skill => registry.skill_owner(name).map(CapabilityId::as_str),
        SubjectKind::Agent => registry.agent_owner(name).map(CapabilityId::as_str),
        _ => registry.family(name).map(|family| family.owner.id().as_str()),
    };
    let claimants: Vec<&Skip> = world
        .skipped()
        .filter(|(found, _)| declares(found.candidate, |raw| lists(raw, kind, name)))
        .map(|(_, skip)| skip)
        .collect();
    let mut explanation = match owner.and_then(|owner| world.composed(owner)) {
        Some(owner) => owned(world, kind, name, owner),
        None if kind == SubjectKind::Family && is_built_in_word(name) => built_in(name),
        None => unowned(kind, name, claimants.first()?),
    };
    explanation.parties.extend(claimants.iter().map(|skip| world.left_out(skip, "also-declares")));
    Some(explanation)
}

fn lists(raw: &Value, kind: SubjectKind, name: &str) -> bool {
    let entries = |list: &str| raw.get(list).and_then(Value::as_array).into_iter().flatten();
    match kind {
        SubjectKind::Skill => entries("skills").any(|entry| entry.as_str() == Some(name)),
        SubjectKind::Agent => entries("agents").any(|entry| entry.as_str() == Some(name)),
        _ => entries("commands").any(|entry| entry.get("family").and_then(Value::as_str) == Some(name)),
    }
}

fn owned(world: &World<'_>, kind: SubjectKind, name: &str, owner: &Composed) -> Explanation {
    let mut state = world.state(owner);
    match kind {
        SubjectKind::Skill => {
            let this = [name.to_owned()];
            let enabled = world.enabled.enabled(&this);
            let value = if enabled { "yes" } else { "no" };
            state.predicates.push(Predicate::new("this skill on the surface", value, "", enabled));
        }
        SubjectKind::Family => family(world, name, owner, &mut state),
        _ => {}
    }
    Explanation {
        kind,
        name: shown(name),
        verdict: state.verdict,
        text: format!("{} of {} ({}): {}", kind.noun(), owner.id(), owner.scope.as_str(), state.reason),
        rule: if state.verdict == Verdict::Active { OWNERS.to_owned() } else { state.rule },
        parties: vec![world.party(owner, "owner", "")],
        predicates: state.predicates,
        fixes: state.fixes,
    }
}

/// A command runs only from a recorded bundle whose content is the agreed one (D-05, D-06).
fn family(world: &World<'_>, name: &str, owner: &Composed, state: &mut super::world::State) {
    if let Some(found) = world.composition.registry.family(name) {
        let command = found.command;
        let code = match (&command.exec, &command.module, &command.router) {
            (Some(exec), _, _) => exec.clone(),
            (None, Some(module), Some(router)) => format!("{module}, function {router}"),
            (None, _, _) => String::new(),
        };
        state.predicates.push(Predicate::new("code", &code, owner.id().as_str(), true));
    }
    let Some(bundle) = world.bundle_of(owner).filter(|_| !is_shipped(owner.scope)) else { return };
    if bundle.candidate.ledger != LedgerState::Committed || bundle.executable != Executable::Runs {
        let reason = bundle.executable.sentence();
        state.turn_off(
            Stage::Composed,
            reason,
            "decision D-06",
            Fix::words("install it again to agree to it as it is"),
        );
    } else if let Some(reason) = world.resting(SurfaceClass::Commands, owner) {
        state.turn_off(Stage::Composed, reason, "decision D-18", Fix::words("ask whoever keeps that file"));
    }
}

fn built_in(name: &str) -> Explanation {
    Explanation {
        kind: SubjectKind::Family,
        name: shown(name),
        verdict: Verdict::Active,
        text: "a built-in command of the host; no capability can take the word".to_owned(),
        rule: "overlay.command-family.built-in".to_owned(),
        parties: Vec::new(),
        predicates: Vec::new(),
        fixes: Vec::new(),
    }
}

fn unowned(kind: SubjectKind, name: &str, skip: &Skip) -> Explanation {
    Explanation {
        kind,
        name: shown(name),
        verdict: Verdict::Skipped,
        text: format!(
            "{} declared by {} ({}), which is not used: {}",
            kind.noun(),
            shown(&skip.id),
            skip.scope.as_str(),
            shown_up_to(&skip.text(), 600)
        ),
        rule: rule_of(skip),
        parties: Vec::new(),
        predicates: Vec::new(),
        fixes: fixes_of(skip),
    }
}
