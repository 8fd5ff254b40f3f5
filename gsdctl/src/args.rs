//! The command line, and nothing but.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gsd_proto::duration;

/// Manages capabilities of AI coding CLIs.
#[derive(Debug, Parser)]
#[command(
    name = "gsdctl",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: Global,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global flags")]
pub(crate) struct Global {
    /// Work as if started in this folder
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// The home that is managed instead of yours (`GSD_HOME`)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,

    /// Where an installation counts
    #[arg(long, global = true, value_enum)]
    pub(crate) scope: Option<Scope>,

    /// Host program, may be repeated
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) runtime: Vec<String>,

    /// One JSON document on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) color: Color,

    /// Say less
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Say more, may be repeated
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Show what would be done, do nothing
    #[arg(short = 'n', long, global = true)]
    pub(crate) dry_run: bool,

    /// Answer yes to every question
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,

    /// Never ask
    #[arg(long, global = true)]
    pub(crate) no_input: bool,

    /// Never use the network
    #[arg(long, global = true)]
    pub(crate) offline: bool,

    /// Give up after this time: 500ms, 5s, 2m (`GSD_TIMEOUT`)
    #[arg(long, global = true, value_name = "DURATION", env = "GSD_TIMEOUT", hide_env = true, value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,

    /// Do the work in a process of its own instead of the daemon (`GSD_NO_DAEMON`)
    #[arg(long, global = true)]
    pub(crate) no_daemon: bool,

    /// The daemon's socket (`GSD_SOCKET`)
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// Where an installation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// For all projects of the user
    Global,
    /// For this project
    Project,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The background process that answers
    Daemon(DaemonArgs),
}

/// `gsdctl daemon …`
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    /// Which one.
    #[command(subcommand)]
    pub(crate) verb: DaemonVerb,
}

/// Verbs of `gsdctl daemon`.
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonVerb {
    /// Start it, if it is not running [effect: write-state]
    Start,
    /// End it, after it has finished what it is doing [effect: write-state]
    Stop,
    /// End it and start it again [effect: write-state]
    Restart,
    /// How it is doing [effect: read]
    Status,
    /// What it logged [effect: read]
    Logs {
        /// Go on as more is logged
        #[arg(short, long)]
        follow: bool,
        /// Number of lines from the end
        #[arg(long, value_name = "COUNT", default_value_t = 100)]
        lines: u32,
    },
    /// Run it in the foreground [effect: write-state]
    Run,
    /// Call one method and print its result, for bug reports [effect: that of the method]
    #[command(hide = true)]
    Call {
        /// Name of the method
        method: String,
        /// Its parameters, a JSON object; `ctx` is added
        #[arg(default_value = "{}")]
        params: String,
    },
}

fn parse_duration(raw: &str) -> Result<Duration, String> {
    duration::parse(raw).ok_or_else(|| "expected a duration such as 500ms, 5s or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn repeated_single_valued_flags_are_refused() {
        assert!(Cli::try_parse_from(["gsdctl", "daemon", "status", "--home", "a", "--home", "b"]).is_err());
        assert!(Cli::try_parse_from(["gsdctl", "daemon", "status", "--json", "--json"]).is_err());
        assert!(Cli::try_parse_from(["gsdctl", "daemon", "status", "extra"]).is_err());
        assert!(
            Cli::try_parse_from(["gsdctl", "daemon", "status", "--runtime", "a", "--runtime", "b"]).is_ok()
        );
    }
}
