//! Rules on a reviewer lane.

use std::collections::HashSet;

use serde_json::Value;

use super::findings::{At, Findings, Object, is_integer_from, is_text, non_empty};
use super::problem::Problem;
use super::rule_table::RuleId as R;
use super::vocabulary::FEATURE_ONLY;
use crate::ids::is_reserved_property_name;
use crate::text::shown_up_to;

const LANE_KEYS: &[&str] = &[
    "slug",
    "flags",
    "transport",
    "probe",
    "invoke",
    "timeoutFloorMs",
    "emptyOutput",
    "reviewsSection",
    "evidenceClass",
    "requiresBinaries",
    "promptBudgetKey",
    "handler",
    "modelConfigKey",
];
const PROBE_KEYS: &[&str] = &["kind", "binary", "needle", "timeoutMs", "hostConfigKey", "path"];
pub(super) const PROBE_KINDS: &[&str] = &["command-exists", "command-capability", "http-reachable"];
pub(super) const TRANSPORTS: &[&str] = &["spawn", "openai-http"];
pub(super) const SPAWN_KEYS: &[&str] =
    &["binary", "args", "promptChannel", "outputChannel", "outputArg", "modelArg"];
pub(super) const HTTP_KEYS: &[&str] =
    &["hostConfigKey", "path", "modelDiscovery", "defaultHost", "fallbackModel"];
pub(super) const HANDLERS: &[&str] = &["antigravity", "openai-compatible", "opencode"];

/// Most warnings kept of one lane.
const MAX_WARNINGS: usize = 100;

/// Examines a manifest with the role `reviewer`.
pub(super) fn check_reviewer(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    findings.forbid(manifest, &root, FEATURE_ONLY, R::ReviewerForbiddenField);
    findings.forbid(manifest, &root, &["runtime"], R::ReviewerRuntimeForbidden);
    if findings.check(manifest.contains_key("reviewer"), R::ReviewerBodyRequired, &root) {
        check_lane(findings, manifest);
    }
}

/// Examines the lane, if there is one.
pub(super) fn check_lane(findings: &mut Findings, manifest: &Object) {
    let root = At::Root;
    let Some(lane) = findings.optional_object(manifest, &root, "reviewer", R::ReviewerBodyObject) else {
        return;
    };
    let at = root.key("reviewer");
    if let Some(slug) = findings.text(lane, &at, "slug", R::ReviewerSlugNonEmpty) {
        if is_reserved_property_name(slug) {
            findings.add(R::ReviewerSlugReservedName, &at.key("slug"));
        } else {
            findings.check(is_word(slug, "_-"), R::ReviewerSlugPattern, &at.key("slug"));
        }
    }
    flags(findings, lane, &at);
    findings.word(lane, &at, "transport", TRANSPORTS, R::ReviewerTransportEnum);
    if let Some(probe) = findings.object(lane, &at, "probe", R::ReviewerProbeObject) {
        check_probe(findings, probe, &at.key("probe"));
    }
    if let Some(invoke) = findings.object(lane, &at, "invoke", R::ReviewerInvokeObject) {
        check_invoke(findings, lane, invoke, &at.key("invoke"));
    }
    let floor = lane.get("timeoutFloorMs").is_some_and(is_positive_integer);
    findings.check(floor, R::ReviewerTimeoutFloorPositiveInteger, &at.key("timeoutFloorMs"));
    let outputs = &["stub-with-stderr", "handler-owned"];
    findings.word(lane, &at, "emptyOutput", outputs, R::ReviewerEmptyOutputEnum);
    if let Some(section) = findings.text(lane, &at, "reviewsSection", R::ReviewerReviewsSectionNonEmpty) {
        let one_line = !section.contains(['\n', '\r', '\u{2028}', '\u{2029}']);
        findings.check(one_line, R::ReviewerReviewsSectionSingleLine, &at.key("reviewsSection"));
    }
    let classes = &["source-grounded", "diff-only"];
    findings.word(lane, &at, "evidenceClass", classes, R::ReviewerEvidenceClassEnum);
    let binaries = findings.array(lane, &at, "requiresBinaries", R::ReviewerRequiresBinariesArray);
    findings.each(binaries, &at.key("requiresBinaries"), R::ReviewerRequiresBinariesEntry, is_text);
    let model_key = lane.get("modelConfigKey").is_none_or(is_null_or_text);
    findings.check(model_key, R::ReviewerModelConfigKeyStringOrNull, &at.key("modelConfigKey"));
    let budget_key = lane.get("promptBudgetKey").is_some_and(is_null_or_text);
    findings.check(budget_key, R::ReviewerPromptBudgetKeyStringOrNull, &at.key("promptBudgetKey"));
    if lane.get("handler") != Some(&Value::Null) {
        findings.word(lane, &at, "handler", HANDLERS, R::ReviewerHandlerEnum);
    }
}

/// Warnings about a lane: keys that nothing reads.
pub(super) fn warnings(manifest: &Object) -> Vec<Problem> {
    let lane = manifest.get("reviewer").and_then(Value::as_object);
    lane.into_iter()
        .flat_map(Object::keys)
        .filter(|key| !LANE_KEYS.contains(&key.as_str()))
        .take(MAX_WARNINGS)
        .map(|key| {
            let rule = R::ReviewerWarnUnknownField;
            let mut pointer = "/reviewer".to_owned();
            crate::json::push_token(&mut pointer, &key.chars().take(100).collect::<String>());
            Problem::new(rule, pointer, format!("the lane key `{}` is not known", shown_up_to(key, 60)))
        })
        .collect()
}

