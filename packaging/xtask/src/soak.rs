//! `cargo xtask soak`: the interruptions of `tests/crash/random.rs`, many more of them than an ordinary run has time for.

use std::process::Command;

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs::repository;

/// Options of the task.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Interruptions, each at another operation, place and moment
    #[arg(long, default_value_t = 5000)]
    seeds: u64,
}

/// Runs them and shows the table: how many left the state before the operation, and how many the state after it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(repository()).env("GSD_TEST_SEEDS", arguments.seeds.to_string());
    command.args(["test", "--quiet", "--package", "gsd-tests", "--test", "crash"]);
    command.args(["random::", "--", "--nocapture"]);
    let status = command.status().doing("starting cargo")?;
    if status.success() { Ok(()) } else { Err(Failure::new("an interruption left a mix of two states")) }
}
