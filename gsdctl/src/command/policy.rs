//! `gsdctl policy …`.

use std::fmt::Write as _;

use gsd_proto::Code;
use gsd_proto::api::policy::{Check, CheckParams, Objection, Origin, Setting, Show, ShowParams};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::PolicyVerb;
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(options: &Options, verb: &PolicyVerb) -> (&'static str, Outcome) {
    match verb {
        PolicyVerb::Show => ("policy-show", show(options)),
        PolicyVerb::Check { spec } => ("policy-check", check(options, spec)),
    }
}

fn show(options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let shown = connection.call::<Show>(&ShowParams { ctx: connection.context() })?;
    let mut text = String::new();
    for file in &shown.files {
        let state = match (file.exists, file.speaks) {
            (false, _) => "  (there is none)",
            (true, false) => "  (says nothing about policy)",
            (true, true) => "",
        };
        let _ = writeln!(text, "{:<8} {}{state}", file.layer, clean(&file.file.to_string_lossy()));
    }
    text.push('\n');
    for setting in &shown.settings {
        let origin = setting.origin.as_ref().map_or_else(|| "default".to_owned(), place);
        let note = if setting.decides { "" } else { "  (another one is tighter)" };
        let _ = writeln!(text, "{:<38} {}  [{origin}]{note}", setting.key, words(setting));
    }
    let files: Vec<Value> = shown
        .files
        .iter()
        .map(|file| {
            json!({"layer": file.layer, "file": file.file, "exists": file.exists, "speaks": file.speaks})
        })
        .collect();
    let settings: Vec<Value> = shown
        .settings
        .iter()
        .map(|setting| {
            let mut row = with_origin(setting.origin.as_ref());
            row["key"] = json!(setting.key);
            row["value"] = setting.value.clone();
            row["decides"] = json!(setting.decides);
            row["problem"] = json!(setting.problem);
            row
        })
        .collect();
    let mut warnings = shown.warnings;
    warnings.extend(connection.warnings());
    let data = json!({"files": files, "settings": settings});
    Ok(Report { command: "policy-show", data, text, warnings, ..Report::default() })
}

fn check(options: &Options, spec: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = CheckParams { ctx: connection.context(), spec: spec.to_owned() };
    let checked = connection.call::<Check>(&params)?;
    let verdict = if checked.allowed { "allowed" } else { "refused" };
    let mut text = format!("{verdict}: {}\n", clean(&checked.source));
    let mut line = |word: &str, objection: &Objection| {
        let origin = objection.origin.as_ref().map_or_else(|| "without any rule".to_owned(), place);
        let _ = writeln!(text, "  {word} {} [{}, {origin}]", clean(&objection.reason), objection.key);
    };
    if let Some(refusal) = &checked.refusal {
        line("because:", refusal);
    }
    for later in checked.later.iter().filter(|_| checked.allowed) {
        line("later:", later);
    }
    let row = |objection: &Objection| {
        let mut row = with_origin(objection.origin.as_ref());
        row["key"] = json!(objection.key);
        row["reason"] = json!(objection.reason);
        row
    };
    let data = json!({
        "source": checked.source,
        "allowed": checked.allowed,
        "refusal": checked.refusal.as_ref().map(row),
        "later": checked.later.iter().map(row).collect::<Vec<_>>(),
    });
    let exit = if checked.allowed { 0 } else { Code::PolicyBlocked.exit() };
    let mut warnings = checked.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "policy-check", data, text, warnings, exit, ..Report::default() })
}

fn words(setting: &Setting) -> String {
    if let Some(problem) = &setting.problem {
        return format!("CLOSED: {}", clean(problem));
    }
    match &setting.value {
        Value::Null => "no limit".to_owned(),
        Value::String(word) => clean(word),
        other => clean(&other.to_string()),
    }
}

fn place(origin: &Origin) -> String {
    let file = clean(&origin.file.to_string_lossy());
    match origin.line {
        Some(line) => format!("{}: {file}:{line}", origin.layer),
        None => format!("{}: {file}", origin.layer),
    }
}

fn with_origin(origin: Option<&Origin>) -> Value {
    json!({
        "layer": origin.map_or("default", |origin| origin.layer.as_str()),
        "file": origin.map(|origin| &origin.file),
        "line": origin.and_then(|origin| origin.line),
    })
}
