//! `gsdctl outdated`.

use std::fmt::Write as _;

use gsd_proto::Code;
use gsd_proto::api::outdated::{Outdated, OutdatedParams};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{Global, OutdatedArgs};
use crate::connect::{self, Options, offline};
use crate::output::{Report, clean};

/// One row per installed capability; a source that does not answer is a row too.
pub(super) fn outdated(global: &Global, options: &Options, args: OutdatedArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<Outdated>(&OutdatedParams {
        ctx: connection.context(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        offline: offline(global),
    })?;
    let mut text = String::new();
    for row in &listed.items {
        let latest = row.latest.as_deref().unwrap_or("-");
        let note = row.note.as_ref().map(|note| format!("  {}", clean(note))).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<24} {:<8} {:<9} {:<12} {:<12} {}{note}",
            clean(&row.id),
            row.scope,
            clean(&row.source_kind),
            clean(&row.current),
            clean(latest),
            clean(&row.status),
        );
    }
    let rows: Vec<Value> = listed
        .items
        .iter()
        .map(|row| {
            json!({
                "id": row.id,
                "scope": row.scope,
                "source_kind": row.source_kind,
                "current": row.current,
                "latest": row.latest,
                "status": row.status,
                "note": row.note,
            })
        })
        .collect();
    let any = listed.items.iter().any(|row| row.status == "outdated");
    let exit = if args.exit_code && any { Code::CheckDifferences.exit() } else { 0 };
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "outdated", data: json!(rows), text, warnings, exit, ..Report::default() })
}

/// The rows in upstream's spelling.
pub(super) fn upstream(report: &Report) -> Value {
    let rows = report.data.as_array().into_iter().flatten();
    rows.map(|row| {
        json!({
            "id": row["id"],
            "sourceKind": row["source_kind"],
            "current": row["current"],
            "latest": row["latest"],
            "status": row["status"],
            "scope": row["scope"],
        })
    })
    .collect()
}
