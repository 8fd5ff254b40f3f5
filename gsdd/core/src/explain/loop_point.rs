//! What is attached to a point of the loop, in order, and what is missing.

use super::explanation::{Explanation, Party, Predicate, Verdict};
use super::subject::SubjectKind;
use super::world::World;
use crate::manifest::{GateCheck, Predicate as GatePredicate, StepRef};
use crate::registry::{LoopPoint, Wired};
use crate::text::{shown, shown_up_to};

pub(super) fn explain(world: &World<'_>, name: &str) -> Option<Explanation> {
    let point = LoopPoint::parse(name)?;
    let hooks = world.composition.registry.hooks_at(point);
    let mut parties = Vec::new();
    let mut predicates = Vec::new();
    for wired in &hooks.steps {
        let what = match &wired.hook.reference {
            StepRef::Skill(name) => format!("skill {name}"),
            StepRef::Agent(name) => format!("agent {name}"),
            StepRef::Command(name) => format!("command {name}"),
        };
        let flow = flow(&wired.hook.consumes, &wired.hook.produces);
        attach(
            world,
            wired,
            "step",
            &format!("{what}{flow}"),
            wired.hook.when.as_deref(),
            &mut parties,
            &mut predicates,
        );
    }
    for wired in &hooks.contributions {
        let flow = flow(&wired.hook.consumes, &wired.hook.produces);
        let what = format!("into {}{flow}", wired.hook.into);
        attach(
            world,
            wired,
            "contribution",
            &what,
            wired.hook.when.as_deref(),
            &mut parties,
            &mut predicates,
        );
    }
    for wired in &hooks.gates {
        let blocking = if wired.hook.blocking { "blocking" } else { "advisory" };
        let what = format!("{blocking}, {}", check(&wired.hook.check));
        attach(world, wired, "gate", &what, wired.hook.when.as_deref(), &mut parties, &mut predicates);
    }
    for gate in world.composition.blocked_gates.iter().filter(|gate| gate.point == name) {
        parties.push(Party {
            id: shown(&gate.id),
            scope: gate.scope.as_str(),
            part: "missing-gate",
            status: Verdict::Skipped.word(),
            note: shown_up_to(&gate.reason, 300),
        });
    }
    let active = parties.iter().filter(|party| party.status == Verdict::Active.word()).count();
    let missing = parties.iter().filter(|party| party.part == "missing-gate").count();
    let verdict = match (active, parties.is_empty()) {
        (_, true) => Verdict::Empty,
        (0, false) => Verdict::Inactive,
        (_, false) => Verdict::Active,
    };
    let contract = world.base.contract();
    Some(Explanation {
        kind: SubjectKind::Point,
        name: point.to_string(),
        verdict,
        text: format!(
            "point of the {} step; agents here: {}; {active} hooks active, {missing} gates missing",
            contract.step_name(point),
            contract.roles_at(point).join(", "),
        ),
        rule: "overlay model, \"The activation chain\"".to_owned(),
        parties,
        predicates,
        fixes: Vec::new(),
    })
}

fn attach<T>(
    world: &World<'_>,
    wired: &Wired<'_, T>,
    part: &'static str,
    what: &str,
    when: Option<&str>,
    parties: &mut Vec<Party>,
    predicates: &mut Vec<Predicate>,
) {
    let mut party = world.party(wired.owner, part, what);
    if let Some(key) = when {
        let switch = world.switch(key);
        if !switch.holds && party.status == Verdict::Active.word() {
            party.status = Verdict::Inactive.word();
            party.note = shown_up_to(&format!("{}; `{key}` is off", party.note), 300);
        }
        if !predicates.contains(&switch) {
            predicates.push(switch);
        }
    }
    parties.push(party);
}

fn flow(consumes: &[String], produces: &[String]) -> String {
    let mut flow = String::new();
    if !consumes.is_empty() {
        flow.push_str(", needs ");
        flow.push_str(&consumes.join(" "));
    }
    if !produces.is_empty() {
        flow.push_str(", makes ");
        flow.push_str(&produces.join(" "));
    }
    flow
}

fn check(check: &GateCheck) -> String {
    match check {
        GateCheck::Query(name) => format!("query {name}"),
        GateCheck::Predicate(GatePredicate::CommandExitZero { command, .. }) => format!("command {command}"),
        GateCheck::Predicate(GatePredicate::ArtifactFrontmatterEquals { artifact, field, equals }) => {
            format!("{field} of {artifact} is {equals}")
        }
        GateCheck::Predicate(GatePredicate::Unknown(_)) => "a condition that nothing evaluates".to_owned(),
        GateCheck::AgentVerdict(_) => "opinion of an agent".to_owned(),
    }
}
