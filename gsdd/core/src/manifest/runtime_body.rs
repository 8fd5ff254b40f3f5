//! Rules on the descriptor of a runtime: the twelve axes of the design record, and the later ones when present.
//!
//! Source: ADR-1016 D1 to D7a.

use serde_json::Value;

use super::findings::{At, Findings, Object, is_text};
use super::host_integration;
use super::rule_table::RuleId as R;
use super::safe_name::{escapes_root, leaves_root};
use super::vocabulary as words;
use crate::text::is_hostile;

/// Examines a manifest with the role `runtime`.
pub(super) fn check(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    findings.forbid(manifest, &root, words::FEATURE_ONLY, R::RuntimeForbiddenField);
    let Some(runtime) = findings.object(manifest, &root, "runtime", R::RuntimeBodyObject) else {
        return;
    };
    let at = root.key("runtime");
    config_home(findings, runtime.get("configHome"), &at.key("configHome"));
    findings.word(runtime, &at, "configFormat", words::CONFIG_FORMATS, R::RuntimeConfigFormatEnum);
    artifact_layout(findings, runtime, &at);
    findings.word(runtime, &at, "commandStyle", words::COMMAND_STYLES, R::RuntimeCommandStyleEnum);
    findings.word(runtime, &at, "hooksSurface", words::HOOKS_SURFACES, R::RuntimeHooksSurfaceEnum);
    findings.optional_word(runtime, &at, "hookEvents", words::HOOK_EVENTS, R::RuntimeHookEventsEnum);
    let events = words::EXTENSION_EVENTS;
    findings.optional_word(runtime, &at, "extensionEvents", events, R::RuntimeExtensionEventsEnum);
    findings.word(runtime, &at, "sandboxTier", words::SANDBOX_TIERS, R::RuntimeSandboxTierEnum);
    let tier = runtime.get("supportTier").and_then(Value::as_f64);
    findings.check(
        tier.is_some_and(|tier| tier == 1.0 || tier == 2.0),
        R::RuntimeSupportTierEnum,
        &at.key("supportTier"),
    );
    let surfaces: Vec<&str> = words::INSTALL_SURFACES.iter().map(|surface| surface.word).collect();
    findings.word(runtime, &at, "installSurface", &surfaces, R::RuntimeInstallSurfaceEnum);
    let shared = runtime.get("writesSharedSettings").is_some_and(Value::is_boolean);
    findings.check(shared, R::RuntimeWritesSharedSettingsBoolean, &at.key("writesSharedSettings"));
    match runtime.get("permissionWriter") {
        None => findings.add(R::RuntimePermissionWriterRequired, &at),
        Some(Value::Null) => {}
        Some(_) => {
            let writers = words::PERMISSION_WRITERS;
            findings.word(runtime, &at, "permissionWriter", writers, R::RuntimePermissionWriterEnum);
        }
    }
    local_config_dir(findings, runtime, &at);
    extended_hook_events(findings, runtime, &at);
    pairing(findings, runtime, &at);
    host_integration::check(findings, runtime, &at);
}

fn config_home(findings: &mut Findings, home: Option<&Value>, at: &At<'_>) {
    let Some(home) = home.and_then(Value::as_object) else {
        findings.add(R::RuntimeConfigHomeObject, at);
        return;
    };
    findings.word(home, at, "kind", words::CONFIG_HOME_KINDS, R::RuntimeConfigHomeKindEnum);
    let kind = home.get("kind").and_then(Value::as_str);
    let confined = |value: &Value| value.as_str().is_some_and(|name| !name.is_empty() && !leaves_root(name));
    if kind == Some("none") {
        if home.contains_key("name") {
            findings.text(home, at, "name", R::RuntimeConfigHomeNameWhenNone);
        }
    } else if findings.text(home, at, "name", R::RuntimeConfigHomeName).is_some() {
        let inside = home.get("name").is_some_and(confined);
        findings.check(inside, R::RuntimeConfigHomeConfined, &at.key("name"));
    }
    if kind == Some("dot-home-nested")
        && findings.text(home, at, "parent", R::RuntimeConfigHomeParent).is_some()
    {
        let inside = home.get("parent").is_some_and(confined);
        findings.check(inside, R::RuntimeConfigHomeConfined, &at.key("parent"));
    }
    let env = findings.array(home, at, "env", R::RuntimeConfigHomeEnvArray);
    findings.each(env, &at.key("env"), R::RuntimeConfigHomeEnvEntry, Value::is_string);
    let probe = findings.optional_array(home, at, "probe", R::RuntimeConfigHomeProbeArray);
    findings.each(probe, &at.key("probe"), R::RuntimeConfigHomeProbeEntry, Value::is_string);
    findings.optional_text(home, at, "probeExists", R::RuntimeConfigHomeProbeExists);
    if let Some(skills_home) = home.get("skillsHome") {
        config_home(findings, Some(skills_home), &at.key("skillsHome"));
    }
}

fn artifact_layout(findings: &mut Findings, runtime: &Object, at: &At<'_>) {
    let Some(layout) = findings.object(runtime, at, "artifactLayout", R::RuntimeArtifactLayoutObject) else {
        return;
    };
    let at = at.key("artifactLayout");
    for scope in ["global", "local"] {
        let entries = findings.array(layout, &at, scope, R::RuntimeArtifactLayoutScopeArray);
        let at = at.key(scope);
        for (index, entry) in entries.into_iter().flatten().enumerate() {
            let at = at.item(index);
            match entry.as_object() {
                Some(entry) => layout_entry(findings, entry, &at, scope == "local"),
                None => findings.add(R::RuntimeArtifactLayoutEntryObject, &at),
            }
        }
    }
}

