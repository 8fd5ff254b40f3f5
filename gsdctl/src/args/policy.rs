//! Commands about what may be installed and run.

use clap::Subcommand;

/// Verbs of `gsdctl policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// What is in effect, and which file and line decides it [effect: read]
    Show,
    /// Whether a source may be installed from, and which rule says no; the network is not asked [effect: read]
    #[command(after_help = "Exit status: 0 allowed, 2 not a source, 4 refused, 7 no such registry")]
    Check {
        /// The source
        spec: String,
    },
}
