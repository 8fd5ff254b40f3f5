//! `gsdctl hook list` and `gsdctl hook test`: the verbs for people.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use gsd_proto::api::hook::{List, ListParams};
use gsd_proto::{Code, WireError};
use serde_json::json;

use super::Outcome;
use crate::args::{HookTestArgs, HookVerb};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(options: &Options, verb: &HookVerb) -> (&'static str, Outcome) {
    match verb {
        HookVerb::List => ("hook-list", list(options)),
        HookVerb::Test(args) => ("hook-test", test(options, args)),
    }
}

fn list(options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams { ctx: connection.context() })?;
    let mut text = String::new();
    for row in &listed.items {
        let matcher =
            row.matcher.as_deref().map(|matcher| format!(" [{}]", clean(matcher))).unwrap_or_default();
        let count = if row.counted {
            format!("{} calls, median {} µs, {} failures", row.calls, row.p50_us, row.failures)
        } else {
            "not counted".to_owned()
        };
        let _ = writeln!(
            text,
            "{} {}{matcher}  {} {}  {count}",
            clean(&row.host),
            clean(&row.event),
            clean(&row.capability),
            clean(&row.script),
        );
    }
    let rows: Vec<_> = listed
        .items
        .iter()
        .map(|row| {
            json!({
                "host": row.host, "event": row.event, "matcher": row.matcher, "capability": row.capability,
                "script": row.script, "counted": row.counted, "calls": row.calls, "p50_us": row.p50_us, "p99_us": row.p99_us,
                "failures": row.failures,
            })
        })
        .collect();
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "hook-list", data: json!(rows), text, warnings, ..Report::default() })
}

/// Takes the very path that a host takes, with a payload from a file.
fn test(options: &Options, args: &HookTestArgs) -> Outcome {
    let failed =
        |error: std::io::Error| WireError::new(Code::IoFailed, format!("{}: {error}", args.input.display()));
    let input = std::fs::File::open(options.context.cwd.join(&args.input)).map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let output = Command::new(program)
        .args(["hook", &args.event, "--host", &args.host])
        .current_dir(&options.context.cwd)
        .stdin(Stdio::from(input))
        .output()
        .map_err(failed)?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let exit = output.status.code();
    let mut text =
        format!("exit {}\n", exit.map_or_else(|| "by a signal".to_owned(), |exit| exit.to_string()));
    for (name, said) in [("stdout", &stdout), ("stderr", &stderr)] {
        for line in said.lines() {
            let _ = writeln!(text, "{name} {}", clean(line));
        }
    }
    let data = json!({"exit": exit, "stdout": stdout, "stderr": stderr});
    Ok(Report { command: "hook-test", data, text, ..Report::default() })
}
