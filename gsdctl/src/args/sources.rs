//! Commands about sources and about the person's configuration.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Verbs of `gsdctl source`.
#[derive(Debug, Subcommand)]
pub(crate) enum SourceVerb {
    /// What a source means [effect: read]
    #[command(after_help = "Exit status: 0 understood, 2 not understood")]
    Parse {
        /// The source
        spec: String,
    },
    /// What would be taken from a source, and why; nothing is kept [effect: network]
    #[command(
        after_help = "Exit status: 0 something would be taken, 2 not understood, 7 nothing would be, 9 unreachable"
    )]
    Resolve {
        /// The source
        spec: String,
    },
}

/// `gsdctl hash …`
#[derive(Debug, Args)]
pub(crate) struct HashArgs {
    /// The folder
    pub(crate) dir: PathBuf,
}

/// Verbs of `gsdctl config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// What a key says [effect: read]
    #[command(after_help = "Exit status: 0 said, 2 no such key, 7 not set")]
    Get {
        /// The key, for example registries.corp
        key: String,
        /// Also where it is said
        #[arg(long)]
        show_origin: bool,
    },
    /// Let a key say something; every other byte of the file stays [effect: write-state]
    Set {
        /// The key, for example registries.corp
        key: String,
        /// What it shall say
        value: String,
    },
    /// Take a key out; every other byte of the file stays [effect: write-state]
    Unset {
        /// The key
        key: String,
    },
    /// Every key that is set [effect: read]
    List {
        /// Also where each is said
        #[arg(long)]
        show_origin: bool,
    },
}

/// `gsdctl inspect …`
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A folder, a source, or the id of an installed capability
    pub(crate) what: String,
}

/// `gsdctl outdated …`
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutdatedArgs {
    /// Exit with 11 when something is outdated
    #[arg(long)]
    pub(crate) exit_code: bool,
}
