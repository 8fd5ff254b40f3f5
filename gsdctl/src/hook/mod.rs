//! The path that host programs take on every tool call: one connection, one request when nothing applies, no async
//! runtime, no argument parser.
//!
//! A failure of ours never looks like an objection: the call passes, one line says why, and the daemon is started for
//! the next time (D-11). Who would rather have every call examined sets `hooks.when_unavailable` in the configuration
//! file: then a private process does the work, and only if that fails too the call is blocked.

mod arguments;
#[cfg_attr(unix, path = "attend_by_poll.rs")]
#[cfg_attr(not(unix), path = "attend_by_threads.rs")]
mod attend;
mod exec;
mod payload;
mod script;

use std::io::Write as _;
use std::process::ExitCode;

use gsd_proto::WireError;
use gsd_proto::api::hook::{Evaluate, EvaluateParams, HostReply, Report, ReportParams};
use gsd_proto::client::{CallError, Client};

use crate::args::Global;
use crate::connect::{self, Options, Surroundings, quick};
use crate::output::{clean, say};
use crate::user_config::{self, WhenUnavailable};

pub(crate) use arguments::is_hot;

use arguments::Asked;

/// Exit status that blocks a call in every host that reads exit statuses.
const BLOCK: u8 = 2;

/// Serves `gsdctl hook EVENT --host RUNTIME`.
pub(crate) fn run() -> ExitCode {
    let wanted = match arguments::parse(std::env::args_os().skip(2)) {
        Ok(Asked::Event(wanted)) => wanted,
        Ok(Asked::Script(script)) => return exec::run(&script),
        Err(problem) => {
            // 2 would block the call; a registration that was mangled must not lock the person out.
            say(&format!(
                "gsdctl hook: {problem}; usage: gsdctl hook EVENT --host RUNTIME, or gsdctl hook exec ID SCRIPT"
            ));
            return ExitCode::from(1);
        }
    };
    let input = payload::read();
    let surroundings = match Surroundings::of_process(&Global::default()) {
        Ok(surroundings) => surroundings,
        Err(error) => return unexamined(&error.message),
    };
    let options = quick::options(&surroundings);
    let reply = match client(&options, &surroundings) {
        Ok(mut client) => answer(&mut client, &options, &wanted, &input).map_err(|error| reason(&error)),
        Err(why) => Err(why),
    };
    match reply {
        Ok(reply) => give(&reply),
        Err(why) if user_config::when_unavailable(&surroundings) == WhenUnavailable::Pass => unexamined(&why),
        Err(why) => blocked(&why),
    }
}

fn blocked(why: &str) -> ExitCode {
    say(&format!("gsdctl hook: this call was not examined and is blocked: {}", clean(why)));
    ExitCode::from(BLOCK)
}

/// A daemon within 50 ms; or, for who wants every call examined, a private process.
fn client(options: &Options, surroundings: &Surroundings) -> Result<Client, String> {
    let why = match (!options.no_daemon).then(|| quick::connect(options)) {
        Some(Ok(Some(client))) => return Ok(client),
        Some(Ok(None)) => match quick::start_in_background(options) {
            Ok(()) => "the daemon was not running (it is being started)".to_owned(),
            Err(error) => format!("the daemon is not running and can't be started: {error}"),
        },
        Some(Err(error)) => error.to_string(),
        None => String::new(),
    };
    if options.no_daemon || user_config::when_unavailable(surroundings) != WhenUnavailable::Pass {
        return connect::private_process(options).map_err(|error| error.message);
    }
    Err(why)
}

fn answer(
    client: &mut Client,
    options: &Options,
    wanted: &arguments::Wanted,
    input: &[u8],
) -> Result<HostReply, CallError> {
    let evaluated = client.call::<Evaluate>(&EvaluateParams {
        ctx: options.context.clone(),
        host: wanted.host.clone(),
        event: wanted.event.clone(),
        payload: payload::short_members(input),
    })?;
    if let Some(reply) = evaluated.reply {
        return Ok(reply);
    }
    let runs = script::run_all(&evaluated.scripts, input);
    let report = ReportParams {
        ctx: options.context.clone(),
        host: wanted.host.clone(),
        event: wanted.event.clone(),
        runs,
        notices: evaluated.notices,
    };
    client.call::<Report>(&report).map(|report| report.reply)
}

fn give(reply: &HostReply) -> ExitCode {
    if !reply.stderr.is_empty() {
        drop(std::io::stderr().write_all(reply.stderr.as_bytes()));
    }
    if !reply.stdout.is_empty() {
        // A host that stopped listening is not an objection either.
        drop(crate::output::write_all(reply.stdout.as_bytes()));
    }
    ExitCode::from(u8::try_from(reply.exit).unwrap_or(1))
}

fn unexamined(why: &str) -> ExitCode {
    say(&format!("gsdctl hook: this call was not examined: {}", clean(why)));
    ExitCode::SUCCESS
}

fn reason(error: &CallError) -> String {
    match error {
        CallError::Remote { error, .. } => WireError::to_string(error),
        other => other.to_string(),
    }
}
