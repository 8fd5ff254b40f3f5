//! One effect on the disk, with what is needed to do it again and to undo it.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diff;

/// What our own records are for, in words.
pub const OUR_RECORDS: &str = "our records";

/// Contents of a file; base64 in the journal.
#[derive(Clone, PartialEq, Eq)]
pub struct FileBytes(pub Vec<u8>);

impl std::fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for FileBytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for FileBytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// One effect. Doing a step twice, or undoing it twice, changes nothing the second time: that is what lets a
/// start after a crash finish or take back what was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Create a folder that was not there.
    MakeFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Write a bundle folder from the store of agreed contents.
    PlaceTree {
        /// The new folder.
        path: PathBuf,
        /// Content hash that names the stored bundle.
        object: String,
    },
    /// Rename a folder.
    Move {
        /// Where it is.
        from: PathBuf,
        /// Where it goes.
        to: PathBuf,
    },
    /// Delete a folder that nothing needs any more. Only behind the commit point: it can't be undone.
    DropTree {
        /// The folder.
        path: PathBuf,
    },
    /// Delete an empty folder that we created.
    DropFolder {
        /// The folder; stays when something is in it.
        path: PathBuf,
    },
    /// Create or replace a file.
    WriteFile {
        /// The file.
        path: PathBuf,
        /// What it must hold before; `None` = it must not exist.
        before: Option<FileBytes>,
        /// What it holds afterwards.
        after: FileBytes,
        /// Permission bits; `None` = those of the replaced file, else as the umask says.
        mode: Option<u32>,
        /// What it is for, in words.
        why: String,
    },
    /// Create, replace or remove a symlink of ours.
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads before; `None` = there is none.
        before: Option<PathBuf>,
        /// Where it leads afterwards; `None` = it is removed.
        after: Option<PathBuf>,
    },
    /// Delete a file.
    RemoveFile {
        /// The file.
        path: PathBuf,
        /// What it must hold before.
        before: FileBytes,
        /// What it was for, in words.
        why: String,
    },
    /// Change one entry of a ledger. The one with `commit` is the commit point.
    Ledger {
        /// The ledger file.
        path: PathBuf,
        /// Id of the entry.
        id: String,
        /// The entry before.
        before: Option<Value>,
        /// The entry afterwards.
        after: Option<Value>,
        /// Whether this is the commit point.
        commit: bool,
    },
    /// Change one record of the consent store.
    Consent {
        /// The store.
        path: PathBuf,
        /// Project that the record is about.
        root: String,
        /// Capability that the record is about.
        id: String,
        /// The record before.
        before: Option<Value>,
        /// The record afterwards.
        after: Option<Value>,
    },
}

impl Step {
    /// Every path that the step touches.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Move { from, to } => vec![from, to],
            Self::MakeFolder { path }
            | Self::PlaceTree { path, .. }
            | Self::DropTree { path }
            | Self::DropFolder { path }
            | Self::WriteFile { path, .. }
            | Self::Link { path, .. }
            | Self::RemoveFile { path, .. }
            | Self::Ledger { path, .. }
            | Self::Consent { path, .. } => vec![path],
        }
    }

    /// Whether this is the commit point.
    #[must_use]
    pub fn is_commit(&self) -> bool {
        matches!(self, Self::Ledger { commit: true, .. })
    }

    /// What changes inside a file, in unified form; our own records are no one's to read.
    #[must_use]
    pub fn diff(&self) -> Option<String> {
        match self {
            Self::WriteFile { why, .. } if why == OUR_RECORDS => None,
            Self::WriteFile { before, after, .. } => {
                diff::unified(before.as_ref().map(|bytes| bytes.0.as_slice()), Some(&after.0))
            }
            Self::RemoveFile { before, .. } => diff::unified(Some(&before.0), None),
            Self::MakeFolder { .. }
            | Self::PlaceTree { .. }
            | Self::Move { .. }
            | Self::DropTree { .. }
            | Self::DropFolder { .. }
            | Self::Link { .. }
            | Self::Ledger { .. }
            | Self::Consent { .. } => None,
        }
    }

    /// Whether it only deletes what nothing needs any more: its failure takes nothing back.
    #[must_use]
    pub fn is_tidying(&self) -> bool {
        matches!(self, Self::DropTree { .. } | Self::DropFolder { .. })
    }

    /// One line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let shown = |path: &Path| crate::text::shown(&path.to_string_lossy());
        match self {
            Self::MakeFolder { path } => format!("create folder {}", shown(path)),
            Self::PlaceTree { path, .. } => format!("write the bundle to {}", shown(path)),
            Self::Move { from, to } => format!("move {} to {}", shown(from), shown(to)),
            Self::DropTree { path } => format!("delete {}", shown(path)),
            Self::DropFolder { path } => format!("delete {} if it is empty", shown(path)),
            Self::WriteFile { path, before: None, why, .. } => format!("create {} ({why})", shown(path)),
            Self::WriteFile { path, why, .. } => format!("edit {} ({why})", shown(path)),
            Self::Link { path, after: Some(target), .. } => {
                format!("point {} at {}", shown(path), shown(target))
            }
            Self::Link { path, after: None, .. } => format!("delete {}", shown(path)),
            Self::RemoveFile { path, why, .. } => format!("delete {} ({why})", shown(path)),
            Self::Ledger { path, id, after, commit, .. } => {
                let verb = if after.is_some() { "record" } else { "forget" };
                let point = if *commit { " [commit point]" } else { "" };
                format!("{verb} {id} in {}{point}", shown(path))
            }
            Self::Consent { path, id, after, .. } => {
                let verb = if after.is_some() { "record consent to" } else { "withdraw consent to" };
                format!("{verb} {id} in {}", shown(path))
            }
        }
    }
}
