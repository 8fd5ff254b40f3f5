//! `gsdctl loop …`.

use std::fmt::Write as _;

use gsd_proto::api::loop_hooks::{Points, PointsParams, Render, RenderParams};
use serde_json::{Map, json};

use super::Outcome;
use crate::args::{Global, LoopVerb, RenderArgs};
use crate::connect::{self, Options};
use crate::output::{Report, clean, say};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &LoopVerb) -> (&'static str, Outcome) {
    match verb {
        LoopVerb::Render(args) => ("loop-render", render(global, options, args)),
        LoopVerb::Points => ("loop-points", points(options)),
    }
}

/// Standard output is upstream's envelope, with or without `--json`; missing gates are told on standard error too,
/// which is what host workflows see.
fn render(global: &Global, options: &Options, args: &RenderArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let rendered = connection.call::<Render>(&RenderParams {
        ctx: connection.context(),
        point: args.point.clone(),
        active_cap: args.active_cap.clone(),
        runtime: global.runtime.first().cloned(),
        config_dir: args.config_dir.clone(),
    })?;
    for advisory in &rendered.advisories {
        say(&format!("gsd: warning: {}", clean(advisory)));
    }
    let text = match (rendered.active, args.markdown) {
        (Some(active), _) => format!("{active}\n"),
        (None, true) => format!("{}\n", rendered.markdown),
        (None, false) => {
            format!("{}\n", serde_json::to_string_pretty(&rendered.envelope).unwrap_or_default())
        }
    };
    let mut warnings = rendered.warnings;
    warnings.extend(connection.warnings());
    let data = match rendered.active {
        Some(active) => json!({"point": args.point, "capability": args.active_cap, "active": active}),
        None => rendered.envelope,
    };
    Ok(Report { command: "loop-render", data, text, warnings, extra: Map::new(), ..Report::default() })
}

fn points(options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<Points>(&PointsParams { ctx: connection.context() })?;
    let mut text = String::new();
    for point in &listed.points {
        let missing = if point.missing_gates == 0 {
            String::new()
        } else {
            format!(", {} gates MISSING", point.missing_gates)
        };
        let _ = writeln!(
            text,
            "{:<18} {} steps, {} contributions, {} gates{missing}",
            point.point, point.steps, point.contributions, point.gates
        );
    }
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "loop-points", data: json!(listed.points), text, warnings, ..Report::default() })
}
