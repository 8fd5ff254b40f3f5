//! Rules on what a feature runs: command modules and hook scripts.

use super::findings::{At, Findings, Object, non_empty};
use super::rule_table::RuleId as R;
use super::safe_name::is_safe_bundle_path;
use crate::ids::is_reserved_property_name;

/// Examines `commands`.
pub(super) fn check_commands(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let at = root.key("commands");
    let entries = findings.optional_array(manifest, &root, "commands", R::FeatureCommandsArray);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let at = at.item(index);
        let Some(command) = entry.as_object() else {
            findings.add(R::FeatureCommandsEntryObject, &at);
            continue;
        };
        if let Some(family) = findings.text(command, &at, "family", R::FeatureCommandsFamilyString) {
            if is_reserved_property_name(family) {
                findings.add(R::FeatureCommandsFamilyReservedName, &at.key("family"));
            } else {
                findings.check(is_family_word(family), R::FeatureCommandsFamilyShape, &at.key("family"));
            }
        }
        if command.contains_key("exec") {
            exec(findings, command, &at);
        } else {
            if let Some(module) = findings.text(command, &at, "module", R::FeatureCommandsModuleString) {
                findings.check(is_module_file(module), R::FeatureCommandsModuleBasename, &at.key("module"));
            }
            findings.text(command, &at, "router", R::FeatureCommandsRouterString);
        }
        let words = findings.optional_array(command, &at, "subcommands", R::FeatureCommandsSubcommandsArray);
        findings.each(words, &at.key("subcommands"), R::FeatureCommandsSubcommandsEntry, |word| {
            non_empty(Some(word)).is_some()
        });
    }
}

/// Our extension: an executable file of the bundle instead of a module and its router.
fn exec(findings: &mut Findings, command: &Object, at: &At<'_>) {
    if let Some(path) = findings.text(command, at, "exec", R::FeatureCommandsExecString) {
        findings.check(is_safe_bundle_path(path), R::FeatureCommandsExecSafePath, &at.key("exec"));
    }
    findings.forbid(command, at, &["module", "router"], R::FeatureCommandsExecExclusive);
}

/// Examines `hooks`.
pub(super) fn check_hooks(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let at = root.key("hooks");
    let entries = findings.optional_array(manifest, &root, "hooks", R::FeatureHooksArray);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let at = at.item(index);
        let Some(hook) = entry.as_object() else {
            findings.add(R::FeatureHooksEntryObject, &at);
            continue;
        };
        findings.text(hook, &at, "event", R::FeatureHooksEventString);
        if let Some(script) = findings.text(hook, &at, "script", R::FeatureHooksScriptString) {
            findings.check(is_safe_bundle_path(script), R::FeatureHooksScriptSafePath, &at.key("script"));
        }
        if hook.contains_key("matcher")
            && let Some(matcher) = findings.text(hook, &at, "matcher", R::FeatureHooksMatcherString)
        {
            let plain = !matcher.chars().any(|c| c.is_ascii_control());
            findings.check(plain, R::FeatureHooksMatcherControlChar, &at.key("matcher"));
        }
    }
}

fn is_module_file(name: &str) -> bool {
    name.strip_suffix(".cjs").is_some_and(|stem| {
        !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    })
}

fn is_family_word(family: &str) -> bool {
    family.len() <= 64
        && family.starts_with(|c: char| c.is_ascii_alphanumeric())
        && family.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}
