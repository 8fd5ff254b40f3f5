//! One file per noun, one function per verb, with the same names as the daemon's handlers.

mod daemon;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::connect::{Options, Surroundings};
use crate::{error, output};

/// Runs the command and gives its exit status.
pub(crate) fn run(cli: &Cli) -> ExitCode {
    let global = &cli.global;
    let surroundings = match Surroundings::of_process(global) {
        Ok(surroundings) => surroundings,
        Err(failure) => return error::print(global, "usage", &failure),
    };
    let options = Options::new(global, &surroundings);
    let (name, outcome) = match &cli.command {
        Command::Daemon(args) => daemon::run(global, &options, &args.verb),
    };
    match outcome {
        Ok(report) => output::print(global, report),
        Err(failure) => error::print(global, name, &failure),
    }
}
