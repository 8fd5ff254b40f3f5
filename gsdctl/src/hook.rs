//! The path that host programs take on every tool call.

use std::io::Write as _;
use std::process::ExitCode;

/// Serves `gsdctl hook …`.
pub(crate) fn run() -> ExitCode {
    drop(writeln!(std::io::stderr(), "gsdctl: `hook` is not part of this build"));
    ExitCode::FAILURE
}
