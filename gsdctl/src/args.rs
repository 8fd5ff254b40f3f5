//! The command line, and nothing but.

mod capability;
mod hosts;
mod sources;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gsd_proto::duration;

pub(crate) use capability::{
    CapabilityVerb, ConsentVerb, InstallArgs, LedgerVerb, ListArgs, RemoveArgs, RollbackArgs, SetArgs,
    StateArgs, SwitchArgs, UpdateArgs, WishArgs,
};
pub(crate) use hosts::{
    HookTestArgs, HookVerb, LoopVerb, McpExecArgs, McpVerb, RenderArgs, ReviewerExecArgs, ReviewerVerb,
    RunArgs, RuntimeVerb,
};
pub(crate) use sources::{ConfigVerb, HashArgs, InspectArgs, OutdatedArgs, SourceVerb};

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
    /// Install a capability from a folder, a repository, a package, an archive or a registry [effect: network, write-state, write-host]
    #[command(
        after_help = "Sources: ./folder  ../folder  /folder  https://host/repo.git#TAG  …#branch:NAME  …#sha:COMMIT  ….git//path/in/repo#TAG\n\
        npm:@scope/package@^1  https://host/x.tgz (.tar.gz .tar.zst .tar.xz)  NAME@REGISTRY\n\
        oci://host/name:TAG  oci://host/name@sha256:DIGEST\n\n\
        Exit status: 0 done, 2 invalid, 3 consent needed, 4 blocked by policy, 5 another digest, 6 incompatible, 7 not found, 8 conflict, 9 unreachable, 13 declined"
    )]
    Install(InstallArgs),

    /// Bring a capability to what its source holds now [effect: network, write-state, write-host]
    #[command(
        after_help = "Exit status: 0 done or current, 3 consent needed, 8 the source holds an older version, 12 some of --all failed"
    )]
    Update(UpdateArgs),

    /// Bring back what an update replaced: content, wiring and agreement [effect: write-state, write-host]
    #[command(
        after_help = "The last 5 contents that updates replaced are kept; `gsdctl ledger list` shows them.\n\n\
        Exit status: 0 done, 3 consent needed, 6 incompatible, 7 nothing to go back to"
    )]
    Rollback(RollbackArgs),

    /// Take a capability away, without a trace [effect: write-state, write-host]
    Remove(RemoveArgs),

    /// What is installed, and whether it is active [effect: read]
    List(ListArgs),

    /// What of each capability is installed, on the surface, and active [effect: read]
    State(StateArgs),

    /// Put a capability's skills on the surface of a host again [effect: write-host]
    Enable(SwitchArgs),

    /// Take a capability's skills off the surface of a host; its hooks and loop steps rest too [effect: write-host]
    Disable(SwitchArgs),

    /// Switch a capability, and set its switches in this project's configuration [effect: write-host, write-state]
    #[command(after_help = "Exit status: 0 done, 2 an objection, nothing was written, 7 no such capability")]
    Set(SetArgs),

    /// Upstream's `gsd capability`: the same verbs, flags and JSON documents
    #[command(visible_alias = "cap")]
    Capability {
        /// What to do.
        #[command(subcommand)]
        verb: CapabilityVerb,
    },
    /// Judge a capability in its folder: everything that is wrong with it, at once [effect: read]
    #[command(after_help = "Exit status: 0 valid, 2 not valid, or no such folder")]
    Validate(ValidateArgs),

    /// What you agreed to
    #[command(visible_alias = "trust")]
    Consent {
        /// What to do.
        #[command(subcommand)]
        verb: ConsentVerb,
    },

    /// What is recorded of each installed capability, and whether it is still so
    Ledger {
        /// What to do.
        #[command(subcommand)]
        verb: LedgerVerb,
    },

    /// Settle what was begun and not finished, and take registrations of what is gone out of hosts
    /// [effect: write-state, write-host]
    Reconcile,

    /// The composed registry of this project
    Registry {
        /// What to do.
        #[command(subcommand)]
        verb: RegistryVerb,
    },

    /// What is active at the points of the loop
    Loop {
        /// What to do.
        #[command(subcommand)]
        verb: LoopVerb,
    },

    /// What hosts call on each tool call: `gsdctl hook EVENT --host RUNTIME`
    Hook {
        /// What to do.
        #[command(subcommand)]
        verb: HookVerb,
    },

    /// Run a command that a capability brings [effect: execute]
    Run(RunArgs),

    /// What hosts start for MCP servers of capabilities
    Mcp {
        /// What to do.
        #[command(subcommand)]
        verb: McpVerb,
    },

    /// Lanes that are given plans to read, and where they send them
    Reviewer {
        /// What to do.
        #[command(subcommand)]
        verb: ReviewerVerb,
    },

    /// What sources mean and hold
    Source {
        /// What to do.
        #[command(subcommand)]
        verb: SourceVerb,
    },

    /// What a folder, a source or an installed capability would run, instruct and contain; nothing is kept [effect: network]
    #[command(
        after_help = "Exit status: 0 inspected (also when it is not valid), 2 no bundle, 7 not found, 9 unreachable"
    )]
    Inspect(InspectArgs),

    /// Which installed capabilities have a newer version where they came from [effect: network]
    #[command(after_help = "Exit status: 0, and with --exit-code 11 when something is outdated")]
    Outdated(OutdatedArgs),

    /// The content hash of a folder, whatever is in it [effect: read]
    Hash(HashArgs),

    /// Your own configuration file
    Config {
        /// What to do.
        #[command(subcommand)]
        verb: ConfigVerb,
    },

    /// The host programs that capabilities can be wired into
    Runtime {
        /// What to do.
        #[command(subcommand)]
        verb: RuntimeVerb,
    },

    /// The background process that answers
    Daemon(DaemonArgs),
}

/// `gsdctl validate …`
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// The folder with capability.json, or the file itself
    pub(crate) dir: PathBuf,

    /// Also against what is shipped and installed: names that are taken, what it requires
    #[arg(long)]
    pub(crate) merged: bool,

    /// One SARIF 2.1.0 document on standard output, for editors and code review
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
}

/// Verbs of `gsdctl registry`.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistryVerb {
    /// Print the registry, or one view of it [effect: read]
    Get {
        /// capabilities, by-skill, by-agent, by-loop-point, config, config-keys, families, runtimes, clusters, profiles,
        /// requires-closure or overlay
        #[arg(long)]
        view: Option<String>,
    },
    /// Why something is active or not, whose it is, and what would change that [effect: read]
    Explain {
        /// Id of a capability, skill, agent, config key, command family, hook event, MCP server or loop point; with
        /// capability:, skill:, agent:, key:, family:, hook:, mcp: or point: in front when several have the name
        subject: String,
    },
    /// Draw the capabilities and how they depend on each other [effect: read]
    Graph {
        /// The language of the drawing
        #[arg(long, value_enum, default_value_t)]
        format: GraphFormat,
    },
    /// Print changes as they happen, one JSON document a line [effect: read]
    Watch,
}

/// The language of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz
    #[default]
    Dot,
    /// Mermaid, for Markdown
    Mermaid,
    /// A picture
    Svg,
}

impl GraphFormat {
    /// The word of the protocol.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
            Self::Svg => "svg",
        }
    }
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
