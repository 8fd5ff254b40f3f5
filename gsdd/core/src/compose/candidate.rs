//! What the shell found out about one folder of a capability root.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::scope::Scope;
use crate::manifest::Assessed;

/// What the ledger of the root says about a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LedgerState {
    /// An install or upgrade is under way.
    Pending,
    /// A valid entry without a pending mark.
    Committed,
    /// Nothing usable.
    Absent,
}

/// What was agreed to against a bundle as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConsentVerdict {
    /// The scope does not need a record, and nothing contradicts that.
    NotNeeded,
    /// A record matches the content.
    Granted,
    /// There is no record.
    Missing,
    /// There is a record for other content.
    Changed,
    /// A record was withdrawn.
    Revoked,
}

/// The manifest file.
#[derive(Clone, Debug)]
pub enum ManifestRead {
    /// There is no such file.
    Missing,
    /// It cannot be read, in fixed words.
    Unreadable(String),
    /// It was read and assessed.
    Read(Arc<Assessed>),
}

/// A fragment file.
#[derive(Clone, Debug)]
pub enum FragmentRead {
    /// Its text.
    Text(Arc<str>),
    /// It is not acceptable (missing, not regular, too large, outside the bundle), in fixed words.
    Refused(String),
    /// Reading it failed unexpectedly, in fixed words.
    Fault(String),
}

/// One folder of a capability root.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of the folder, verbatim.
    pub dir_name: String,
    /// Scope of the root, after demotion.
    pub scope: Scope,
    /// Whether the root is the person's own, treated as a project's because the two cannot be told apart.
    pub demoted: bool,
    /// Absolute path of the folder.
    pub bundle_dir: String,
    /// What the ledger says.
    pub ledger: LedgerState,
    /// What the consent store says.
    pub consent: ConsentVerdict,
    /// The manifest.
    pub manifest: ManifestRead,
    /// The fragment files that [`Assessed::fragment_paths`] names.
    pub fragments: Arc<BTreeMap<String, FragmentRead>>,
    /// The config home that a runtime's destinations must stay in, when it is known.
    pub config_home: Option<String>,
}

impl Candidate {
    /// Whether consent is needed and not given. Then nothing that the bundle says may be repeated.
    #[must_use]
    pub fn is_unconsented(&self) -> bool {
        match self.scope {
            Scope::FirstParty => false,
            // A committed ledger is the agreement of the person's own root; it ends when the content is another one,
            // or when it was taken back.
            Scope::Global => {
                matches!(self.consent, ConsentVerdict::Changed | ConsentVerdict::Revoked)
            }
            Scope::Project => self.consent != ConsentVerdict::Granted,
        }
    }

    /// Whether the folder is a leftover of an install (staging area, backup of an upgrade), not a capability.
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        self.dir_name.starts_with('.') || self.dir_name.contains(".upgrading-")
    }

    pub(crate) fn assessed(&self) -> Option<&Assessed> {
        match &self.manifest {
            ManifestRead::Missing | ManifestRead::Unreadable(_) => None,
            ManifestRead::Read(assessed) => Some(assessed),
        }
    }
}
