//! What is typed about the loop, hooks, commands, servers and hosts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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

/// Verbs of `gsdctl reviewer`.
#[derive(Debug, Subcommand)]
pub(crate) enum ReviewerVerb {
    /// List the reviewer lanes, and where each sends plans to [effect: read]
    List,
    /// Show exactly what a lane starts or where it sends to, compared with what was agreed to [effect: read]
    #[command(
        after_help = "Exit status: 0 as agreed, 3 not agreed to, or to another address, 7 there is no such lane"
    )]
    Resolve {
        /// Id of the capability
        id: String,
    },
    /// Verify a lane and become its program [effect: execute]
    Exec(ReviewerExecArgs),
}

/// `gsdctl reviewer exec …`
#[derive(Debug, Args)]
pub(crate) struct ReviewerExecArgs {
    /// Id of the capability
    pub(crate) id: String,

    /// Further arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Verbs of `gsdctl runtime`.
#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeVerb {
    /// List the hosts, and which of them you use [effect: read]
    List,
}