fn is_null_or_text(value: &Value) -> bool {
    value.is_null() || is_text(value)
}

fn is_positive_integer(value: &Value) -> bool {
    is_integer_from(value, 1.0)
}

/// Whether `text` matches `[a-z0-9][a-z0-9<extra>]*`.
fn is_word(text: &str, extra: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(plain) && text.bytes().all(|b| plain(b) || extra.as_bytes().contains(&b))
}

fn flags(findings: &mut Findings, lane: &Object, at: &At<'_>) {
    let Some(list) = findings.array(lane, at, "flags", R::ReviewerFlagsArray) else { return };
    let at = at.key("flags");
    findings.check(!list.is_empty(), R::ReviewerFlagsNonEmpty, &at);
    let mut seen = HashSet::new();
    for (index, flag) in list.iter().enumerate() {
        let word =
            flag.as_str().filter(|flag| flag.strip_prefix("--").is_some_and(|word| is_word(word, "-")));
        match word {
            None => findings.add(R::ReviewerFlagsPattern, &at.item(index)),
            Some(word) => {
                findings.check(seen.insert(word), R::ReviewerFlagsDuplicate, &at.item(index));
            }
        }
    }
}

fn check_probe(findings: &mut Findings, probe: &Object, at: &At<'_>) {
    let kind = probe.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !findings.check(PROBE_KINDS.contains(&kind), R::ReviewerProbeKindEnum, &at.key("kind")) {
        return;
    }
    for key in probe.keys() {
        let known = PROBE_KEYS.contains(&key.as_str()) || is_reserved_property_name(key);
        findings.check(known, R::ReviewerProbeUnknownField, &at.key(key));
    }
    let capability = kind == "command-capability";
    let http = kind == "http-reachable";
    let mut text = |key: &str, wanted: bool, required: R, forbidden: R| {
        if wanted {
            findings.text(probe, at, key, required);
        } else {
            findings.forbid(probe, at, &[key], forbidden);
        }
    };
    text("binary", !http, R::ReviewerProbeBinaryRequired, R::ReviewerProbeBinaryForbidden);
    text("needle", capability, R::ReviewerProbeNeedleRequired, R::ReviewerProbeNeedleForbidden);
    let host_key = (R::ReviewerProbeHostConfigKeyRequired, R::ReviewerProbeHostConfigKeyForbidden);
    text("hostConfigKey", http, host_key.0, host_key.1);
    text("path", http, R::ReviewerProbePathRequired, R::ReviewerProbePathForbidden);
    if capability || http {
        let timeout = probe.get("timeoutMs").is_some_and(is_positive_integer);
        findings.check(timeout, R::ReviewerProbeTimeoutRequired, &at.key("timeoutMs"));
    } else {
        findings.forbid(probe, at, &["timeoutMs"], R::ReviewerProbeTimeoutForbidden);
    }
}

fn check_invoke(findings: &mut Findings, lane: &Object, invoke: &Object, at: &At<'_>) {
    let has = |keys: &[&str]| keys.iter().any(|key| invoke.contains_key(*key));
    let mixed = has(SPAWN_KEYS) && has(HTTP_KEYS);
    findings.check(!mixed, R::ReviewerInvokeMixedTransports, at);
    match lane.get("transport").and_then(Value::as_str) {
        Some("spawn") => {
            findings.forbid(invoke, at, HTTP_KEYS, R::ReviewerInvokeFieldForbidden);
            spawn(findings, invoke, at);
        }
        Some("openai-http") => {
            findings.forbid(invoke, at, SPAWN_KEYS, R::ReviewerInvokeFieldForbidden);
            findings.text(invoke, at, "hostConfigKey", R::ReviewerInvokeHostConfigKey);
            findings.text(invoke, at, "path", R::ReviewerInvokePath);
            let discovery = &["none", "first-from-models-endpoint"];
            findings.word(invoke, at, "modelDiscovery", discovery, R::ReviewerInvokeModelDiscovery);
            findings.word(invoke, at, "effortChannel", &["none"], R::ReviewerInvokeEffortNone);
        }
        _ => {}
    }
}

fn spawn(findings: &mut Findings, invoke: &Object, at: &At<'_>) {
    findings.text(invoke, at, "binary", R::ReviewerInvokeBinary);
    let args = findings.array(invoke, at, "args", R::ReviewerInvokeArgsArray);
    findings.each(args, &at.key("args"), R::ReviewerInvokeArgsEntry, Value::is_string);
    let prompts = &["stdin", "argv", "argv-file-ref", "none"];
    findings.word(invoke, at, "promptChannel", prompts, R::ReviewerInvokePromptChannel);
    findings.word(invoke, at, "outputChannel", &["stdout", "file-arg"], R::ReviewerInvokeOutputChannel);
    match invoke.get("outputChannel").and_then(Value::as_str) {
        Some("file-arg") => {
            let named = non_empty(invoke.get("outputArg")).is_some();
            findings.check(named, R::ReviewerInvokeOutputArgRequired, &at.key("outputArg"));
        }
        Some("stdout") => {
            findings.forbid(invoke, at, &["outputArg"], R::ReviewerInvokeOutputArgForbidden);
        }
        _ => {}
    }
    let model = invoke.get("modelArg").is_some_and(is_null_or_text);
    findings.check(model, R::ReviewerInvokeModelArg, &at.key("modelArg"));
    findings.word(invoke, at, "effortChannel", &["none", "argv", "env"], R::ReviewerInvokeEffortChannel);
}
