//! `gsdctl run` and `gsdctl mcp exec`: the daemon says exactly what would be started, verified a moment ago; this
//! process becomes it.

use std::process::{Command, ExitCode};

use gsd_proto::api::command::{LaunchPlan, McpResolve, McpResolveParams, Resolve, ResolveParams};
use gsd_proto::{Code, WireError};

use crate::args::{McpExecArgs, RunArgs};
use crate::connect::{self, Options};
use crate::process;

/// Exit statuses of our own begin here: those of the started program are passed through.
const OURS: u8 = 200;

/// Runs a contributed command.
pub(super) fn run(options: &Options, args: &RunArgs) -> Result<ExitCode, WireError> {
    let plan = connect::connect(options).and_then(|mut connection| {
        connection.call::<Resolve>(&ResolveParams {
            ctx: connection.context(),
            family: args.family.clone(),
            args: args.args.clone(),
        })
    });
    start(plan)
}

/// Starts an MCP server that lives in a bundle.
pub(super) fn mcp_exec(options: &Options, args: &McpExecArgs) -> Result<ExitCode, WireError> {
    let plan = connect::connect(options).and_then(|mut connection| {
        connection.call::<McpResolve>(&McpResolveParams {
            ctx: connection.context(),
            id: args.id.clone(),
            server: args.server.clone(),
        })
    });
    start(plan)
}

pub(super) fn start(plan: Result<LaunchPlan, WireError>) -> Result<ExitCode, WireError> {
    let plan = plan.map_err(|mut error| {
        error.exit = error.exit.saturating_add(OURS);
        error
    })?;
    let Some((program, arguments)) = plan.argv.split_first() else {
        return Err(not_started(&plan, "there is nothing to run"));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(&plan.env);
    if let Some(cwd) = &plan.cwd {
        command.current_dir(cwd);
    }
    process::become_it(command).map_err(|error| not_started(&plan, &error.to_string()))
}

fn not_started(plan: &LaunchPlan, why: &str) -> WireError {
    let program = plan.argv.first().map(String::as_str).unwrap_or_default();
    let mut error =
        WireError::new(Code::IoFailed, format!("{program} of {} could not be started", plan.capability))
            .caused_by(why)
            .with_fix(format!("check that {program} is installed and on the path"), &[]);
    error.exit = OURS + 1;
    error
}
