//! `gsdd`: flags and environment in, [`gsdd::run`], exit status out.

use std::process::ExitCode;

use clap::Parser as _;
use gsdd::environment::Environment;
use gsdd::settings::{Flags, Settings};

fn main() -> ExitCode {
    let flags = Flags::parse();
    let environment = Environment::of_process();
    match Settings::resolve(&flags, &environment) {
        Ok(settings) => gsdd::run(settings),
        Err(failure) => gsdd::boot::report_failure(&flags, failure),
    }
}
