//! Ledgers and the consent store: files that upstream reads and writes too.
//!
//! Every change re-reads the file, changes one entry and replaces the file atomically; members that we do not know
//! stay (D-01). The caller holds the lock that upstream respects.

use std::io;
use std::path::Path;

use gsdd_core::consent::{ConsentRecord, ConsentStore};
use gsdd_core::ledger::{Entry, Ledger, LedgerProblem};
use serde_json::Value;

use super::clock;
use super::upstream_lock::UpstreamLock;
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::fault::{self, Spot};

/// Why a ledger can't be used; the file is left as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFailure {
    #[error("{0}")]
    Io(ReadFailure),
    #[error("{0}")]
    Problem(LedgerProblem),
}

/// Reads a ledger strictly; `None` when there is none.
pub(crate) fn read_ledger(path: &Path) -> Result<Option<Ledger>, LedgerFailure> {
    match bounded_read::read(path, MAX_FILE) {
        Ok(bytes) => Ledger::parse_strict(&bytes).map(Some).map_err(LedgerFailure::Problem),
        Err(ReadFailure::Missing) if std::fs::symlink_metadata(path).is_err() => Ok(None),
        Err(failure) => Err(LedgerFailure::Io(failure)),
    }
}

/// One entry of a ledger, as JSON.
pub(crate) fn ledger_entry(path: &Path, id: &str) -> Result<Option<Value>, LedgerFailure> {
    Ok(read_ledger(path)?.and_then(|ledger| ledger.get(id)).map(|entry| entry.to_value()))
}

/// Puts or removes one entry. A ledger without entries is deleted: it says nothing.
pub(crate) fn put_ledger_entry(
    path: &Path,
    id: &str,
    entry: Option<&Value>,
    now: &str,
    umask: u32,
) -> io::Result<()> {
    let ledger = read_ledger(path).map_err(|failure| io::Error::other(failure.to_string()))?;
    let mut ledger = match (ledger, entry) {
        (None, None) => return Ok(()),
        (ledger, _) => ledger.unwrap_or_else(Ledger::new),
    };
    let same = ledger.get(id).map(|entry| entry.to_value());
    if same.as_ref() == entry {
        return Ok(());
    }
    match entry {
        Some(value) => {
            let entry =
                Entry::read(id, value).map_err(|objection| io::Error::other(objection.to_string()))?;
            ledger.insert(&entry);
        }
        None => {
            ledger.remove(id);
        }
    }
    if ledger.is_empty() {
        return atomic::remove(path);
    }
    atomic::write(path, &ledger.to_bytes(now), Mode::Keep(umask))
}

/// Reads the consent store. A store that others could have written counts as empty, with the reason (T137); with any
/// reason it is not written, because that would lose what it holds.
pub(crate) fn read_consent(path: &Path) -> (ConsentStore, Option<String>) {
    match bounded_read::read_no_follow(path, MAX_FILE) {
        Ok((bytes, metadata)) => match foreign(&metadata) {
            Some(reason) => (ConsentStore::new(), Some(format!("{}: {reason}", path.display()))),
            None => {
                let store = ConsentStore::parse(&bytes);
                let newer = || store.is_newer().then(|| "written by a newer version".to_owned());
                let reason = store.damage().map(|damage| damage.to_string()).or_else(newer);
                let reason = reason.map(|reason| format!("{}: {reason}", path.display()));
                (store, reason)
            }
        },
        Err(ReadFailure::Missing) => (ConsentStore::new(), None),
        Err(failure) => (ConsentStore::new(), Some(format!("{}: {failure}", path.display()))),
    }
}

/// Puts or removes one record, under upstream's consent lock.
pub(crate) fn put_consent_record(
    path: &Path,
    root: &str,
    id: &str,
    record: Option<&Value>,
) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("the consent store needs a folder"))?;
    if record.is_none() && !path.exists() {
        return Ok(());
    }
    fault::at(Spot::MakeFolder)?;
    std::fs::create_dir_all(folder)?;
    let _lock = UpstreamLock::consent(folder).map_err(|busy| io::Error::other(busy.to_string()))?;
    let (mut store, refused) = read_consent(path);
    if let Some(reason) = refused {
        return Err(io::Error::other(reason));
    }
    match record {
        Some(value) => {
            let record =
                ConsentRecord::read(value).ok_or_else(|| io::Error::other("not a consent record"))?;
            store.insert(&record).map_err(|full| io::Error::other(full.to_string()))?;
        }
        None => {
            if store.revoke(root, id).is_none() {
                return Ok(());
            }
        }
    }
    if store.is_empty() {
        return atomic::remove(path);
    }
    atomic::write(path, &store.to_bytes(), Mode::Exactly(0o600))
}

/// A new consent record, stamped now.
pub(crate) fn consent_record(
    root: &str,
    id: &gsdd_core::ids::CapabilityId,
    integrity: &str,
    signature: &str,
    content_hash: &str,
    reviewer_host: Option<String>,
) -> Value {
    ConsentRecord {
        project_root: root.to_owned(),
        id: id.clone(),
        integrity: integrity.to_owned(),
        disclosure_signature: signature.to_owned(),
        content_hash: content_hash.to_owned(),
        consented_at: clock::now(),
        reviewer_host,
        extra: serde_json::Map::new(),
    }
    .to_value()
}

#[cfg(unix)]
fn foreign(metadata: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user; its consents do not count");
    }
    (metadata.mode() & 0o022 != 0)
        .then_some("can be written by others; its consents do not count (chmod go-w)")
}

#[cfg(not(unix))]
fn foreign(_: &std::fs::Metadata) -> Option<&'static str> {
    None
}
