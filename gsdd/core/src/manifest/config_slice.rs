//! Rules on the federated config slice.
//!
//! Upstream examines the inside of a slice only while it builds the registry, where one failure costs every
//! installed capability; here each manifest answers for its own.
//!
//! Source: overlay model, "When the whole compose fails" (config-slice shape).

use serde_json::Value;

use super::findings::{At, Findings, Object};
use super::rule_table::RuleId as R;
use super::vocabulary::SLICE_TYPES;
use crate::ids::is_reserved_property_name;
use crate::text::is_hostile;

/// Longest config key, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// First stage: what upstream demands of a feature's `config`.
pub(super) fn check_feature_config(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let at = root.key("config");
    let Some(config) = findings.object(manifest, &root, "config", R::FeatureConfigObject) else {
        return;
    };
    for (key, slice) in config {
        let at = at.key(key);
        check_key(findings, key, &at);
        let Some(slice) = slice.as_object() else {
            findings.add(R::FeatureConfigEntryObject, &at);
            continue;
        };
        findings.text(slice, &at, "type", R::FeatureConfigTypeString);
    }
}

fn check_key(findings: &mut Findings, key: &str, at: &At<'_>) {
    if key.is_empty() {
        findings.add(R::FeatureConfigKeyNonEmpty, at);
    } else if is_reserved_property_name(key) {
        findings.add(R::FeatureConfigKeyReservedName, at);
    } else {
        let plain = key.len() <= MAX_KEY_BYTES
            && !key.chars().any(is_hostile)
            && !key.split('.').any(is_reserved_property_name);
        findings.check(plain, R::FeatureConfigKeyShape, at);
    }
}

/// Second stage: the inside of each slice, for any role.
pub(super) fn check_slices(findings: &mut Findings, manifest: &Object, feature: bool) {
    let root = At::Root;
    let at = root.key("config");
    let config = match manifest.get("config") {
        None => return,
        Some(Value::Object(config)) => config,
        // Upstream walks a text or a list by index and finds entries that are no slices.
        Some(_) => {
            findings.add(R::FeatureConfigObject, &at);
            return;
        }
    };
    for (key, slice) in config {
        let at = at.key(key);
        if !feature {
            check_key(findings, key, &at);
        }
        match slice.as_object() {
            Some(slice) => check_slice(findings, slice, &at),
            None => findings.add(R::SliceObject, &at),
        }
    }
}

fn check_slice(findings: &mut Findings, slice: &Object, at: &At<'_>) {
    findings.word(slice, at, "type", SLICE_TYPES, R::SliceTypeEnum);
    let kind = slice.get("type").and_then(Value::as_str).unwrap_or_default();
    match slice.get("default") {
        None => findings.add(R::SliceDefaultRequired, at),
        Some(default) => check_default(findings, slice, kind, default, at),
    }
    findings.text(slice, at, "description", R::SliceDescription);
}

fn check_default(findings: &mut Findings, slice: &Object, kind: &str, default: &Value, at: &At<'_>) {
    let default_at = at.key("default");
    match kind {
        "boolean" => {
            findings.check(default.is_boolean(), R::SliceDefaultBoolean, &default_at);
        }
        "string" => {
            findings.check(default.is_string(), R::SliceDefaultString, &default_at);
        }
        "number" => {
            findings.check(default.is_number(), R::SliceDefaultNumber, &default_at);
        }
        "enum" => check_enum(findings, slice, default, at),
        _ => {}
    }
}

fn check_enum(findings: &mut Findings, slice: &Object, default: &Value, at: &At<'_>) {
    let default_at = at.key("default");
    let values = slice.get("values").and_then(Value::as_array).filter(|values| !values.is_empty());
    match values {
        None => findings.add(R::SliceEnumValuesRequired, &at.key("values")),
        Some(values) => {
            findings.check(values.iter().all(Value::is_string), R::SliceEnumValuesStrings, &at.key("values"));
        }
    }
    if !default.is_string() {
        findings.add(R::SliceEnumDefaultString, &default_at);
    } else if values.is_some_and(|values| !values.contains(default)) {
        findings.add(R::SliceEnumDefaultMember, &default_at);
    }
}
