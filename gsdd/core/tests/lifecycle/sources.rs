//! Source specs, pins, policy and older compatible versions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gsdd_core::manifest::assess;
use gsdd_core::registry::HostContract;
use gsdd_core::source::compat::{EngineVerdict, judge_engines};
use gsdd_core::source::integrity::{PinRefusal, judge_pin};
use gsdd_core::source::outdated::{PeekPlan, PeekStatus, from_git_ref, from_git_tags, from_npm, plan_peek};
use gsdd_core::source::packument::Packument;
use gsdd_core::source::policy::{ConfigFile, KnownRegistries, PolicyBlock};
use gsdd_core::source::{GitRef, NpmSelector, PathStyle, Pin, SourceSpec};
use serde_json::{Value, json};

use super::{Suite, engine_range, run};

pub(crate) fn spec_parse() -> Suite {
    run("spec-parse.json", include_str!("../../../../tests/vectors/lifecycle/spec-parse.json"), |_, case| {
        let expect = &case["expect"];
        let expected = match expect["reject"].as_str() {
            Some(reject) => format!("reject {reject}"),
            None => described(
                expect["kind"].as_str().unwrap(),
                expect["target"].as_str().unwrap(),
                expect["ref"].as_str().unwrap_or_default(),
            ),
        };
        let ours = match SourceSpec::parse_for(case["spec"].as_str().unwrap(), PathStyle::Posix) {
            Err(refusal) => format!("reject {}", kebab(&refusal.kind)),
            Ok(spec) => {
                let again = SourceSpec::parse_for(&spec.recorded(), PathStyle::Posix);
                assert_eq!(again, Ok(spec.clone()), "{}: what is recorded reads back", case["id"]);
                let reference = match &spec {
                    SourceSpec::Git { reference: GitRef::None, .. } => String::new(),
                    SourceSpec::Git { reference, .. } => reference.to_string(),
                    _ => String::new(),
                };
                described(spec.kind().name(), &spec.target(), &reference)
            }
        };
        Some((expected, ours))
    })
}

