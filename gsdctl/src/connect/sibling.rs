//! The daemon's program: beside ours, else on the path; and what it gets to know of our environment.

use std::path::PathBuf;
use std::process::Command;

use gsd_proto::context::is_allowed;
use gsd_proto::{Code, WireError};

use super::Options;

/// Name of the program.
const PROGRAM: &str = if cfg!(windows) { "gsdd.exe" } else { "gsdd" };

/// Variables that a process of ours needs, besides those that requests may carry.
const ALSO: &[&str] = &[
    "TMPDIR",
    "TMP",
    "TEMP",
    "USER",
    "LOGNAME",
    "SHELL",
    "SYSTEMROOT",
    "SystemRoot",
    "WINDIR",
    "windir",
    "COMSPEC",
    "ComSpec",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
];

/// Finds the program: links to `gsdctl` are followed, so that the pair that was installed together stays together.
pub(super) fn program() -> Result<PathBuf, WireError> {
    let ours = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let beside = ours.and_then(|path| Some(path.parent()?.join(PROGRAM))).filter(|path| path.is_file());
    // Relative entries of the path would make the working directory decide which program runs.
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(PROGRAM))
            .find(|path| path.is_file())
    };
    beside.or_else(on_path).ok_or_else(|| {
        WireError::new(
            Code::DaemonStartFailed,
            format!("`{PROGRAM}` is neither beside gsdctl nor on the path"),
        )
    })
}

/// A command that starts the program. It gets a chosen part of our environment: what is a secret of this terminal, or
/// changes how programs are loaded, is not handed to a process that serves all of them.
pub(super) fn command(options: &Options) -> Result<Command, WireError> {
    let mut command = Command::new(program()?);
    command.env_clear();
    for (name, value) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| is_allowed(name) || ALSO.contains(&name) || name.starts_with("GSD_"))
        {
            command.env(name, value);
        }
    }
    if let Some(home) = &options.places.gsd_home {
        command.env("GSD_HOME", home);
    }
    if let Some(socket) = &options.places.socket {
        command.env("GSD_SOCKET", socket);
    }
    Ok(command)
}
