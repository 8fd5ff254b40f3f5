//! The command line, and nothing but.

mod sources;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gsd_proto::duration;

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

/// `gsdctl install …`
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Where it comes from
    pub(crate) spec: String,

    /// Take the archive only if it has this digest (`sha512-…`); it stays with the capability for its updates
    #[arg(long, value_name = "SRI")]
    pub(crate) integrity: Option<String>,

    /// Follow the folder: its later changes are taken over by themselves, without another question
    #[arg(long)]
    pub(crate) link: bool,

    /// How to agree and where to register.
    #[command(flatten)]
    pub(crate) wish: WishArgs,
}

/// What `install` and `update` have in common.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WishArgs {
    /// Agree to exactly the content with this digest, which an earlier run printed
    #[arg(long, value_name = "DIGEST")]
    pub(crate) consent: Option<String>,

    /// Register hooks and servers in this file, one entry each, instead of in a host; below the home or the project,
    /// may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) shared_file: Vec<String>,
}

/// `gsdctl update …`
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Id of the capability
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) id: Option<String>,

    /// Every installed capability of the scope, or of both
    #[arg(long)]
    pub(crate) all: bool,

    /// For timers: only where `capabilities.auto_update` is on, and nothing that you would be asked about
    #[arg(long, conflicts_with_all = ["allow_downgrade", "consent", "shared_file"])]
    pub(crate) auto: bool,

    /// Also go back to an older version
    #[arg(long)]
    pub(crate) allow_downgrade: bool,

    /// How to agree and where to register.
    #[command(flatten)]
    pub(crate) wish: WishArgs,
}

/// `gsdctl rollback …`
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// Id of the capability
    pub(crate) id: String,

    /// The version to go to, instead of the one before the present one
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<String>,

    /// How to agree and where to register.
    #[command(flatten)]
    pub(crate) wish: WishArgs,
}

/// `gsdctl state …`
#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// Only this capability
    pub(crate) id: Option<String>,

    /// Configuration folder of the host
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

/// `gsdctl enable …`, `gsdctl disable …`
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// Id of the capability
    pub(crate) id: String,

    /// Configuration folder of the host
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,

    /// Accepted for scripts written for upstream; the document is the same
    #[arg(long, hide = true)]
    pub(crate) raw: bool,
}

/// `gsdctl set …`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["on", "off", "gate"]))]
pub(crate) struct SetArgs {
    /// Which capability, on which host.
    #[command(flatten)]
    pub(crate) switch: SwitchArgs,

    /// Put its skills on the surface
    #[arg(long, visible_alias = "enable", conflicts_with = "off")]
    pub(crate) on: bool,

    /// Take its skills off the surface
    #[arg(long, visible_alias = "disable")]
    pub(crate) off: bool,

    /// Set a boolean key of its configuration, may be repeated
    #[arg(long, value_name = "KEY=BOOL", value_parser = parse_gate)]
    pub(crate) gate: Vec<(String, bool)>,
}

/// Verbs of `gsdctl capability`.
#[derive(Debug, Subcommand)]
pub(crate) enum CapabilityVerb {
    /// Install a capability
    Install(InstallArgs),
    /// Bring a capability to what its source holds now
    Update(UpdateArgs),
    /// Take a capability away
    Remove(RemoveArgs),
    /// Every capability, one row each
    List,
    /// Which of them have a newer version where they came from
    Outdated,
    /// What is installed, on the surface, and active
    State(StateArgs),
    /// Put its skills on the surface again
    Enable(SwitchArgs),
    /// Take its skills off the surface
    Disable(SwitchArgs),
    /// Switch it, and set its switches
    Set(SetArgs),
    /// What was agreed to
    Trust {
        /// What to do.
        #[command(subcommand)]
        verb: ConsentVerb,
    },
}

/// `gsdctl remove …`
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Id of the capability
    pub(crate) id: String,

    /// Also delete the data that it kept
    #[arg(long)]
    pub(crate) purge_data: bool,

    /// Also remove the capabilities that require it
    #[arg(long)]
    pub(crate) cascade: bool,
}

/// `gsdctl list …`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// First-party capabilities too
    #[arg(long)]
    pub(crate) all: bool,
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

/// Verbs of `gsdctl consent`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsentVerb {
    /// List the agreements [effect: read]
    List,
    /// Agree to what is installed, as it is now: for what a colleague installed, or what changed since [effect: write-state, write-host]
    Grant {
        /// Id of the capability
        id: String,
        /// How to agree and where to register.
        #[command(flatten)]
        wish: WishArgs,
    },
    /// Take an agreement back; the capability stays and nothing of it runs [effect: write-state]
    Revoke {
        /// Id of the capability
        id: String,
        /// Project, when it is not this one
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}

/// Verbs of `gsdctl ledger`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerVerb {
    /// List the entries, with what was agreed to, where each is wired, and what a rollback can go to [effect: read]
    List,
    /// Compare every recorded file with its digest and every registration with the plan [effect: read]
    #[command(after_help = "Exit status: 0 everything is as recorded, 11 something differs")]
    Verify,
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

/// Verbs of `gsdctl loop`.
#[derive(Debug, Subcommand)]
pub(crate) enum LoopVerb {
    /// Print what is active at a point [effect: read]
    #[command(visible_alias = "render-hooks")]
    Render(RenderArgs),
    /// List the points [effect: read]
    Points,
}

/// `gsdctl loop render …`
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The point, for example plan:pre
    pub(crate) point: String,

    /// Only answer whether a hook of this capability is active here
    #[arg(long, value_name = "ID")]
    pub(crate) active_cap: Option<String>,

    /// Print the text for the agent instead of the envelope
    #[arg(long, conflicts_with = "active_cap")]
    pub(crate) markdown: bool,

    /// Configuration folder of the host
    #[arg(long, value_name = "DIR")]
    pub(crate) config_dir: Option<PathBuf>,
}

/// Verbs of `gsdctl hook` for people.
#[derive(Debug, Subcommand)]
pub(crate) enum HookVerb {
    /// List the hooks and how they have been doing [effect: read]
    List,
    /// Show what a host would be told for a recorded payload [effect: execute]
    Test(HookTestArgs),
}

/// `gsdctl hook test …`
#[derive(Debug, Args)]
pub(crate) struct HookTestArgs {
    /// The host's name for the event
    pub(crate) event: String,

    /// The host
    #[arg(long)]
    pub(crate) host: String,

    /// File with the payload
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
}

/// `gsdctl run …`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The command
    pub(crate) family: String,

    /// Everything behind it is the command's own
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Verbs of `gsdctl mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Verify a server of a bundle and become it [effect: execute]
    Exec(McpExecArgs),
}

/// `gsdctl mcp exec …`
#[derive(Debug, Args)]
pub(crate) struct McpExecArgs {
    /// Id of the capability
    pub(crate) id: String,

    /// Name of the server
    pub(crate) server: String,
}

/// Verbs of `gsdctl runtime`.
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeVerb {
    /// List the hosts, and which of them you use [effect: read]
    List,
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

fn parse_gate(raw: &str) -> Result<(String, bool), String> {
    let (key, value) = raw.split_once('=').ok_or("expected KEY=true or KEY=false")?;
    let value = value.parse().map_err(|_| "expected KEY=true or KEY=false")?;
    Ok((key.to_owned(), value))
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
