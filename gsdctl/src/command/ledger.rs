//! `gsdctl ledger …` and `gsdctl reconcile`.

use std::fmt::Write as _;

use gsd_proto::Code;
use gsd_proto::api::ledger::{
    LedgerFinding, LedgerList, LedgerParams, LedgerReconcile, LedgerReconcileParams, LedgerVerify,
};
use serde_json::json;

use super::Outcome;
use super::disclosure::{changes, diff_lines};
use crate::args::{Global, LedgerVerb};
use crate::connect::{self, Connection, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &LedgerVerb) -> (&'static str, Outcome) {
    match verb {
        LedgerVerb::List => ("ledger-list", list(global, options)),
        LedgerVerb::Verify => ("ledger-verify", verify(global, options)),
    }
}

fn params(global: &Global, connection: &Connection) -> LedgerParams {
    LedgerParams { ctx: connection.context(), scope: global.scope.map(|scope| scope.word().to_owned()) }
}

fn list(global: &Global, options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = params(global, &connection);
    let listed = connection.call::<LedgerList>(&params)?;
    let mut text = String::new();
    for row in &listed.entries {
        let member = |name: &str| clean(row.entry[name].as_str().unwrap_or_default());
        let _ = writeln!(text, "{} {} ({} scope)", clean(&row.id), member("version"), row.scope);
        let _ = writeln!(text, "  from      {}", member("source"));
        if let Some(folder) = &row.linked {
            let _ = writeln!(text, "  linked    {}", clean(&folder.display().to_string()));
        }
        if let Some(commit) = &row.commit {
            let _ = writeln!(text, "  commit    {}", clean(commit));
        }
        if let Some(hash) = &row.content_hash {
            let _ = writeln!(text, "  content   {}", clean(hash));
        }
        match &row.agreed_at {
            Some(at) => {
                let _ = writeln!(text, "  agreed    {}", clean(at));
            }
            None => text.push_str("  agreed    no\n"),
        }
        if row.entry.get("_pending").is_some() {
            text.push_str("  an operation on it was not finished\n");
        }
        for path in &row.wired_into {
            let _ = writeln!(text, "  wired     {}", clean(&path.display().to_string()));
        }
        for past in &row.past {
            let _ =
                writeln!(text, "  rollback  {} (agreed to {})", clean(&past.version), clean(&past.agreed_at));
        }
    }
    if listed.entries.is_empty() {
        text.push_str("no ledger records anything\n");
    }
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "ledger-list", data: json!(listed.entries), text, warnings, ..Report::default() })
}

fn verify(global: &Global, options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = params(global, &connection);
    let verified = connection.call::<LedgerVerify>(&params)?;
    let mut text = String::new();
    findings(&mut text, &verified.findings);
    let differences = verified.findings.iter().filter(|finding| finding.severity == "difference").count();
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let checked = counted(verified.checked, "capability", "capabilities");
    let _ = match differences {
        0 => writeln!(text, "looked at {checked}: everything is as recorded"),
        count => writeln!(text, "looked at {checked}: {}", counted(count, "difference", "differences")),
    };
    let mut warnings = verified.warnings;
    warnings.extend(connection.warnings());
    Ok(Report {
        command: "ledger-verify",
        data: json!({"checked": verified.checked, "differences": differences, "findings": verified.findings}),
        text,
        warnings,
        exit: if differences > 0 { Code::CheckDifferences.exit() } else { 0 },
        ..Report::default()
    })
}

/// Settles what was begun and not finished.
pub(super) fn reconcile(global: &Global, options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let done = connection.call::<LedgerReconcile>(&LedgerReconcileParams {
        ctx: connection.context(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        dry_run: global.dry_run,
    })?;
    let mut text = String::new();
    for action in &done.actions {
        let would = if global.dry_run { "would " } else { "" };
        let _ = writeln!(text, "{would}{}", clean(&action.text));
        if global.dry_run {
            changes(&mut text, &action.changes);
        }
    }
    findings(&mut text, &done.findings);
    if done.actions.is_empty() && done.findings.is_empty() {
        text.push_str("everything is in order\n");
    }
    let mut warnings = done.warnings;
    warnings.extend(connection.warnings());
    Ok(Report {
        command: "reconcile",
        changed: done.changed,
        data: json!({"actions": done.actions, "findings": done.findings}),
        text,
        warnings,
        ..Report::default()
    })
}

fn findings(text: &mut String, findings: &[LedgerFinding]) {
    for finding in findings {
        let _ = writeln!(text, "{}: {} ({})", finding.severity, clean(&finding.message), finding.scope);
        if let Some(path) = &finding.path {
            let _ = writeln!(text, "  at   {}", clean(&path.display().to_string()));
        }
        if let Some(diff) = &finding.diff {
            diff_lines(text, diff);
        }
        for fix in &finding.fix {
            let command = fix.argv.iter().map(|word| clean(word)).collect::<Vec<_>>().join(" ");
            let _ = match command.is_empty() {
                true => writeln!(text, "  fix  {}", clean(&fix.text)),
                false => writeln!(text, "  fix  {}: {command}", clean(&fix.text)),
            };
        }
    }
}
