//! `gsdctl set`, `enable`, `disable`.

use std::fmt::Write as _;

use gsd_proto::api::capability::{Set, SetParams};
use serde_json::json;

use super::Outcome;
use super::disclosure::changes;
use crate::args::{Global, SetArgs, SwitchArgs};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Switches on or off, and sets switches.
pub(super) fn set(global: &Global, options: &Options, args: &SetArgs) -> Outcome {
    let on = match (args.on, args.off) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        (false, false) => None,
    };
    switch("set", global, options, &args.switch, on, &args.gate)
}

/// Switches on.
pub(super) fn enable(global: &Global, options: &Options, args: &SwitchArgs) -> Outcome {
    switch("enable", global, options, args, Some(true), &[])
}

/// Switches off.
pub(super) fn disable(global: &Global, options: &Options, args: &SwitchArgs) -> Outcome {
    switch("disable", global, options, args, Some(false), &[])
}

fn switch(
    command: &'static str,
    global: &Global,
    options: &Options,
    args: &SwitchArgs,
    on: Option<bool>,
    gates: &[(String, bool)],
) -> Outcome {
    let mut connection = connect::connect(options)?;
    let done = connection.call::<Set>(&SetParams {
        ctx: connection.context(),
        id: args.id.clone(),
        on,
        gates: gates.iter().cloned().collect(),
        runtime: global.runtime.first().cloned(),
        config_dir: args.config_dir.clone(),
        dry_run: global.dry_run,
    })?;
    let mut text = String::new();
    if global.dry_run {
        let _ = writeln!(text, "would switch {}:", clean(&args.id));
        changes(&mut text, &done.changes);
    } else {
        let word =
            |name: &str, yes: &'static str, no: &'static str| if done.after[name] == true { yes } else { no };
        let _ = writeln!(
            text,
            "{}{}: {}, {}",
            clean(&args.id),
            if done.changed { "" } else { " was so already" },
            word("surfaced", "on the surface", "not on the surface"),
            word("active", "active", "not active"),
        );
    }
    for error in &done.errors {
        let _ = writeln!(text, "{}", clean(error));
    }
    let mut warnings = done.warnings;
    warnings.extend(connection.warnings());
    Ok(Report {
        command,
        changed: done.changed,
        data: json!({
            "id": args.id,
            "enabled": done.after["enabled"],
            "surfaced": done.after["surfaced"],
            "installed": done.after["installed"],
            "active": done.after["active"],
            "before": done.before,
            "after": done.after,
            "capabilities": done.capabilities,
            "errors": done.errors,
            "changes": done.changes,
        }),
        text,
        warnings,
        exit: u8::from(!done.errors.is_empty()),
        ..Report::default()
    })
}
