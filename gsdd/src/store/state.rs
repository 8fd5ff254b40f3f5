//! What only we know: which contents the person agreed to, and what we wrote into which host.
//!
//! None of it fits into the files that upstream rewrites, so it lies in our own state folder (D-01).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gsdd_core::projection::HookEntry;
use gsdd_core::projection::edit::Undo;
use gsdd_core::runtime::WiringScope;
use gsdd_core::trust::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::TakenFrom;
use crate::fs::bounded_read::{self, ReadFailure};

const VERSION: u32 = 1;
const MAX_STATE: u64 = 64 * 1024 * 1024;

/// Our records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnState {
    version: u32,
    /// By scope root and id: what was taken and agreed to.
    #[serde(default)]
    pub(crate) taken: BTreeMap<String, Taken>,
    /// By scope root and id: contents that were replaced and can come back, oldest first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) past: BTreeMap<String, Vec<Past>>,
    /// By [`TargetKey`]: what we wrote into a host.
    #[serde(default)]
    pub(crate) targets: BTreeMap<String, WiringTarget>,
    /// By scope root: folders that we created and delete when they are empty again.
    #[serde(default)]
    pub(crate) folders: BTreeMap<String, Vec<PathBuf>>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Default for OwnState {
    fn default() -> Self {
        Self {
            version: VERSION,
            taken: BTreeMap::new(),
            past: BTreeMap::new(),
            targets: BTreeMap::new(),
            folders: BTreeMap::new(),
            unknown: Map::new(),
        }
    }
}

/// One content of one capability in one root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taken {
    /// Hash of the content that was agreed to.
    pub(crate) content_hash: String,
    /// What the person agreed to: the content, and what else they were told.
    #[serde(default)]
    pub(crate) consent_digest: String,
    /// The content alone, however its manifest is spelled; empty in records from before it was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) content_digest: String,
    /// Where its reviewer lane may send to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) destination: Option<String>,
    /// `installed`, or `first-seen` for what upstream had installed.
    pub(crate) how: String,
    /// Where it came from; absent for what was agreed to as it lay there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<TakenFrom>,
    /// Whether the grant was a blanket `--yes`.
    #[serde(default)]
    pub(crate) blanket: bool,
    /// The folder that later contents are taken from without another question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) linked: Option<Linked>,
    /// When, ISO-8601 UTC.
    pub(crate) at: String,
    /// Set when the person took the consent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revoked_at: Option<String>,
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

/// A folder whose changes are taken over, and what is needed to do that while nobody calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Linked {
    /// The folder as the ledger names it, absolute.
    pub(crate) path: PathBuf,
    /// Where that was when it was linked, without symlinks. It is not followed to anywhere else.
    pub(crate) real: PathBuf,
    /// Variables that say where hosts keep their configuration, and no others: an environment may hold tokens.
    pub(crate) env: BTreeMap<String, String>,
    /// Hosts that it is wired into.
    pub(crate) runtimes: Vec<String>,
    /// Shared files that it is registered in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) shared_files: Vec<String>,
    /// Mask of new files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) umask: Option<u32>,
    /// Content hash of what the present content replaced: what was started from it may still run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

impl Taken {
    /// The folder that is followed now.
    pub(crate) fn link(&self) -> Option<&Linked> {
        self.linked.as_ref().filter(|_| self.revoked_at.is_none())
    }

    /// Whether this is an agreement to the content that `digest` names, however its manifest is spelled.
    pub(crate) fn fits(&self, digest: &str) -> bool {
        self.revoked_at.is_none() && self.content_digest == digest
    }

    /// Whether this is an agreement to `content` that was not taken back.
    pub(crate) fn covers(&self, content: &ContentHash) -> bool {
        self.revoked_at.is_none() && self.content_hash == content.as_str()
    }
}

/// A content that was replaced, with what the ledger said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Past {
    /// Version of the capability.
    pub(crate) version: String,
    /// The source as the ledger recorded it.
    pub(crate) source: String,
    /// Digest of the archive, or empty.
    #[serde(default)]
    pub(crate) integrity: String,
    /// What was agreed to.
    pub(crate) taken: Taken,
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

/// A host, a scope and a root: one place that we write into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetKey {
    pub(crate) runtime: String,
    pub(crate) scope: WiringScope,
    pub(crate) root: PathBuf,
}

impl TargetKey {
    pub(crate) fn text(&self) -> String {
        let scope = match self.scope {
            WiringScope::Global => "global",
            WiringScope::Project => "project",
        };
        format!("{}|{scope}|{}", self.runtime, self.root.display())
    }
}

/// What we wrote into one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WiringTarget {
    pub(crate) runtime: String,
    pub(crate) scope: String,
    pub(crate) root: PathBuf,
    /// By capability id.
    #[serde(default)]
    pub(crate) capabilities: BTreeMap<String, CapabilityWiring>,
    /// By path: how to take our edits out again.
    #[serde(default)]
    pub(crate) documents: BTreeMap<PathBuf, DocumentRecord>,
}

