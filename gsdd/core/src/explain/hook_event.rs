//! Which scripts run on an event of a host.

use serde_json::Value;

use super::explanation::{Explanation, Party, Verdict};
use super::subject::SubjectKind;
use super::world::{World, declares, is_shipped};
use crate::policy::SurfaceClass;
use crate::text::{shown, shown_up_to};

pub(super) fn explain(world: &World<'_>, event: &str) -> Option<Explanation> {
    let mut parties = Vec::new();
    for composed in world.composition.registry.capabilities() {
        for hook in composed.manifest.hooks.iter().filter(|hook| hook.event == event) {
            let matcher = hook.matcher.as_deref().map(|matcher| format!(" on {matcher}")).unwrap_or_default();
            let script = format!("{}{matcher}", hook.script);
            let (status, why) = match world.bundle_of(composed) {
                None if is_shipped(composed.scope) => {
                    (Verdict::Inactive, "shipped: the host's own installation registers it".to_owned())
                }
                None => (Verdict::Inactive, "its bundle is gone".to_owned()),
                Some(_) => match world.resting(SurfaceClass::Hooks, composed) {
                    None => (Verdict::Active, String::new()),
                    Some(why) => (Verdict::Inactive, why),
                },
            };
            let note = if why.is_empty() { script } else { format!("{script}; {why}") };
            parties.push(Party {
                id: composed.id().to_string(),
                scope: composed.scope.as_str(),
                part: "hook",
                status: status.word(),
                note: shown_up_to(&note, 300),
            });
        }
    }
    for (found, skip) in world.skipped() {
        let declared = declares(found.candidate, |raw| {
            let hooks = raw.get("hooks").and_then(Value::as_array);
            hooks.into_iter().flatten().any(|hook| hook.get("event").and_then(Value::as_str) == Some(event))
        });
        if declared {
            parties.push(world.left_out(skip, "hook"));
        }
    }
    let active = parties.iter().filter(|party| party.status == Verdict::Active.word()).count();
    let verdict = match (active, parties.first()?) {
        (0, first) if first.status == Verdict::Skipped.word() => Verdict::Skipped,
        (0, _) => Verdict::Inactive,
        (_, _) => Verdict::Active,
    };
    Some(Explanation {
        kind: SubjectKind::Hook,
        name: shown(event),
        verdict,
        text: format!("{active} of {} declared scripts run on this event, in this order", parties.len()),
        rule: "decision D-04".to_owned(),
        parties,
        predicates: Vec::new(),
        fixes: Vec::new(),
    })
}
