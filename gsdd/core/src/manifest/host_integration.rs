//! Rules on the later, optional axes of a runtime descriptor.

use serde_json::Value;

use super::findings::{At, Findings, Object, is_integer_from};
use super::rule_table::RuleId as R;
use crate::ids::is_reserved_property_name;

/// One closed list of words; every list also has `undocumented`.
pub(super) struct Axis {
    pub(super) key: &'static str,
    pub(super) words: &'static [&'static str],
    rule: R,
}

const fn axis(key: &'static str, words: &'static [&'static str], rule: R) -> Axis {
    Axis { key, words, rule }
}

pub(super) const AXES: &[Axis] = &[
    axis(
        "embeddingMode",
        &["imperative", "declarative", "undocumented"],
        R::RuntimeHostIntegrationEmbeddingMode,
    ),
    axis(
        "commandSurface",
        &["slash-file", "slash-programmatic", "slash-toml", "palette", "prose-only", "undocumented"],
        R::RuntimeHostIntegrationCommandSurface,
    ),
    axis("modelMode", &["active", "passive", "undocumented"], R::RuntimeHostIntegrationModelMode),
    axis("hookBus", &["host", "engine", "none", "undocumented"], R::RuntimeHostIntegrationHookBus),
    axis(
        "stateIO",
        &["filesystem", "sandboxed-storage", "session-log-append", "undocumented"],
        R::RuntimeHostIntegrationStateIo,
    ),
    axis("transport", &["mcp", "native-extension", "undocumented"], R::RuntimeHostIntegrationTransport),
    axis(
        "runtime",
        &["node", "bun", "sandboxed-web", "python", "go", "rust", "electron", "other", "undocumented"],
        R::RuntimeHostIntegrationRuntime,
    ),
];
pub(super) const EFFORT_SURFACES: &[&str] = &["argv", "none", "undocumented"];
pub(super) const SUBAGENT_TOOLKITS: &[&str] = &["full", "read-only", "built-in-only", "undocumented"];
pub(super) const ISOLATIONS: &[&str] = &["harness-worktree", "orchestrator-worktree", "none", "undocumented"];

/// Examines `hostIntegration`, `orchestratorExec` and `harnessIsolationFlag`.
pub(super) fn check(findings: &mut Findings, runtime: &Object, at: &At<'_>) {
    if let Some(host) =
        findings.optional_object(runtime, at, "hostIntegration", R::RuntimeHostIntegrationObject)
    {
        let at = at.key("hostIntegration");
        findings.forbid_reserved_keys(host, &at, R::RuntimeHostIntegrationReservedKey);
        for axis in AXES {
            findings.word(host, &at, axis.key, axis.words, axis.rule);
        }
        let effort = R::RuntimeHostIntegrationEffortSurface;
        findings.optional_word(host, &at, "effortSurface", EFFORT_SURFACES, effort);
        dispatch(findings, host, &at);
    }
    if let Some(exec) =
        findings.optional_object(runtime, at, "orchestratorExec", R::RuntimeOrchestratorExecObject)
    {
        orchestrator_exec(findings, exec, &at.key("orchestratorExec"));
    }
    findings.optional_text(runtime, at, "harnessIsolationFlag", R::RuntimeHarnessIsolationFlagString);
}

fn dispatch(findings: &mut Findings, host: &Object, at: &At<'_>) {
    let Some(dispatch) = findings.object(host, at, "dispatch", R::RuntimeDispatchObject) else {
        return;
    };
    let at = at.key("dispatch");
    findings.forbid_reserved_keys(dispatch, &at, R::RuntimeDispatchReservedKey);
    let undocumented = |value: &Value| value.as_str() == Some("undocumented");
    for (key, rule) in [
        ("namedDispatch", R::RuntimeDispatchNamedDispatch),
        ("nested", R::RuntimeDispatchNested),
        ("background", R::RuntimeDispatchBackground),
        ("backgroundDispatch", R::RuntimeDispatchBackgroundDispatch),
    ] {
        let known = dispatch.get(key).is_some_and(|value| value.is_boolean() || undocumented(value));
        findings.check(known, rule, &at.key(key));
    }
    let toolkit = R::RuntimeDispatchSubagentToolkit;
    findings.word(dispatch, &at, "subagentToolkit", SUBAGENT_TOOLKITS, toolkit);
    let depth =
        dispatch.get("maxDepth").is_some_and(|value| undocumented(value) || is_integer_from(value, -1.0));
    findings.check(depth, R::RuntimeDispatchMaxDepth, &at.key("maxDepth"));
    findings.optional_word(dispatch, &at, "isolation", ISOLATIONS, R::RuntimeDispatchIsolation);
}

fn orchestrator_exec(findings: &mut Findings, exec: &Object, at: &At<'_>) {
    findings.forbid_reserved_keys(exec, at, R::RuntimeOrchestratorExecReservedKey);
    if let Some(command) = findings.text(exec, at, "command", R::RuntimeOrchestratorExecCommand) {
        let free = !is_reserved_property_name(command);
        findings.check(free, R::RuntimeOrchestratorExecCommandReservedName, &at.key("command"));
    }
    if let Some(args) = exec.get("args") {
        let texts = args.as_array().is_some_and(|args| args.iter().all(Value::is_string));
        findings.check(texts, R::RuntimeOrchestratorExecArgs, &at.key("args"));
    }
    for (key, rule) in
        [("cwdFlag", R::RuntimeOrchestratorExecCwdFlag), ("promptFlag", R::RuntimeOrchestratorExecPromptFlag)]
    {
        let fits = exec.get(key).is_none_or(|value| value.is_null() || value.is_string());
        findings.check(fits, rule, &at.key(key));
    }
}
