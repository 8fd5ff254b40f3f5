//! Rules on what a feature adds to the loop: steps, contributions, gates and their fragments.

use serde_json::Value;

use super::findings::{At, Findings, Object, is_text};
use super::rule_table::RuleId as R;
use super::safe_name::leaves_root;
use super::vocabulary::ON_ERROR;
use crate::registry::LoopPoint;

/// Longest command of a predicate, in UTF-16 units.
pub(super) const MAX_PREDICATE_COMMAND: usize = 4096;

/// Examines `steps`, `contributions` and `gates`.
pub(super) fn check(findings: &mut Findings, manifest: &Object) {
    entries(findings, manifest, &STEPS, |findings, entry, at| {
        step_ref(findings, manifest, entry, at);
        artifacts(
            findings,
            entry,
            at,
            [
                R::FeatureStepsProducesArray,
                R::FeatureStepsProducesEntry,
                R::FeatureStepsConsumesArray,
                R::FeatureStepsConsumesEntry,
            ],
        );
        findings.word(entry, at, "onError", ON_ERROR, R::FeatureStepsOnError);
        if entry.contains_key("fragment") {
            fragment(findings, entry, at);
        }
    });
    entries(findings, manifest, &CONTRIBUTIONS, |findings, entry, at| {
        let into = entry.get("into").is_some_and(Value::is_string);
        findings.check(into, R::FeatureContributionsIntoString, &at.key("into"));
        artifacts(
            findings,
            entry,
            at,
            [
                R::FeatureContributionsProducesArray,
                R::FeatureContributionsProducesEntry,
                R::FeatureContributionsConsumesArray,
                R::FeatureContributionsConsumesEntry,
            ],
        );
        findings.optional_word(entry, at, "onError", ON_ERROR, R::FeatureContributionsOnError);
        fragment(findings, entry, at);
    });
    entries(findings, manifest, &GATES, |findings, entry, at| {
        gate_check(findings, entry, at);
        let blocking = entry.get("blocking").is_some_and(Value::is_boolean);
        findings.check(blocking, R::FeatureGatesBlockingBoolean, &at.key("blocking"));
        findings.word(entry, at, "onError", ON_ERROR, R::FeatureGatesOnError);
    });
}

/// The rules that the three lists have in common.
struct List {
    key: &'static str,
    array: R,
    entry_object: R,
    point: R,
    when_string: R,
}

const STEPS: List = List {
    key: "steps",
    array: R::FeatureStepsArray,
    entry_object: R::FeatureStepsEntryObject,
    point: R::FeatureStepsPoint,
    when_string: R::FeatureStepsWhenString,
};
const CONTRIBUTIONS: List = List {
    key: "contributions",
    array: R::FeatureContributionsArray,
    entry_object: R::FeatureContributionsEntryObject,
    point: R::FeatureContributionsPoint,
    when_string: R::FeatureContributionsWhenString,
};
const GATES: List = List {
    key: "gates",
    array: R::FeatureGatesArray,
    entry_object: R::FeatureGatesEntryObject,
    point: R::FeatureGatesPoint,
    when_string: R::FeatureGatesWhenString,
};

