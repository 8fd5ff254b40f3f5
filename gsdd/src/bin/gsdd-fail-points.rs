//! `gsdd` for the tests of interruptions: the same program, and it breaks where it is told to.

use std::process::ExitCode;

fn main() -> ExitCode {
    gsdd::program()
}