/// What one capability has in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapabilityWiring {
    /// Host events that are registered for it.
    #[serde(default)]
    pub(crate) events: Vec<String>,
    /// MCP servers, with what we registered.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, Value>,
    /// Hooks in a shared file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scripts: Vec<HookEntry>,
    /// Files that are its alone.
    #[serde(default)]
    pub(crate) files: Vec<WiredFile>,
}

impl CapabilityWiring {
    /// Whether nothing of the capability is there.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A file that we created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WiredFile {
    pub(crate) path: PathBuf,
    /// SHA-256 of what we wrote, `sha256:<hex>`.
    pub(crate) sha256: String,
    /// What it is for.
    #[serde(default)]
    pub(crate) surface: String,
}

/// A document of the person that we edited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentRecord {
    /// What our edits created besides our entries.
    pub(crate) undo: Undo,
    /// SHA-256 of what we wrote last, `sha256:<hex>`.
    #[serde(default)]
    pub(crate) sha256: String,
}

/// Why our records can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateFailure {
    #[error("{0}")]
    Io(ReadFailure),
    #[error("not readable ({0})")]
    Corrupt(String),
    #[error("written by a newer version (format {0}); use that version")]
    Newer(u32),
}

impl OwnState {
    /// Reads the records; none yet is a fresh start.
    pub(crate) fn read(path: &Path) -> Result<(Self, Option<Vec<u8>>), StateFailure> {
        let bytes = match bounded_read::read(path, MAX_STATE) {
            Ok(bytes) => bytes,
            // A link that leads nowhere is not a fresh start: the records are elsewhere.
            Err(ReadFailure::Missing) if std::fs::symlink_metadata(path).is_err() => {
                return Ok((Self::default(), None));
            }
            Err(failure) => return Err(StateFailure::Io(failure)),
        };
        let state: Self =
            serde_json::from_slice(&bytes).map_err(|error| StateFailure::Corrupt(error.to_string()))?;
        if state.version > VERSION {
            return Err(StateFailure::Newer(state.version));
        }
        Ok((state, Some(bytes)))
    }

    /// The records as a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Folders that are gone are not ours to delete when somebody makes them again.
    pub(crate) fn forget_missing_folders(&mut self) {
        for folders in self.folders.values_mut() {
            folders.retain(|folder| folder.exists());
        }
        self.folders.retain(|_, folders| !folders.is_empty());
    }

    /// Key of [`OwnState::taken`].
    pub(crate) fn taken_key(root: &Path, id: &str) -> String {
        format!("{}|{id}", root.display())
    }

    /// What was taken for a capability in a root.
    pub(crate) fn taken(&self, root: &Path, id: &str) -> Option<&Taken> {
        self.taken.get(&Self::taken_key(root, id))
    }

    /// The contents that a capability in a root can go back to, oldest first.
    pub(crate) fn past(&self, root: &Path, id: &str) -> &[Past] {
        self.past.get(&Self::taken_key(root, id)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What is linked in `root`, by id.
    pub(crate) fn links(&self, root: &Path) -> impl Iterator<Item = (&str, &Taken, &Linked)> {
        let taken = self.taken.iter();
        taken.filter_map(move |(key, taken)| {
            let (at, id) = key.rsplit_once('|')?;
            (Path::new(at) == root).then_some((id, taken, taken.link()?))
        })
    }

    /// Content hashes of everything that is agreed to or can come back, in the roots that `wanted` names.
    pub(crate) fn contents(&self, wanted: impl Fn(&Path) -> bool) -> impl Iterator<Item = &str> {
        let past = self.past.iter().flat_map(|(key, past)| past.iter().map(move |past| (key, &past.taken)));
        self.taken
            .iter()
            .chain(past)
            .filter(move |(key, _)| key.rsplit_once('|').is_some_and(|(root, _)| wanted(Path::new(root))))
            .flat_map(|(_, taken)| {
                let before = taken.linked.as_ref().and_then(|linked| linked.before.as_deref());
                std::iter::once(taken.content_hash.as_str()).chain(before)
            })
    }

    /// Whether anything of any capability is still wired into any host.
    pub(crate) fn anything_wired(&self) -> bool {
        self.targets.values().any(|target| !target.capabilities.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_survive_and_newer_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let write = |text: &str| {
            crate::fs::atomic::write(&path, text.as_bytes(), crate::fs::atomic::Mode::Keep(0o022)).unwrap();
        };
        write(r#"{"version":1,"later":{"x":1}}"#);
        let (state, _) = OwnState::read(&path).unwrap();
        assert!(String::from_utf8(state.to_bytes()).unwrap().contains("later"));
        write(r#"{"version":2}"#);
        assert!(matches!(OwnState::read(&path), Err(StateFailure::Newer(2))));
        write("{");
        assert!(matches!(OwnState::read(&path), Err(StateFailure::Corrupt(_))));
        assert_eq!(OwnState::read(&dir.path().join("none")).unwrap().0, OwnState::default());
    }
}
