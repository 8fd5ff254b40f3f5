//! Developer tasks: `cargo xtask try | install | uninstall | bench | soak | index | registries | hosts`.
//!
//! Nothing here is part of the product. Each task works in folders of its own and leaves the person's home alone,
//! except `install` and `uninstall`, which say what they write.

#![expect(clippy::print_stdout, reason = "the tasks talk to the person who started them")]
#![expect(clippy::disallowed_methods, reason = "the tasks read and write what they themselves have made")]

mod bench;
mod failure;
mod hosts;
mod index;
mod install;
mod programs;
mod registries;
mod soak;
mod throwaway;
mod transcript;
mod tree;
mod try_it;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer tasks of gsdd and gsdctl.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    /// What to do.
    #[command(subcommand)]
    task: Task,
}

/// The tasks.
#[derive(Debug, Subcommand)]
enum Task {
    /// Walk through the main job in a throw-away home, and check every step
    Try(try_it::Arguments),
    /// Build both programs for use and copy them to ~/.local/bin
    Install(install::Arguments),
    /// Take the two programs away again
    Uninstall(install::Arguments),
    /// Measure what a hook call and the daemon cost
    Bench(bench::Arguments),
    /// Interrupt the daemon at thousands of random moments
    Soak(soak::Arguments),
    /// Build the index of a named registry out of a folder of bundles, or add to one
    Index(index::Arguments),
    /// Install from real registries and web servers on loopback
    Registries(registries::Arguments),
    /// Drive a real host program with a scripted model and look at what our installation does to it
    Hosts(hosts::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Try(arguments) => try_it::run(&arguments),
        Task::Install(arguments) => install::install(&arguments),
        Task::Uninstall(arguments) => install::uninstall(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Soak(arguments) => soak::run(&arguments),
        Task::Index(arguments) => index::run(&arguments),
        Task::Registries(arguments) => registries::run(&arguments),
        Task::Hosts(arguments) => hosts::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("FAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}
