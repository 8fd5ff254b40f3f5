//! Becoming another program: its terminal, signals and exit status are the person's own.

use std::process::{Command, ExitCode};

/// Replaces this process; on systems that can't, runs the program and hands its status on.
///
/// # Errors
/// The program could not be started.
#[cfg(unix)]
pub(crate) fn become_it(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

/// Replaces this process; on systems that can't, runs the program and hands its status on.
///
/// # Errors
/// The program could not be started.
#[cfg(not(unix))]
pub(crate) fn become_it(mut command: Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
}
