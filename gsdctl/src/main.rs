//! `gsdctl`: arguments in, one or a few calls to the daemon, text or JSON out. It decides nothing.
//!
//! `gsdctl hook` is called on every tool call of a host program and is therefore told apart before anything else is
//! done; see [`hook`].

mod args;
mod command;
mod connect;
mod error;
mod hook;
mod output;
mod process;
mod progress;
mod screen;
mod user_config;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    if hook::is_hot(std::env::args_os().skip(1)) {
        return hook::run();
    }
    match args::Cli::try_parse() {
        Ok(cli) => command::run(&cli),
        Err(error) => error::usage(&error),
    }
}
