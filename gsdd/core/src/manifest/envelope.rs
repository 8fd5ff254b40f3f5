//! Rules on the fields that every role has.

use serde_json::Value;

use super::findings::{At, Findings, Object, non_empty};
use super::rule_table::RuleId as R;
use super::vocabulary::{ROLES, TIERS};
use crate::ids::CapabilityId;
use crate::version::{EngineRange, has_range_shape, is_full_semver};

/// Examines the envelope.
pub(super) fn check(findings: &mut Findings, manifest: &Object, dir_name: &str) {
    let root = At::Root;
    let id = manifest.get("id").and_then(Value::as_str);
    if findings.check(
        id.is_some_and(|id| CapabilityId::parse(id).is_ok()),
        R::ManifestIdKebabCase,
        &root.key("id"),
    ) {
        findings.check(id == Some(dir_name), R::ManifestIdMatchesFolder, &root.key("id"));
    }
    findings.word(manifest, &root, "role", ROLES, R::ManifestRoleEnum);
    findings.text(manifest, &root, "title", R::ManifestTitleNonEmpty);
    findings.text(manifest, &root, "description", R::ManifestDescriptionNonEmpty);
    findings.word(manifest, &root, "tier", TIERS, R::ManifestTierEnum);
    let requires = findings.array(manifest, &root, "requires", R::ManifestRequiresArray);
    findings.each(requires, &root.key("requires"), R::ManifestRequiresEntryString, Value::is_string);
    let version = manifest.get("version").and_then(Value::as_str);
    findings.check(version.is_some_and(is_full_semver), R::ManifestVersionSemver, &root.key("version"));
    engines(findings, manifest);
    compat_versions(findings, manifest);
    if let Some(integrity) = manifest.get("integrity") {
        findings.check(is_integrity(integrity), R::ManifestIntegritySha512, &root.key("integrity"));
    }
    if let Some(provenance) =
        findings.optional_object(manifest, &root, "provenance", R::ManifestProvenanceObject)
    {
        let at = root.key("provenance");
        findings.text(provenance, &at, "sourceRepo", R::ManifestProvenanceSourceRepo);
        findings.text(provenance, &at, "commit", R::ManifestProvenanceCommit);
    }
}

fn engines(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let Some(engines) = findings.optional_object(manifest, &root, "engines", R::ManifestEnginesObject) else {
        return;
    };
    if let Some(range) = engines.get("gsd") {
        let readable = non_empty(Some(range))
            .is_some_and(|text| has_range_shape(text) && EngineRange::parse(text).is_ok());
        findings.check(readable, R::ManifestEnginesGsdRange, &root.key("engines").key("gsd"));
    }
}

fn compat_versions(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let key = "compatVersions";
    let Some(versions) = findings.optional_object(manifest, &root, key, R::ManifestCompatVersionsObject)
    else {
        return;
    };
    let at = root.key(key);
    for (version, range) in versions {
        findings.check(is_full_semver(version), R::ManifestCompatVersionsKeySemver, &at.key(version));
        let readable = range
            .as_str()
            .is_some_and(|text| has_range_shape(text) && EngineRange::parse_compat(text).is_ok());
        findings.check(readable, R::ManifestCompatVersionsValueRange, &at.key(version));
    }
}

fn is_integrity(value: &Value) -> bool {
    let digest = value.as_str().and_then(|text| text.strip_prefix("sha512-")?.strip_suffix("=="));
    digest.is_some_and(|digest| {
        digest.len() == 86 && digest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
    })
}
