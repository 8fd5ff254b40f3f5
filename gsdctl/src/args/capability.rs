//! What is typed about capabilities: installing, updating, switching, agreeing, removing, looking.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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

/// Verbs of `gsdctl consent`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsentVerb {
    /// List the agreements [effect: read]
    List,
    /// Show an agreement: to what, when, how, and everything that it lets run [effect: read]
    Show {
        /// Id of the capability
        id: String,
    },
    /// Show what an install of SOURCE or an update of ID would ask for, and the digest that agrees to exactly that [effect: network]
    Preview {
        /// A source, or the id of an installed capability
        what: String,
        /// Digest that the archive must have: `sha512-…`
        #[arg(long, value_name = "SRI")]
        integrity: Option<String>,
    },
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

fn parse_gate(raw: &str) -> Result<(String, bool), String> {
    let (key, value) = raw.split_once('=').ok_or("expected KEY=true or KEY=false")?;
    let value = value.parse().map_err(|_| "expected KEY=true or KEY=false")?;
    Ok((key.to_owned(), value))
}