/// The name of a rule as the vectors write it: `SchemeCase` as `scheme-case`.
fn kebab(rule: &impl std::fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{rule:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

fn described(kind: &str, target: &str, reference: &str) -> String {
    format!("{kind} {target} {reference}").trim_end().to_owned()
}

pub(crate) fn integrity() -> Suite {
    run(
        "integrity.json",
        include_str!("../../../../tests/vectors/lifecycle/integrity.json"),
        |document, case| {
            let expect = &case["expect"];
            if let Some(valid) = expect["valid"].as_bool() {
                let manifest = json!({"integrity": case["manifest_integrity"]}).to_string();
                let problems = assess("x", manifest.as_bytes(), &HostContract::builtin()).problems;
                let objects = problems.iter().any(|one| one.rule.as_str() == "manifest.integrity.sha512");
                return Some((valid.to_string(), (!objects).to_string()));
            }
            let expected = match expect["rejected"].as_str() {
                Some(why) => format!("rejected {why}"),
                None => format!("accepted {}", expect["recorded_integrity"]),
            };
            let artifact = case["artifact"]
                .as_str()
                .map(|name| STANDARD.decode(document["artifacts"][name].as_str().unwrap()).unwrap());
            let spec = match case["source_kind"].as_str().unwrap() {
                "tarball" => "https://h.example/a.tgz",
                "npm" => "npm:a",
                "git" => "git+https://h.example/a",
                _ => "./a",
            };
            let kind = SourceSpec::parse(spec).unwrap().kind();
            let ours = match judge_pin(kind, case["integrity"].as_str(), artifact.as_deref().map(Pin::of)) {
                Ok(recorded) => format!("accepted {}", json!(recorded.map(|pin| pin.as_str().to_owned()))),
                Err(PinRefusal::Problem(problem)) => format!("rejected {}", kebab(&problem)),
                Err(PinRefusal::Mismatch) => "rejected mismatch".to_owned(),
                Err(PinRefusal::NotForKind(kind)) => format!("rejected rejected-for-{}", kind.name()),
            };
            Some((expected, ours))
        },
    )
}

pub(crate) fn strict_registries() -> Suite {
    let text = include_str!("../../../../tests/vectors/lifecycle/strict-registries.json");
    run("strict-registries.json", text, |_, case| {
        let policy = KnownRegistries::from_value(case.get("policy"));
        let ours = verdict(&policy, case["spec"].as_str().unwrap(), "allowed");
        Some((case["expect"].as_str().unwrap().to_owned(), ours))
    })
}

pub(crate) fn strict_registries_config() -> Suite {
    let text = include_str!("../../../../tests/vectors/lifecycle/strict-registries-config.json");
    run("strict-registries-config.json", text, |_, case| {
        let policy = match (case["config_text"].as_str(), case["config"].as_str()) {
            (Some(text), _) => KnownRegistries::from_project_config(ConfigFile::Bytes(text.as_bytes())),
            (None, Some("directory")) => KnownRegistries::from_project_config(ConfigFile::Unreadable),
            _ => KnownRegistries::from_project_config(ConfigFile::Absent),
        };
        let ours = verdict(&policy, "git+https://127.0.0.1:1/r", "fetch-attempted");
        Some((case["expect"].as_str().unwrap().to_owned(), ours))
    })
}

fn verdict(policy: &KnownRegistries, spec: &str, allowed: &str) -> String {
    match SourceSpec::parse_for(spec, PathStyle::Posix) {
        Err(refusal) => format!("refused:{}", kebab(&refusal.kind)),
        Ok(spec) => match policy.judge(&spec, None) {
            Ok(()) => allowed.to_owned(),
            Err(PolicyBlock::LocalOnly) => "blocked:lockdown".to_owned(),
            Err(PolicyBlock::Malformed(_)) => "blocked:malformed-policy".to_owned(),
            Err(block) => format!("blocked:{}", kebab(&block)),
        },
    }
}

pub(crate) fn compat_versions() -> Suite {
    let text = include_str!("../../../../tests/vectors/lifecycle/compat-versions.json");
    run("compat-versions.json", text, |_, case| {
        let manifest: Value = serde_json::from_str(case["manifest_json"].as_str().unwrap()).unwrap();
        let host = case["host_version"].as_str().unwrap();
        let expect = &case["expect"];
        let expected = format!(
            "{} {} {} {}",
            expect["compatible"], expect["satisfied_by"], expect["range"], expect["downgrade_to"]
        );
        let verdict = judge_engines(&manifest, |range| engine_range::satisfies(host, range));
        let (by, range, downgrade) = match &verdict {
            EngineVerdict::Unconstrained => (Some("unconstrained"), None, None),
            EngineVerdict::Satisfied { range } => (Some("engines"), Some(range), None),
            EngineVerdict::Incompatible { range, downgrade_to } => {
                (downgrade_to.as_ref().map(|_| "compatVersions"), Some(range), downgrade_to.as_ref())
            }
        };
        let compatible = !matches!(verdict, EngineVerdict::Incompatible { .. });
        let ours = format!("{compatible} {} {} {}", json!(by), json!(range), json!(downgrade));
        Some((expected, ours))
    })
}

pub(crate) fn outdated_peek() -> Suite {
    let text = include_str!("../../../../tests/vectors/lifecycle/outdated-peek.json");
    run("outdated-peek.json", text, |_, case| {
        let expect = &case["expect"];
        let expected = format!("{} {}", expect["status"].as_str().unwrap(), expect["version"]);
        let answer = &case["subprocess_result"];
        let succeeded = answer["exit_code"] == 0 && answer["signal"].is_null();
        let output = if succeeded { answer["stdout"].as_str().unwrap_or_default() } else { "" };
        let peek = match plan_peek(case["source"].as_str().unwrap()) {
            PeekPlan::Answered(peek) => peek,
            PeekPlan::GitTags { .. } => from_git_tags(output),
            PeekPlan::GitRef { .. } => from_git_ref(output),
            PeekPlan::Npm { selector, .. } => {
                // Either one version, or one line per version with the version in quotes.
                let versions: Vec<&str> = output
                    .lines()
                    .map(|line| line.rsplit_once(' ').map_or(line, |(_, version)| version.trim_matches('\'')))
                    .collect();
                let tag = if selector == NpmSelector::None { "latest" } else { selector.as_str() };
                let offered: serde_json::Map<String, Value> =
                    versions.iter().map(|version| ((*version).to_owned(), json!({}))).collect();
                let document = json!({"dist-tags": {tag: versions.last()}, "versions": offered});
                let packument = Packument::read(document.to_string().as_bytes(), "p").unwrap();
                from_npm(&selector, &packument, |_| true)
            }
            PeekPlan::Registry { .. } => return Some((expected, "asks the registry".to_owned())),
            PeekPlan::Manifest { .. } => return None,
        };
        let status = match peek.status {
            PeekStatus::Found => "ok",
            PeekStatus::Pinned => "pinned",
            PeekStatus::Manual => "manual",
            PeekStatus::Unknown => "unknown",
        };
        Some((expected, format!("{status} {}", json!(peek.version))))
    })
}
