//! `cargo xtask hosts`: real host programs, driven by a scripted model, show whether what we install has the effect we
//! say it has.
//!
//! Opt-in: it installs a program of somebody else from a package registry into `target/hosts`. The program then runs in
//! a home of its own and, where the machine permits it, in a network namespace that has nothing but loopback.

mod claude;
mod model;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs;

/// Options of `cargo xtask hosts`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which host.
    #[command(subcommand)]
    host: Host,
}

/// The hosts that can be driven.
#[derive(Debug, clap::Subcommand)]
enum Host {
    /// Claude Code, headless
    Claude(Options),
}

/// Options of one host.
#[derive(Debug, clap::Args)]
struct Options {
    /// Version of the host's package
    #[arg(long, default_value = claude::RECORDED_VERSION)]
    host_version: String,

    /// Use the programs in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,

    /// Stay in this network (set when the task starts itself again in another one)
    #[arg(long, hide = true)]
    inside: bool,
}

/// Drives a host.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Host::Claude(options) = &arguments.host;
    if !cfg!(target_os = "linux") {
        return Err(Failure::new("this task runs on Linux only"));
    }
    let program =
        claude::installed(&programs::repository().join("target/hosts/claude"), &options.host_version)?;
    let folder = match &options.programs {
        Some(folder) => folder.canonicalize().doing(format!("looking for {}", folder.display()))?,
        None => programs::for_trying()?,
    };
    if options.inside {
        return claude::drive(&program, &folder);
    }
    if !can_be_secluded() {
        println!("note: no network namespace can be made here; the host runs in yours, without an account");
        return claude::drive(&program, &folder);
    }
    secluded(&folder, &options.host_version)
}

/// Whether a network of its own, with a working loopback, can be had.
fn can_be_secluded() -> bool {
    let mut attempt = Command::new("unshare");
    attempt.args(["-rn", "ip", "link", "set", "lo", "up"]);
    attempt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    attempt.status().is_ok_and(|status| status.success())
}

/// Starts this task again in a network that reaches nothing but itself.
fn secluded(folder: &Path, version: &str) -> Outcome {
    let task = std::env::current_exe().doing("looking for this program")?;
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command.arg(task).args(["hosts", "claude", "--inside", "--host-version", version]);
    command.arg("--programs").arg(folder);
    let status = command.status().doing("starting unshare")?;
    if status.success() { Ok(()) } else { Err(Failure::new("see above")) }
}