fn entries(
    findings: &mut Findings,
    manifest: &Object,
    list: &List,
    examine: impl Fn(&mut Findings, &Object, &At<'_>),
) {
    let root = At::Root;
    let at = root.key(list.key);
    for (index, entry) in
        findings.array(manifest, &root, list.key, list.array).into_iter().flatten().enumerate()
    {
        let at = at.item(index);
        let Some(entry) = entry.as_object() else {
            findings.add(list.entry_object, &at);
            continue;
        };
        let point = entry.get("point").and_then(Value::as_str).and_then(LoopPoint::parse);
        findings.check(point.is_some(), list.point, &at.key("point"));
        if let Some(when) = entry.get("when") {
            findings.check(when.is_string(), list.when_string, &at.key("when"));
        }
        findings.forbid(entry, &at, &["capId"], R::FeatureLoopOwnerForged);
        examine(findings, entry, &at);
    }
}

fn artifacts(findings: &mut Findings, entry: &Object, at: &At<'_>, rules: [R; 4]) {
    let [produces_array, produces_entry, consumes_array, consumes_entry] = rules;
    let produces = findings.array(entry, at, "produces", produces_array);
    findings.each(produces, &at.key("produces"), produces_entry, Value::is_string);
    let consumes = findings.array(entry, at, "consumes", consumes_array);
    findings.each(consumes, &at.key("consumes"), consumes_entry, Value::is_string);
}

fn step_ref(findings: &mut Findings, manifest: &Object, entry: &Object, at: &At<'_>) {
    let at = at.key("ref");
    let empty = Object::new();
    let reference = match entry.get("ref") {
        Some(Value::Object(reference)) => reference,
        // A list has none of the keys.
        Some(Value::Array(_)) => &empty,
        _ => {
            findings.add(R::FeatureStepsRefObject, &at);
            return;
        }
    };
    let targets =
        ["skill", "agent", "command"].into_iter().filter(|key| reference.contains_key(*key)).count();
    match targets {
        0 => findings.add(R::FeatureStepsRefTargetMissing, &at),
        1 => {}
        _ => findings.add(R::FeatureStepsRefTargetExclusive, &at),
    }
    let listed = |list: &str, name: &str| {
        manifest
            .get(list)
            .and_then(Value::as_array)
            .is_none_or(|own| own.iter().any(|n| n.as_str() == Some(name)))
    };
    if let Some(skill) = reference.get("skill") {
        match skill.as_str() {
            None => findings.add(R::FeatureStepsRefSkillString, &at.key("skill")),
            Some(name) if name.starts_with("gsd-") => {
                findings.add(R::FeatureStepsRefSkillUnprefixed, &at.key("skill"));
            }
            Some(name) => {
                findings.check(listed("skills", name), R::FeatureStepsRefSkillDeclared, &at.key("skill"));
            }
        }
    }
    if let Some(agent) = reference.get("agent") {
        match agent.as_str() {
            None => findings.add(R::FeatureStepsRefAgentString, &at.key("agent")),
            Some(name) => {
                findings.check(listed("agents", name), R::FeatureStepsRefAgentDeclared, &at.key("agent"));
            }
        }
    }
    if let Some(command) = reference.get("command") {
        findings.check(command.is_string(), R::FeatureStepsRefCommandString, &at.key("command"));
    }
}

fn fragment(findings: &mut Findings, entry: &Object, at: &At<'_>) {
    let at_fragment = at.key("fragment");
    let Some(fragment) = entry.get("fragment").and_then(Value::as_object) else {
        findings.add(R::FeatureFragmentObject, &at_fragment);
        return;
    };
    if !fragment.contains_key("path") && !fragment.contains_key("inline") {
        findings.add(R::FeatureFragmentSourceMissing, &at_fragment);
    }
    if let Some(inline) = fragment.get("inline") {
        match inline.as_str() {
            None => findings.add(R::FeatureFragmentInlineString, &at_fragment.key("inline")),
            Some("") => findings.add(R::FeatureFragmentInlineNonEmpty, &at_fragment.key("inline")),
            Some(_) => {}
        }
    }
    if let Some(path) = fragment.get("path") {
        let inside = path.as_str().is_some_and(|path| !path.is_empty() && !leaves_root(path));
        findings.check(inside, R::FeatureFragmentPathRelative, &at_fragment.key("path"));
    }
}

fn gate_check(findings: &mut Findings, entry: &Object, at: &At<'_>) {
    let at_check = at.key("check");
    let empty = Object::new();
    let check = match entry.get("check") {
        Some(Value::Object(check)) => check,
        // A list has none of the keys.
        Some(Value::Array(_)) => &empty,
        _ => {
            findings.add(R::FeatureGatesCheckObject, &at_check);
            return;
        }
    };
    let forms =
        ["query", "predicate", "agentVerdict"].into_iter().filter(|key| check.contains_key(*key)).count();
    findings.check(forms == 1, R::FeatureGatesCheckOneForm, &at_check);
    let advisory = !check.contains_key("agentVerdict") || entry.get("blocking") != Some(&Value::Bool(true));
    findings.check(advisory, R::FeatureGatesAgentVerdictAdvisory, &at.key("blocking"));
    if forms != 1 {
        return;
    }
    if let Some(query) = check.get("query") {
        findings.check(is_text(query), R::FeatureGatesQueryString, &at_check.key("query"));
    }
    if let Some(predicate) = check.get("predicate") {
        findings.check(is_predicate(predicate), R::FeatureGatesPredicateKind, &at_check.key("predicate"));
    }
}

fn is_predicate(value: &Value) -> bool {
    let Some(predicate) = value.as_object() else { return false };
    let text = |key: &str| predicate.get(key).is_some_and(is_text);
    match predicate.get("kind").and_then(Value::as_str) {
        Some("command-exit-zero") => {
            let command = predicate.get("command").and_then(Value::as_str).unwrap_or_default();
            let timeout = predicate.get("timeout").is_none_or(|t| t.as_f64().is_some_and(|t| t > 0.0));
            !command.is_empty() && command.encode_utf16().count() <= MAX_PREDICATE_COMMAND && timeout
        }
        Some("artifact-frontmatter-equals") => {
            text("artifact") && text("field") && predicate.contains_key("equals")
        }
        _ => false,
    }
}
