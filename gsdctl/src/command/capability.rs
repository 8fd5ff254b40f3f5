//! `gsdctl capability …`: the drop-in replacement of upstream's `gsd capability`. The same work as the commands of the
//! top; on standard output one document in upstream's shape, with or without `--json`.
//!
//! Source: ADR-1244 D7; lifecycle formats section 18.

use std::process::ExitCode;

use gsd_proto::{Code, WireError};
use serde_json::{Value, json};

use super::install::{self, Attempt, Wish};
use super::{consent, outdated, registry, state, switch};
use crate::args::{
    CapabilityVerb, ConsentVerb, Global, InstallArgs, ListArgs, OutdatedArgs, RemoveArgs, UpdateArgs,
};
use crate::connect::Options;
use crate::output::Report;
use crate::{error, output};

/// Runs a verb and gives its exit status.
pub(super) fn run(global: &Global, options: &Options, verb: &CapabilityVerb) -> ExitCode {
    // What is said to people stays the same; upstream's callers read standard output only.
    let told = Global { json: false, ..global.clone() };
    match verb {
        CapabilityVerb::Install(args) => installed(&told, options, args),
        CapabilityVerb::Update(args) => updated(&told, options, args),
        CapabilityVerb::Remove(args) => removed(&told, options, args),
        CapabilityVerb::List => {
            let listed = registry::list(&told, options, &ListArgs { all: true });
            finish(&told, listed.map(|report| (report.data.clone(), report)))
        }
        CapabilityVerb::Outdated => {
            let rows = outdated::outdated(&told, options, OutdatedArgs { exit_code: false });
            finish(&told, rows.map(|report| (outdated::upstream(&report), report)))
        }
        CapabilityVerb::State(args) => {
            let state = state::state(&told, options, args);
            finish(&told, state.map(|report| (report.data.clone(), report)))
        }
        CapabilityVerb::Enable(args) => switched(&told, args.raw, switch::enable(&told, options, args)),
        CapabilityVerb::Disable(args) => switched(&told, args.raw, switch::disable(&told, options, args)),
        CapabilityVerb::Set(args) => switched(&told, args.switch.raw, switch::set(&told, options, args)),
        CapabilityVerb::Trust { verb } => {
            let document = |report: Report| match verb {
                ConsentVerb::List => (consent::upstream(&report), report),
                ConsentVerb::Grant { .. } | ConsentVerb::Show { .. } | ConsentVerb::Preview { .. } => {
                    (report.data.clone(), report)
                }
                ConsentVerb::Revoke { id, .. } => (json!({"status": "revoked", "id": id}), report),
            };
            finish(&told, consent::run(&told, options, verb).1.map(document))
        }
    }
}

fn installed(global: &Global, options: &Options, args: &InstallArgs) -> ExitCode {
    let attempt = install::attempt(global, options, &Wish::install(args));
    let disclosure = disclosure(&attempt);
    finish_or_aborted(global, attempt, |report| {
        json!({
            "status": report.data["status"],
            "id": report.data["id"],
            "version": report.data["version"],
            "scope": report.data["scope"],
            "disclosure": disclosure,
            "notWired": report.data["not_wired"],
        })
    })
}

fn updated(global: &Global, options: &Options, args: &UpdateArgs) -> ExitCode {
    let Some(id) = &args.id else {
        let scope = global.scope.map(crate::args::Scope::word);
        let done = install::update(global, options, args);
        return finish(
            global,
            done.map(|report| (json!({"scope": scope, "updated": rows(&report)}), report)),
        );
    };
    let attempt = install::attempt(global, options, &Wish::update(id, None, args));
    let disclosure = disclosure(&attempt);
    let from = attempt.staged.as_ref().and_then(|staged| staged.installed_version.clone());
    finish_or_aborted(global, attempt, |report| {
        json!({
            "status": report.data["status"],
            "id": report.data["id"],
            "fromVersion": from,
            "toVersion": report.data["version"],
            "scope": report.data["scope"],
            "disclosure": disclosure,
            "notWired": report.data["not_wired"],
        })
    })
}

/// Upstream prints every capability with `--raw`, else a line about this one.
fn switched(global: &Global, raw: bool, outcome: crate::command::Outcome) -> ExitCode {
    let document = |report: Report| {
        let warnings: Vec<String> = report
            .warnings
            .iter()
            .filter(|warning| warning.code == "capability.switch")
            .map(|warning| warning.message.clone())
            .collect();
        let data = &report.data;
        let document = if raw {
            json!({"capabilities": data["capabilities"], "warnings": warnings, "errors": data["errors"]})
        } else {
            json!({
                "id": data["id"], "enabled": data["enabled"], "surfaced": data["surfaced"],
                "installed": data["installed"], "warnings": warnings,
            })
        };
        (document, report)
    };
    finish(global, outcome.map(document))
}

fn rows(report: &Report) -> Vec<Value> {
    let items = report.data["items"].as_array().into_iter().flatten();
    items
        .map(|item| {
            json!({
                "id": item["id"],
                "status": item["status"],
                "fromVersion": item["from_version"],
                "toVersion": item["version"],
                "requiresConsent": item["error"]["code"] == Code::ConsentRequired.name(),
                "blockReasons": item["error"]["message"].as_str().into_iter().collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn removed(global: &Global, options: &Options, args: &RemoveArgs) -> ExitCode {
    let done = install::remove(global, options, args);
    finish(
        global,
        done.map(|report| {
            let document = json!({
                "status": report.data["status"],
                "id": report.data["id"],
                "scope": report.data["scope"],
                "removedFiles": [format!(".gsd/capabilities/{}", report.data["id"].as_str().unwrap_or_default())],
                "strippedEdits": report.data["stripped_edits"],
                "dataPreserved": !args.purge_data,
                "left": report.data["not_wired"],
            });
            (document, report)
        }),
    )
}

fn disclosure(attempt: &Attempt) -> Vec<String> {
    let lines = attempt.staged.iter().flat_map(|staged| &staged.disclosure);
    lines.map(|line| line.text.clone()).collect()
}

/// A consent that was not given is a document as well as an error.
fn finish_or_aborted(global: &Global, attempt: Attempt, document: impl FnOnce(&Report) -> Value) -> ExitCode {
    let aborted = attempt.outcome.as_ref().err().filter(|error| is_about_consent(error)).map(|_| {
        json!({
            "status": "aborted",
            "requiresConsent": true,
            "scope": attempt.staged.as_ref().map(|staged| staged.scope.as_str()),
            "disclosure": disclosure(&attempt),
        })
    });
    if let Some(aborted) = aborted {
        drop(print(&aborted));
    }
    finish(global, attempt.outcome.map(|report| (document(&report), report)))
}

fn is_about_consent(error: &WireError) -> bool {
    [Code::ConsentRequired, Code::ConsentDeclined, Code::ConsentStale, Code::ConsentRevoked]
        .iter()
        .any(|code| &*error.code == code.name())
}

fn finish(global: &Global, outcome: Result<(Value, Report), WireError>) -> ExitCode {
    match outcome {
        Ok((document, report)) => {
            for warning in report.warnings.iter().filter(|warning| warning.code != crate::connect::DETOUR) {
                output::say(&format!("warning: {}", output::clean(&warning.message)));
            }
            output::finish(&print(&document), report.exit)
        }
        Err(failure) => error::print(global, "capability", &failure),
    }
}

/// Two spaces, as upstream prints.
fn print(document: &Value) -> std::io::Result<()> {
    let mut text = output::escaped(&serde_json::to_string_pretty(document)?);
    text.push('\n');
    output::write_all(text.as_bytes())
}