fn layout_entry(findings: &mut Findings, entry: &Object, at: &At<'_>, local: bool) {
    findings.word(entry, at, "kind", words::LAYOUT_KINDS, R::RuntimeArtifactLayoutKindEnum);
    if let Some(dest) = findings.text(entry, at, "destSubpath", R::RuntimeArtifactLayoutDestSubpath) {
        let inside = !escapes_root(dest);
        findings.check(inside, R::RuntimeArtifactLayoutDestConfined, &at.key("destSubpath"));
    }
    findings.word(entry, at, "nesting", words::LAYOUT_NESTING, R::RuntimeArtifactLayoutNestingEnum);
    let prefix = entry.get("prefix").and_then(Value::as_str);
    if findings.check(prefix.is_some(), R::RuntimeArtifactLayoutPrefixString, &at.key("prefix")) {
        let plain = prefix.is_some_and(|prefix| {
            !prefix.contains(['/', '\\', ':']) && !prefix.contains("..") && !prefix.chars().any(is_hostile)
        });
        findings.check(plain, R::RuntimeArtifactLayoutPrefixConfined, &at.key("prefix"));
    }
    if let Some(recursive) = entry.get("recursive") {
        let boolean = recursive.is_boolean();
        findings.check(boolean, R::RuntimeArtifactLayoutRecursiveBoolean, &at.key("recursive"));
    }
    match entry.get("converter") {
        // Entries of the design record have `stage` and no converter.
        None | Some(Value::Null) => {}
        Some(Value::String(name)) => {
            let known = words::is_converter(name);
            findings.check(known, R::RuntimeArtifactLayoutConverterEnum, &at.key("converter"));
        }
        Some(_) => findings.add(R::RuntimeArtifactLayoutConverterType, &at.key("converter")),
    }
    if local {
        findings.forbid(entry, at, &["home"], R::RuntimeArtifactLayoutLocalHomeForbidden);
    } else if let Some(home) = entry.get("home") {
        let inside = home.as_str().is_some_and(|home| !escapes_root(home));
        findings.check(inside, R::RuntimeArtifactLayoutDestConfined, &at.key("home"));
    }
}

fn local_config_dir(findings: &mut Findings, runtime: &Object, at: &At<'_>) {
    let homeless = runtime
        .get("configHome")
        .and_then(|home| home.get("kind"))
        .is_some_and(|kind| kind.as_str() == Some("none"));
    let at_dir = at.key("localConfigDir");
    match runtime.get("localConfigDir") {
        // Descriptors of the design record do not have the axis.
        None => {}
        Some(Value::Null) if homeless => {}
        Some(_) if homeless => findings.add(R::RuntimeLocalConfigDirNullWhenNone, &at_dir),
        Some(value) if !is_text(value) => findings.add(R::RuntimeLocalConfigDirRequired, &at_dir),
        Some(value) => {
            let dir = value.as_str().unwrap_or_default();
            if findings.check(dir.starts_with('.'), R::RuntimeLocalConfigDirDotPrefix, &at_dir) {
                let segments = || dir.split(['/', '\\']);
                let plain = !leaves_root(dir) && segments().all(|s| !matches!(s, "" | "." | ".."));
                findings.check(plain, R::RuntimeLocalConfigDirConfined, &at_dir);
            }
        }
    }
}

fn extended_hook_events(findings: &mut Findings, runtime: &Object, at: &At<'_>) {
    let key = "extendedHookEvents";
    let events = findings.array(runtime, at, key, R::RuntimeExtendedHookEventsArray);
    let is = |event: &Value, list: &[&str]| event.as_str().is_some_and(|event| list.contains(&event));
    findings.each(events, &at.key(key), R::RuntimeExtendedHookEventsEntryEnum, |event| {
        is(event, words::GEMINI_EVENTS) || is(event, words::CLAUDE_EVENTS)
    });
    let vocabulary = runtime.get("hookEvents").and_then(Value::as_str);
    let any = |list: &[&str]| events.into_iter().flatten().any(|event| is(event, list));
    if any(words::GEMINI_EVENTS) {
        let fits = vocabulary == Some("gemini");
        findings.check(fits, R::RuntimeGateExtendedEventsGemini, &at.key(key));
    }
    if any(words::CLAUDE_EVENTS) {
        let fits = vocabulary == Some("claude");
        findings.check(fits, R::RuntimeGateExtendedEventsClaude, &at.key(key));
    }
}

fn pairing(findings: &mut Findings, runtime: &Object, at: &At<'_>) {
    let word = |key: &str| runtime.get(key).and_then(Value::as_str);
    let surface = word("installSurface").and_then(install_surface);
    if let (Some(surface), Some(hooks)) = (surface, word("hooksSurface")) {
        let fits = surface.hooks_surfaces.contains(&hooks);
        findings.check(fits, R::RuntimeGateInstallSurfaceHooksSurface, &at.key("hooksSurface"));
    }
}

fn install_surface(word: &str) -> Option<&'static words::InstallSurface> {
    words::INSTALL_SURFACES.iter().find(|surface| surface.word == word)
}

/// Examines the pairing that upstream looks at while it builds the registry.
pub(super) fn check_format_parity(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let at = root.key("runtime");
    let Some(runtime) = manifest.get("runtime").and_then(Value::as_object) else { return };
    let word = |key: &str| runtime.get(key).and_then(Value::as_str);
    if let (Some(surface), Some(format)) =
        (word("installSurface").and_then(install_surface), word("configFormat"))
    {
        let rule = R::ComposeConfigFormatInstallSurfaceParity;
        findings.check(surface.config_format == format, rule, &at.key("configFormat"));
    }
}
