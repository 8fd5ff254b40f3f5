//! `gsdctl audit …`.

use std::fmt::Write as _;

use gsd_proto::api::audit::{Tail, TailParams, Verify, VerifyParams};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{AuditVerb, Global};
use crate::connect::{self, Options};
use crate::output::{Report, clean};
use crate::screen::{Screen, Tone};

/// The check found something.
const DIFFERENCES: u8 = 11;

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &AuditVerb) -> (&'static str, Outcome) {
    match verb {
        AuditVerb::Tail { count, id, event } => {
            ("audit-tail", tail(options, *count, id.clone(), event.clone()))
        }
        AuditVerb::Verify { head } => ("audit-verify", verify(global, options, head.clone())),
    }
}

fn tail(options: &Options, count: usize, id: Option<String>, event: Option<String>) -> Outcome {
    let mut connection = connect::connect(options)?;
    let tail = connection.call::<Tail>(&TailParams { ctx: connection.context(), count, id, event })?;
    let mut text = String::new();
    for item in &tail.items {
        let member = |name: &str| clean(item[name].as_str().unwrap_or_default());
        let _ = write!(text, "{}  {:<16} {}", member("time"), member("event"), member("id"));
        for name in ["version", "scope", "consent", "client"] {
            if item[name].is_string() {
                let _ = write!(text, "  {name}={}", member(name));
            }
        }
        text.push('\n');
        if item["detail"].is_string() {
            let _ = writeln!(text, "    {}", member("detail"));
        }
    }
    if tail.items.is_empty() {
        text.push_str("nothing is recorded\n");
    }
    let mut warnings = tail.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "audit-tail", data: Value::Array(tail.items), text, warnings, ..Report::default() })
}

fn verify(global: &Global, options: &Options, head: Option<String>) -> Outcome {
    let mut connection = connect::connect(options)?;
    let found = connection.call::<Verify>(&VerifyParams { ctx: connection.context(), head })?;
    let screen = Screen::of_stdout(global);
    let mut text = String::new();
    for broken in &found.broken {
        let line = format!("line {}: {}", broken.line, clean(&broken.reason));
        let _ = writeln!(text, "{}", screen.toned(Tone::Alarm, &line));
    }
    if found.head_missing {
        let line = "the line that was asked for is not there: lines were cut off, or it is of another log";
        let _ = writeln!(text, "{}", screen.toned(Tone::Alarm, line));
    }
    match (found.whole, &found.head) {
        (_, None) => text.push_str("nothing is recorded\n"),
        (true, Some(head)) => {
            let _ = writeln!(text, "{} lines, each bound to the one before it", found.lines);
            if let Some(first) = found.first_seq.filter(|first| *first > 1) {
                let _ = writeln!(text, "{} older ones went with their files", first - 1);
            }
            let _ = writeln!(text, "the last is {}", clean(head));
        }
        (false, Some(_)) => {
            let _ = writeln!(text, "the log is not whole: {}", clean(&found.file.display().to_string()));
        }
    }
    let broken = found.broken.iter().map(
        |broken| json!({"line": broken.line, "expected_seq": broken.expected_seq, "reason": broken.reason}),
    );
    let data = json!({
        "whole": found.whole,
        "lines": found.lines,
        "first_seq": found.first_seq,
        "last_seq": found.last_seq,
        "head": found.head,
        "head_missing": found.head_missing,
        "broken": broken.collect::<Vec<_>>(),
        "file": found.file,
    });
    let exit = if found.whole { 0 } else { DIFFERENCES };
    let mut warnings = found.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "audit-verify", data, text, warnings, exit, ..Report::default() })
}
