//! `gsdctl hook exec ID SCRIPT`: one hook, as it is registered in a shared file. The daemon verifies the bytes; this
//! process becomes the script, so that the host talks to it directly: its input, its output, its time limit.

use std::process::{Command, ExitCode};

use gsd_proto::api::hook::{Resolve, ResolveParams};
use gsd_proto::client::CallError;

use super::arguments::Script;
use super::{blocked, client, reason, unexamined};
use crate::args::Global;
use crate::connect::{Surroundings, quick};
use crate::output::{clean, say};
use crate::process;
use crate::user_config::{self, WhenUnavailable};

/// Status that a host reports to the person without blocking the call.
const NOT_RUN: u8 = 1;

/// Serves `gsdctl hook exec ID SCRIPT`.
pub(super) fn run(wanted: &Script) -> ExitCode {
    let surroundings = match Surroundings::of_process(&Global::default()) {
        Ok(surroundings) => surroundings,
        Err(error) => return unexamined(&error.message),
    };
    let options = quick::options(&surroundings);
    let resolved = client(&options, &surroundings).and_then(|mut client| {
        let params = ResolveParams {
            ctx: options.context.clone(),
            id: wanted.id.clone(),
            script: wanted.script.clone(),
        };
        match client.call::<Resolve>(&params) {
            Ok(plan) => Ok(Ok(plan)),
            Err(error @ CallError::Remote { .. }) => Ok(Err(reason(&error))),
            Err(error) => Err(reason(&error)),
        }
    });
    match resolved {
        Ok(Ok(plan)) => match plan.argv.split_first() {
            None => ExitCode::SUCCESS,
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).envs(&plan.env);
                process::become_it(command)
                    .unwrap_or_else(|error| not_run(wanted, &format!("{program}: {error}")))
            }
        },
        Ok(Err(why)) => not_run(wanted, &why),
        Err(why) if user_config::when_unavailable(&surroundings) == WhenUnavailable::Pass => unexamined(&why),
        Err(why) => blocked(&why),
    }
}

fn not_run(wanted: &Script, why: &str) -> ExitCode {
    say(&format!(
        "gsdctl hook: {} of {} did NOT run: {}",
        clean(&wanted.script),
        clean(&wanted.id),
        clean(why)
    ));
    ExitCode::from(NOT_RUN)
}
