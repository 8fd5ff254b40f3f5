//! `gsdd`: flags and environment in, exit status out.

use std::process::ExitCode;

fn main() -> ExitCode {
    gsdd::program()
}
