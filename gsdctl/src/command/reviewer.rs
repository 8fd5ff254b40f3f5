//! `gsdctl reviewer …`: where plans would go, and lanes that are started from their private copy.

use std::fmt::Write as _;
use std::process::ExitCode;

use gsd_proto::api::command::LaunchPlan;
use gsd_proto::api::reviewer::{LanePlan, List, ListParams, Resolve, ResolveParams};
use gsd_proto::{Code, WireError};
use serde_json::json;

use super::{Outcome, launch};
use crate::args::{Global, ReviewerExecArgs};
use crate::connect::{self, Options};
use crate::output::{Report, clean};
use crate::screen::{Screen, Tone};

/// Where each lane sends plans to.
pub(super) fn list(global: &Global, options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams { ctx: connection.context() })?;
    let screen = Screen::of_stdout(global);
    let mut text = String::new();
    for row in &listed.items {
        let place = match (&row.address, row.local) {
            (Some(address), true) => format!("{}  this machine", clean(address)),
            (Some(address), false) => format!("{}  ANOTHER machine", clean(address)),
            (None, _) => clean(&row.transport),
        };
        let _ = writeln!(text, "{:<20} {:<11} {place}", clean(&row.id), row.scope);
        if let Some(blocked) = &row.blocked {
            let told = format!("BLOCKED: {}", clean(blocked));
            let _ = writeln!(text, "{}", screen.toned(Tone::Alarm, &screen.item(&told)));
        }
    }
    let data = listed.items.iter().map(|row| {
        json!({
            "id": row.id, "slug": row.slug, "scope": row.scope, "transport": row.transport, "address": row.address,
            "local": row.local, "agreed_address": row.agreed_address, "blocked": row.blocked,
        })
    });
    let data = json!(data.collect::<Vec<_>>());
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "reviewer-list", data, text, warnings, ..Report::default() })
}

fn plan(options: &Options, id: &str) -> Result<(LanePlan, Vec<gsd_proto::api::Warning>), WireError> {
    let mut connection = connect::connect(options)?;
    let plan = connection.call::<Resolve>(&ResolveParams { ctx: connection.context(), id: id.to_owned() })?;
    Ok((plan, connection.warnings()))
}

/// What a lane starts or where it sends to.
pub(super) fn resolve(options: &Options, id: &str) -> Outcome {
    let (plan, detours) = plan(options, id)?;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<9} {}", clean(value));
        }
    };
    line("lane", &plan.slug);
    line("starts", &plan.argv.join(" "));
    line("sends to", plan.address.as_deref().unwrap_or_default());
    line("path", &plan.path);
    line("prompt by", &plan.prompt_channel);
    line("receives", &plan.receives.join(", "));
    line("content", &plan.content_hash);
    let data = json!({
        "id": plan.capability, "slug": plan.slug, "transport": plan.transport, "argv": plan.argv, "env": plan.env,
        "prompt_channel": plan.prompt_channel, "address": plan.address, "local": plan.local, "path": plan.path,
        "receives": plan.receives, "content_hash": plan.content_hash,
    });
    let mut warnings = plan.warnings;
    warnings.extend(detours);
    Ok(Report { command: "reviewer-resolve", data, text, warnings, ..Report::default() })
}

/// Becomes the program of a lane; the prompt comes as its channel says.
pub(super) fn exec(options: &Options, args: &ReviewerExecArgs) -> Result<ExitCode, WireError> {
    let launch = plan(options, &args.id).and_then(|(plan, _)| {
        if plan.argv.is_empty() {
            let to = plan.address.as_deref().map(clean).unwrap_or_default();
            return Err(WireError::new(
                Code::UsageInvalid,
                format!("the lane of {} starts no program; it is sent to {to}", clean(&args.id)),
            )
            .with_fix("read where to, verified", &["gsdctl", "reviewer", "resolve", args.id.as_str()]));
        }
        let mut argv = plan.argv;
        argv.extend(args.args.iter().cloned());
        Ok(LaunchPlan {
            capability: plan.capability,
            argv,
            env: plan.env,
            content_hash: plan.content_hash,
            ..LaunchPlan::default()
        })
    });
    launch::start(launch)
}
