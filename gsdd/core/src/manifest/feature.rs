//! Rules on the body of a feature.

use serde_json::Value;

use super::findings::{At, Findings, Object, non_empty};
use super::rule_table::RuleId as R;
use super::safe_name::is_safe_stem;
use super::{commands, config_slice, loop_hooks};
use crate::ids::{has_id_shape, is_reserved_property_name};

/// Examines a manifest with the role `feature`.
pub(super) fn check(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    findings.forbid(manifest, &root, &["reviewer"], R::FeatureReviewerForbidden);
    runtime_compat(findings, manifest);
    let skills = [
        R::FeatureSkillsArray,
        R::FeatureSkillsEntryString,
        R::FeatureSkillsReservedName,
        R::FeatureSkillsStemShape,
    ];
    names(findings, manifest, "skills", skills);
    let agents = [
        R::FeatureAgentsArray,
        R::FeatureAgentsEntryString,
        R::FeatureAgentsReservedName,
        R::FeatureAgentsStemShape,
    ];
    names(findings, manifest, "agents", agents);
    commands::check_commands(findings, manifest);
    commands::check_hooks(findings, manifest);
    config_slice::check_feature_config(findings, manifest);
    activation_key(findings, manifest);
    loop_hooks::check(findings, manifest);
}

fn names(findings: &mut Findings, manifest: &Object, key: &str, rules: [R; 4]) {
    let [array, entry_string, reserved, shape] = rules;
    let root = At::Root;
    let at = root.key(key);
    for (index, entry) in findings.array(manifest, &root, key, array).into_iter().flatten().enumerate() {
        let at = at.item(index);
        let Some(name) = entry.as_str() else {
            findings.add(entry_string, &at);
            continue;
        };
        if is_reserved_property_name(name) {
            findings.add(reserved, &at);
        } else {
            findings.check(is_safe_stem(name), shape, &at);
        }
    }
}

fn activation_key(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let at = root.key("activationKey");
    if !manifest.contains_key("activationKey") {
        return;
    }
    let Some(key) = findings.text(manifest, &root, "activationKey", R::FeatureActivationKeyString) else {
        return;
    };
    if is_reserved_property_name(key) {
        findings.add(R::FeatureActivationKeyReservedName, &at);
        return;
    }
    let declared = manifest.get("config").and_then(Value::as_object).is_some_and(|c| c.contains_key(key));
    findings.check(declared, R::FeatureActivationKeyDeclared, &at);
}

fn runtime_compat(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let Some(compat) = findings.object(manifest, &root, "runtimeCompat", R::FeatureRuntimeCompatObject)
    else {
        return;
    };
    let at = root.key("runtimeCompat");
    let supported = findings.array(compat, &at, "supported", R::FeatureRuntimeCompatListArray);
    if let Some(list) = supported {
        findings.check(!list.is_empty(), R::FeatureRuntimeCompatSupportedNonEmpty, &at.key("supported"));
        runtime_list(findings, list, &at.key("supported"), true);
    }
    if let Some(list) = findings.array(compat, &at, "unsupported", R::FeatureRuntimeCompatListArray) {
        runtime_list(findings, list, &at.key("unsupported"), false);
    }
    let Some(notes) = findings.optional_object(compat, &at, "notes", R::FeatureRuntimeCompatNotesObject)
    else {
        return;
    };
    let at = at.key("notes");
    for (key, note) in notes {
        findings.check(key == "*" || has_id_shape(key), R::FeatureRuntimeCompatNotesKey, &at.key(key));
        findings.check(non_empty(Some(note)).is_some(), R::FeatureRuntimeCompatNotesValue, &at.key(key));
    }
}

fn runtime_list(findings: &mut Findings, list: &[Value], at: &At<'_>, wildcard_allowed: bool) {
    for (index, entry) in list.iter().enumerate() {
        let at = at.item(index);
        let Some(name) = non_empty(Some(entry)) else {
            findings.add(R::FeatureRuntimeCompatEntryString, &at);
            continue;
        };
        if is_reserved_property_name(name) {
            findings.add(R::FeatureRuntimeCompatReservedName, &at);
        }
        if name == "*" {
            findings.check(wildcard_allowed, R::FeatureRuntimeCompatWildcardForbidden, &at);
        } else {
            findings.check(has_id_shape(name), R::FeatureRuntimeCompatEntryKebab, &at);
        }
    }
    let wildcard = list.iter().any(|entry| entry.as_str() == Some("*"));
    findings.check(!wildcard || list.len() == 1, R::FeatureRuntimeCompatWildcardExclusive, at);
}
