//! `gsdctl runtime …`.

use std::fmt::Write as _;

use gsd_proto::api::runtime::{List, ListParams};
use serde_json::json;

use super::Outcome;
use crate::args::RuntimeVerb;
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(options: &Options, verb: &RuntimeVerb) -> (&'static str, Outcome) {
    match verb {
        RuntimeVerb::List => ("runtime-list", list(options)),
    }
}

fn list(options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams { ctx: connection.context() })?;
    let mut text = String::new();
    for row in &listed.items {
        let state = match (row.supported, row.detected) {
            (true, true) => "found",
            (true, false) => "not found",
            (false, _) => "known, can't be wired yet",
        };
        let home = row.config_home.as_ref().map(|home| home.display().to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<12} {state:<26} {} {}",
            clean(&row.id),
            clean(&home),
            clean(&row.surfaces.join(","))
        );
    }
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    let rows: Vec<_> = listed
        .items
        .iter()
        .map(|row| {
            json!({
                "id": row.id,
                "title": row.title,
                "config_home": row.config_home,
                "detected": row.detected,
                "supported": row.supported,
                "surfaces": row.surfaces,
                "capabilities": row.capabilities,
            })
        })
        .collect();
    Ok(Report { command: "runtime-list", data: json!(rows), text, warnings, ..Report::default() })
}
