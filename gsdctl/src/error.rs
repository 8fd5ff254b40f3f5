//! Failures: how they are told and which exit status they have. The one place for both.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use gsd_proto::{Code, WireError};
use serde_json::json;

use crate::args::Global;
use crate::output::{self, clean, say};

/// Tells a failure and gives its exit status.
pub(crate) fn print(global: &Global, command: &str, error: &WireError) -> ExitCode {
    let exit = if error.exit == 0 { Code::Internal.exit() } else { error.exit };
    if global.json {
        let written = output::line(&envelope(command, error, exit));
        return output::finish(&written, exit);
    }
    for line in text(error).lines() {
        say(line);
    }
    ExitCode::from(exit)
}

/// Tells that the command line was not understood; help and version are not failures.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return output::finish(&error.print(), 0);
    }
    // The flags did not parse, so `--json` is looked for by itself.
    let json = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    if json {
        let code = match error.kind() {
            ErrorKind::UnknownArgument => Code::UsageUnknownFlag,
            _ => Code::UsageInvalid,
        };
        let rendered = error.render().to_string();
        let message = rendered.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let wire = WireError::new(code, message).with_fix("see the help", &["gsdctl", "--help"]);
        let written = output::line(&envelope("usage", &wire, code.exit()));
        return output::finish(&written, code.exit());
    }
    drop(error.print());
    ExitCode::from(Code::UsageInvalid.exit())
}

fn envelope(command: &str, error: &WireError, exit: u8) -> serde_json::Value {
    let mut shown = json!({
        "code": error.code,
        "message": error.message,
        "cause": error.cause,
        "fix": error.fix.iter().map(|fix| json!({"text": fix.text, "argv": fix.argv})).collect::<Vec<_>>(),
        "doc": error.doc,
    });
    if let (Some(place), Some(members)) = (&error.where_, shown.as_object_mut()) {
        members.insert(
            "where".to_owned(),
            json!({"file": place.file, "pointer": place.pointer, "line": place.line}),
        );
    }
    json!({
        "schema": format!("gsd/v1/{command}"),
        "ok": false,
        "changed": false,
        "error": shown,
        "warnings": [],
        "exit": exit,
    })
}

/// Headline, causes, place, remedies.
fn text(error: &WireError) -> String {
    let mut out = format!("error[{}]: {}\n", clean(&error.code), clean(&error.message));
    for cause in &error.cause {
        let _ = writeln!(out, "  cause: {}", clean(cause));
    }
    if let Some(place) = &error.where_ {
        let mut at = place.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        if let Some(line) = place.line {
            let _ = write!(at, ":{line}");
        }
        if let Some(pointer) = &place.pointer {
            let _ = write!(at, " {pointer}");
        }
        let _ = writeln!(out, "  where: {}", clean(at.trim()));
    }
    for fix in &error.fix {
        let command = fix.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let parts = [command, fix.text.clone()];
        let shown: Vec<String> =
            parts.iter().filter(|part| !part.is_empty()).map(|part| clean(part)).collect();
        let _ = writeln!(out, "  fix:   {}", shown.join("  ·  "));
    }
    out
}

/// A word as a shell would need it.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,#^~".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_error_are_in_order() {
        let mut error = WireError::new(Code::PolicySourceBlocked, "\"acme\u{1b}[2J\" may not be installed")
            .caused_by("policy allows only [git.corp.example]")
            .at_file("/etc/gsd/policy.toml")
            .with_fix("ask the owner", &["gsdctl", "policy", "show", "a b"]);
        error.where_.as_mut().unwrap().line = Some(14);
        assert_eq!(
            text(&error),
            "error[policy.source_blocked]: \"acme\\u{1b}[2J\" may not be installed\n  cause: policy allows only [git.corp.example]\n  where: /etc/gsd/policy.toml:14\n  fix:   gsdctl policy show 'a b'  ·  ask the owner\n"
        );
    }
}
