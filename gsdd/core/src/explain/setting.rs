//! Whose a config key is, what it is set to, and where.

use serde_json::Value;

use super::explanation::{Explanation, Fix, Party, Predicate, Verdict};
use super::subject::SubjectKind;
use super::world::{OWNERS, World, declares, fixes_of, rule_of};
use crate::registry::ConfigEntry;
use crate::text::{shown, shown_up_to};

pub(super) fn explain(world: &World<'_>, key: &str) -> Option<Explanation> {
    let claimants: Vec<_> = world
        .skipped()
        .filter(|(found, _)| {
            declares(found.candidate, |raw| {
                raw.get("config").and_then(Value::as_object).is_some_and(|config| config.contains_key(key))
            })
        })
        .map(|(_, skip)| skip)
        .collect();
    let central = world.base.central();
    let mut explanation = match world.composition.registry.config_entry(key) {
        Some(entry) => owned(world, &entry),
        None if central.is_exact(key) => host(world, key, "cross.config-key.central-collision"),
        None if central.matches_pattern(key) => {
            host(world, key, "cross.config-key.central-pattern-collision")
        }
        None if central.is_runtime_state(key) => host(world, key, "cross.config-key.runtime-state"),
        None => {
            let skip = claimants.first()?;
            Explanation {
                text: format!(
                    "declared by {} ({}), which is not used: {}",
                    shown(&skip.id),
                    skip.scope.as_str(),
                    shown_up_to(&skip.text(), 600)
                ),
                verdict: Verdict::Skipped,
                rule: rule_of(skip),
                fixes: fixes_of(skip),
                ..blank(key)
            }
        }
    };
    explanation.parties.extend(claimants.iter().map(|skip| world.left_out(skip, "also-declares")));
    Some(explanation)
}

fn blank(key: &str) -> Explanation {
    Explanation {
        kind: SubjectKind::Key,
        name: shown(key),
        verdict: Verdict::Active,
        text: String::new(),
        rule: OWNERS.to_owned(),
        parties: Vec::new(),
        predicates: Vec::new(),
        fixes: Vec::new(),
    }
}

fn value(world: &World<'_>, key: &str) -> Predicate {
    match world.config.resolve_with_origin(key) {
        None => Predicate::new("value", "not set", "", false),
        Some((value, origin)) => Predicate::new("value", &value.to_string(), &world.origin(origin), true),
    }
}

fn owned(world: &World<'_>, entry: &ConfigEntry<'_>) -> Explanation {
    let slice = entry.slice;
    let mut predicates = vec![
        value(world, entry.key),
        Predicate::new("default", &slice.default.to_string(), "default of the capability", true),
        Predicate::new("type", slice.kind.as_str(), "", true),
    ];
    if !slice.values.is_empty() {
        predicates.push(Predicate::new("words", &slice.values.join(", "), "", true));
    }
    let mut parties = vec![world.party(entry.owner, "owner", "")];
    parties.extend(users(world, entry));
    let file = &world.config_names.main;
    let fixes =
        if file.is_empty() { Vec::new() } else { vec![Fix::words(format!("set it in {}", shown(file)))] };
    Explanation {
        text: format!(
            "setting of {} ({}): {}",
            entry.owner.id(),
            entry.owner.scope.as_str(),
            shown_up_to(&slice.description, 200)
        ),
        parties,
        predicates,
        fixes,
        ..blank(entry.key)
    }
}

/// What the key switches, inside its own capability.
fn users<'w>(world: &'w World<'_>, entry: &ConfigEntry<'w>) -> impl Iterator<Item = Party> + 'w {
    let ConfigEntry { owner, key, .. } = *entry;
    let manifest = &owner.manifest;
    let on = move |when: Option<&String>| when.is_some_and(|when| when == key);
    let whole = (manifest.activation_key.as_deref() == Some(key))
        .then(|| ("switches", "the whole capability".to_owned()));
    let steps = manifest
        .steps
        .iter()
        .filter(move |step| on(step.when.as_ref()))
        .map(|step| ("switches", format!("its step at {}", step.point)));
    let contributions = manifest
        .contributions
        .iter()
        .filter(move |one| on(one.when.as_ref()))
        .map(|one| ("switches", format!("its contribution at {}", one.point)));
    let gates = manifest
        .gates
        .iter()
        .filter(move |gate| on(gate.when.as_ref()))
        .map(|gate| ("switches", format!("its gate at {}", gate.point)));
    let status = if world.config.is_on(key) { "active" } else { "inactive" };
    whole.into_iter().chain(steps).chain(contributions).chain(gates).map(move |(part, note)| Party {
        id: owner.id().to_string(),
        scope: owner.scope.as_str(),
        part,
        status,
        note,
    })
}

fn host(world: &World<'_>, key: &str, rule: &str) -> Explanation {
    Explanation {
        text: "a key of the host itself; no capability can own it".to_owned(),
        rule: rule.to_owned(),
        predicates: vec![value(world, key)],
        ..blank(key)
    }
}
