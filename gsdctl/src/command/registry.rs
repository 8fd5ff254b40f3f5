//! `gsdctl list`, `gsdctl registry …`.

use std::fmt::Write as _;

use gsd_proto::api::registry::{Changes, Get, GetParams, List, ListItem, ListParams, SubscribeParams};
use gsd_proto::client::CallError;
use serde_json::json;

use super::{Outcome, explain};
use crate::args::{Global, ListArgs, RegistryVerb};
use crate::connect::{self, Options};
use crate::output::{self, Report, clean};

/// One row per capability.
pub(super) fn list(global: &Global, options: &Options, args: &ListArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams {
        ctx: connection.context(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
    })?;
    let mut text = String::new();
    let hidden = listed.items.iter().filter(|item| !args.all && is_shipped(item)).count();
    let shown: Vec<&ListItem> = listed.items.iter().filter(|item| args.all || !is_shipped(item)).collect();
    let id_width = shown.iter().map(|item| item.id.chars().count()).max().unwrap_or(0);
    for item in &shown {
        let version = item.version.as_deref().unwrap_or("-");
        let linked = item.linked.as_ref().map(|folder| format!(" (linked: {})", folder.display()));
        let _ = writeln!(
            text,
            "{:<id_width$}  {:<9} {:<11} {:<12} {:<11} {}{}",
            clean(&item.id),
            clean(version),
            item.scope,
            item.status,
            item.level,
            clean(item.reason.as_deref().or(item.title.as_deref()).unwrap_or_default()),
            clean(&linked.unwrap_or_default()),
        );
    }
    if hidden > 0 {
        let _ = writeln!(text, "{hidden} first-party capabilities as well; --all lists them");
    }
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    let rows: Vec<_> = shown.into_iter().map(row).collect();
    Ok(Report { command: "list", data: json!(rows), text, warnings, ..Report::default() })
}

fn is_shipped(item: &ListItem) -> bool {
    item.scope == "first-party"
}

fn row(item: &ListItem) -> serde_json::Value {
    json!({
        "id": item.id,
        "role": item.role,
        "version": item.version,
        "tier": item.tier,
        "source": item.source,
        "scope": item.scope,
        "status": item.status,
        "reason": item.reason,
        "surfaced": item.surfaced,
        "title": item.title,
        "level": item.level,
        "linked": item.linked,
    })
}

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &RegistryVerb) -> (&'static str, Outcome) {
    match verb {
        RegistryVerb::Get { view } => ("registry-get", get(options, view.as_deref())),
        RegistryVerb::Explain { subject } => ("registry-explain", explain::explain(options, subject)),
        RegistryVerb::Graph { format } => ("registry-graph", explain::graph(options, *format)),
        RegistryVerb::Watch => ("registry-watch", watch(global, options)),
    }
}

fn get(options: &Options, view: Option<&str>) -> Outcome {
    let mut connection = connect::connect(options)?;
    let got = connection
        .call::<Get>(&GetParams { ctx: connection.context(), view: view.map(ToOwned::to_owned) })?;
    let mut text = serde_json::to_string_pretty(&got.view).unwrap_or_default();
    text.push('\n');
    let mut warnings = got.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "registry-get", data: got.view, text, warnings, ..Report::default() })
}

/// One line per change, until the person or the daemon ends it.
fn watch(global: &Global, options: &Options) -> Outcome {
    let _ = global;
    let connection = connect::connect(options)?;
    let params = SubscribeParams { ctx: connection.context() };
    let mut events = connection.into_client().subscribe::<Changes>(&params).map_err(CallError::into_wire)?;
    let mut seq = 0_u64;
    loop {
        match events.next_within(None) {
            Ok(event) => {
                seq += 1;
                let line = json!({
                    "type": "registry.changed",
                    "seq": seq,
                    "instance": event.instance,
                    "generation": event.generation,
                    "project": event.project,
                    "added": event.added,
                    "removed": event.removed,
                    "changed": event.changed,
                    "reset": event.reset,
                });
                if output::line(&line).is_err() {
                    return Ok(Report::streamed());
                }
            }
            Err(CallError::Closed) => return Ok(Report::streamed()),
            Err(error) => return Err(error.into_wire()),
        }
    }
}
