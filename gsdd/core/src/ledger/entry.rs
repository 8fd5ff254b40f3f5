//! One capability in the ledger.

use serde_json::{Map, Value};

use super::{MAX_FILES, MAX_SHARED};
use crate::ids::CapabilityId;

/// An installed capability, or one whose installation is in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its id, which is also its key.
    pub id: CapabilityId,
    /// Version of the capability.
    pub version: String,
    /// The spec string it was installed from, as typed.
    pub source: String,
    /// Digest of the fetched archive, or empty for sources without one.
    pub integrity: String,
    /// Paths relative to the root; one, the bundle folder, in everything that is written today. Untrusted.
    pub files: Vec<String>,
    /// Entries in files that the user owns. Untrusted.
    pub shared_edits: Vec<SharedEdit>,
    /// The intent of an unfinished operation.
    pub pending: Option<Pending>,
    /// Members that we do not know; they are written back.
    pub extra: Map<String, Value>,
}

/// One file of the user's that holds entries of a capability.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedEdit {
    /// Path relative to the root, not empty.
    pub file: String,
    /// What our entries carry as `_gsdCapability`, not empty; the id.
    pub marker: String,
    /// Members that we do not know.
    pub extra: Map<String, Value>,
}

/// What an unfinished operation was about to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    /// Which operation.
    pub kind: PendingKind,
    /// Name of the folder that holds the bundle from before.
    pub backup_name: Option<String>,
    /// Shared files that it was about to edit, relative to the root.
    pub shared_files: Vec<String>,
    /// Members that we do not know.
    pub extra: Map<String, Value>,
}

/// The two operations that leave an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// A first installation, or one over a folder without an entry.
    Install,
    /// A replacement; the entry still describes the old bundle.
    Upgrade,
}

impl PendingKind {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
        }
    }

    fn parse(raw: &str) -> Option<Self> {
        match raw {
            "install" => Some(Self::Install),
            "upgrade" => Some(Self::Upgrade),
            _ => None,
        }
    }
}

/// Which rule an entry breaks; the text names the member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryObjection(pub &'static str);

impl Entry {
    /// Reads the entry at `key`.
    ///
    /// # Errors
    /// [`EntryObjection`] for the first rule that it breaks.
    pub fn read(key: &str, value: &Value) -> Result<Self, EntryObjection> {
        let id = CapabilityId::parse(key).map_err(|_| EntryObjection("its key is not a capability id"))?;
        let members = value.as_object().ok_or(EntryObjection("it is not an object"))?;
        if members.get("id").and_then(Value::as_str) != Some(key) {
            return Err(EntryObjection("`id` differs from its key"));
        }
        Ok(Self {
            id,
            version: text(members, "version", "`version` is not text")?,
            source: text(members, "source", "`source` is not text")?,
            integrity: text(members, "integrity", "`integrity` is not text")?,
            files: texts(members.get("files"), MAX_FILES, "`files` is not a list of at most 10000 texts")?,
            shared_edits: shared_edits(members.get("sharedEdits"))?,
            pending: members.get("_pending").map(pending).transpose()?,
            extra: others(
                members,
                &["id", "version", "source", "integrity", "files", "sharedEdits", "_pending"],
            ),
        })
    }

    /// The entry as upstream writes it; unknown members follow the known ones, the intent is last.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("id".to_owned(), self.id.as_str().into());
        members.insert("version".to_owned(), self.version.as_str().into());
        members.insert("source".to_owned(), self.source.as_str().into());
        members.insert("integrity".to_owned(), self.integrity.as_str().into());
        members.insert("files".to_owned(), self.files.clone().into());
        let edits = self.shared_edits.iter().map(|edit| {
            let mut members = Map::new();
            members.insert("file".to_owned(), edit.file.as_str().into());
            members.insert("marker".to_owned(), edit.marker.as_str().into());
            members.extend(edit.extra.clone());
            Value::Object(members)
        });
        members.insert("sharedEdits".to_owned(), edits.collect());
        members.extend(self.extra.clone());
        if let Some(pending) = &self.pending {
            let mut intent = Map::new();
            intent.insert("kind".to_owned(), pending.kind.as_str().into());
            intent.insert("backupName".to_owned(), pending.backup_name.clone().into());
            intent.insert("sharedFiles".to_owned(), pending.shared_files.clone().into());
            intent.extend(pending.extra.clone());
            members.insert("_pending".to_owned(), Value::Object(intent));
        }
        Value::Object(members)
    }
}

fn text(members: &Map<String, Value>, key: &str, objection: &'static str) -> Result<String, EntryObjection> {
    members.get(key).and_then(Value::as_str).map(str::to_owned).ok_or(EntryObjection(objection))
}

fn texts(value: Option<&Value>, most: usize, objection: &'static str) -> Result<Vec<String>, EntryObjection> {
    value
        .and_then(Value::as_array)
        .filter(|items| items.len() <= most)
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect())
        .ok_or(EntryObjection(objection))
}

fn shared_edits(value: Option<&Value>) -> Result<Vec<SharedEdit>, EntryObjection> {
    value
        .and_then(Value::as_array)
        .filter(|items| items.len() <= MAX_SHARED)
        .and_then(|items| items.iter().map(shared_edit).collect())
        .ok_or(EntryObjection("`sharedEdits` is not a list of at most 256 objects with `file` and `marker`"))
}

fn shared_edit(value: &Value) -> Option<SharedEdit> {
    let members = value.as_object()?;
    let named = |key: &str| members.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some(SharedEdit {
        file: named("file")?.to_owned(),
        marker: named("marker")?.to_owned(),
        extra: others(members, &["file", "marker"]),
    })
}

fn pending(value: &Value) -> Result<Pending, EntryObjection> {
    let members = value.as_object().ok_or(EntryObjection("`_pending` is not an object"))?;
    let kind = members
        .get("kind")
        .and_then(Value::as_str)
        .and_then(PendingKind::parse)
        .ok_or(EntryObjection("`_pending.kind` is neither `install` nor `upgrade`"))?;
    let backup_name = match members.get("backupName") {
        Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.clone()),
        _ => return Err(EntryObjection("`_pending.backupName` is neither text nor null")),
    };
    let shared_files = texts(
        members.get("sharedFiles"),
        MAX_SHARED,
        "`_pending.sharedFiles` is not a list of at most 256 texts",
    )?;
    Ok(Pending {
        kind,
        backup_name,
        shared_files,
        extra: others(members, &["kind", "backupName", "sharedFiles"]),
    })
}

fn others(members: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    members
        .iter()
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
