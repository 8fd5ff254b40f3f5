//! `gsdctl validate`: what an author has to correct.

use std::fmt::Write as _;
use std::path::Path;

use gsd_proto::Code;
use gsd_proto::api::manifest::{Finding, Validate, ValidateParams, ValidateResult};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::args::{Global, ValidateArgs};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Judges a folder.
pub(super) fn validate(global: &Global, options: &Options, args: &ValidateArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let judged = connection.call::<Validate>(&ValidateParams {
        ctx: connection.context(),
        dir: Some(args.dir.clone()),
        merged: args.merged,
        scope: global.scope.map(|scope| scope.word().to_owned()),
        sarif: args.sarif,
        ..ValidateParams::default()
    })?;
    let exit = if judged.valid { 0 } else { Code::ManifestInvalid.exit() };
    let text = match &judged.sarif {
        Some(document) => {
            let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
            text.push('\n');
            text
        }
        None => text(&judged, &args.dir),
    };
    let data = json!({
        "valid": judged.valid,
        "problems": judged.problems.iter().map(row).collect::<Vec<_>>(),
        "warnings": judged.hints.iter().map(row).collect::<Vec<_>>(),
    });
    let extra = if judged.valid { Map::new() } else { failure(&judged) };
    let mut warnings = judged.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "validate", data, text, warnings, extra, exit, ..Report::default() })
}

/// The members by which every failure of ours is known, beside the data.
fn failure(judged: &ValidateResult) -> Map<String, Value> {
    let first = judged.problems.first();
    let error = json!({
        "code": Code::ManifestInvalid.name(),
        "message": headline(judged.problems.len(), "problem"),
        "cause": judged.problems.iter().map(|problem| format!("{}: {}", problem.rule, problem.message)).collect::<Vec<_>>(),
        "where": {
            "file": judged.file,
            "pointer": first.map(|problem| &problem.pointer),
            "line": first.map(|problem| problem.line),
        },
        "fix": first.map(|problem| json!([{"text": problem.fix, "argv": []}])).unwrap_or_default(),
        "doc": Code::ManifestInvalid.name(),
    });
    Map::from_iter([("ok".to_owned(), json!(false)), ("error".to_owned(), error)])
}

fn row(finding: &Finding) -> Value {
    let mut row = json!({
        "rule": finding.rule,
        "pointer": finding.pointer,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "fix": finding.fix,
    });
    if let (Some(file), Some(members)) = (&finding.file, row.as_object_mut()) {
        members.insert("file".to_owned(), json!(file));
    }
    row
}

fn text(judged: &ValidateResult, dir: &Path) -> String {
    let mut out = String::new();
    for (word, findings) in [("error", &judged.problems), ("warning", &judged.hints)] {
        for finding in findings {
            block(&mut out, word, finding, dir);
        }
    }
    let name = clean(&dir.display().to_string());
    let mut summary = if judged.valid {
        format!("{name}: valid")
    } else {
        format!("{name}: {}", headline(judged.problems.len(), "problem"))
    };
    if !judged.hints.is_empty() {
        let _ = write!(summary, ", {}", headline(judged.hints.len(), "warning"));
    }
    let _ = writeln!(out, "{summary}");
    out
}

fn block(out: &mut String, word: &str, finding: &Finding, dir: &Path) {
    let _ = writeln!(out, "{word}[{}]: {}", clean(&finding.rule), clean(&finding.message));
    let folder = if dir.ends_with("capability.json") { dir.parent().unwrap_or(dir) } else { dir };
    let file = folder.join(finding.file.as_deref().unwrap_or("capability.json"));
    let mut place = clean(&file.display().to_string());
    if finding.line > 0 {
        let _ = write!(place, ":{}:{}", finding.line, finding.column);
    }
    if !finding.pointer.is_empty() {
        let _ = write!(place, " {}", clean(&finding.pointer));
    }
    let _ = writeln!(out, "  where: {place}");
    let _ = writeln!(out, "  fix:   {}\n", clean(&finding.fix));
}

fn headline(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
