//! What to do about operations that were begun and not finished, by whoever began them.
//!
//! Our own interrupted operations are settled from our journal; what is judged here are the intents and leftovers
//! that upstream leaves beside bundles and ledger. A project's ledger is untrusted input: an intent in it is reported
//! and never acted on (T132).
//!
//! Source: ADR-1244 D4, D6; lifecycle formats section 12 and rule 9.

use std::time::Duration;

use super::names::{self, Leftover};
use super::{Entry, Ledger, PendingKind};
use crate::ids::CapabilityId;

/// Age from which a staging folder belongs to nobody any more.
pub const STAGING_ABANDONED: Duration = Duration::from_secs(10 * 60);
/// Age from which a temporary file of ledger or consent store belongs to nobody any more.
pub const TEMPORARY_ABANDONED: Duration = Duration::from_secs(5 * 60);

/// A name that lies somewhere, and for how long it has not been touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The name, without its folder.
    pub name: String,
    /// Since it was last written.
    pub age: Duration,
}

/// What lies in one root. The caller holds its locks, so nothing here is being worked on.
#[derive(Clone, Copy, Debug)]
pub struct RootFacts<'f> {
    /// The ledger; `None` = there is none.
    pub ledger: Option<&'f Ledger>,
    /// Whether intents in the ledger are the person's own: a global root, never a project's.
    pub is_trusted: bool,
    /// What lies in the folder of bundles.
    pub bundles: &'f [Seen],
    /// What lies in the staging folder.
    pub staging: &'f [Seen],
    /// What lies beside the ledger.
    pub beside: &'f [Seen],
}

/// Which folder of a root a leftover lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// The folder of bundles.
    Bundles,
    /// The staging folder.
    Staging,
    /// The root itself.
    Root,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A first install was not finished: everything of it goes. What lay in its place without a record, if anything, is
    /// put back: upstream deletes it.
    Forget {
        /// The capability.
        id: CapabilityId,
        /// Name of the folder that holds what lay there before.
        put_back: Option<String>,
    },
    /// An upgrade was not finished: the entry describes the old bundle, so the old bundle is put back.
    Restore {
        /// The capability.
        id: CapabilityId,
        /// Name of the folder that holds the old bundle; `None` = it never left its place.
        put_back: Option<String>,
    },
    /// Something that nothing needs any more is deleted.
    Sweep {
        /// Where it lies.
        folder: Folder,
        /// Its name.
        name: String,
    },
}

/// Something that is only reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An intent in the ledger of a project: it may have come with the repository.
    ForeignIntent {
        /// The capability.
        id: CapabilityId,
    },
    /// An intent that names a backup which can't be its own.
    UnusableIntent {
        /// The capability.
        id: CapabilityId,
    },
    /// A bundle that no entry records; nothing of it runs.
    Unrecorded {
        /// The capability.
        id: CapabilityId,
    },
    /// An entry without its bundle.
    Missing {
        /// The capability.
        id: CapabilityId,
    },
}

/// Judges one root.
#[must_use]
pub fn plan_reconcile(facts: &RootFacts<'_>) -> (Vec<Repair>, Vec<Finding>) {
    let mut repairs = Vec::new();
    let mut findings = Vec::new();
    let mut named_by_intent = Vec::new();
    let entries: Vec<Entry> = facts.ledger.into_iter().flat_map(Ledger::iter).collect();
    let lies_there = |name: &str| facts.bundles.iter().any(|seen| seen.name == name);
    for entry in &entries {
        let Some(pending) = &entry.pending else {
            if !lies_there(entry.id.as_str()) {
                findings.push(Finding::Missing { id: entry.id.clone() });
            }
            continue;
        };
        let id = entry.id.clone();
        let backup = pending.backup_name.as_deref();
        let usable = backup.is_none_or(|name| names::is_backup_of(name, id.as_str()));
        if usable {
            named_by_intent.extend(backup);
        }
        let put_back = backup.filter(|name| usable && lies_there(name)).map(str::to_owned);
        match pending.kind {
            _ if !facts.is_trusted => findings.push(Finding::ForeignIntent { id }),
            _ if !usable => findings.push(Finding::UnusableIntent { id }),
            PendingKind::Install => repairs.push(Repair::Forget { id, put_back }),
            PendingKind::Upgrade if put_back.is_none() && !lies_there(id.as_str()) => {
                repairs.push(Repair::Forget { id, put_back });
            }
            PendingKind::Upgrade => repairs.push(Repair::Restore { id, put_back }),
        }
    }
    let mut sweep = |folder, seen: &Seen| repairs.push(Repair::Sweep { folder, name: seen.name.clone() });
    for seen in facts.bundles {
        match names::leftover(&seen.name) {
            Some(Leftover::Discard { .. }) => sweep(Folder::Bundles, seen),
            Some(Leftover::Backup { .. }) if !named_by_intent.contains(&seen.name.as_str()) => {
                sweep(Folder::Bundles, seen);
            }
            Some(Leftover::StaleLock) if seen.age > TEMPORARY_ABANDONED => sweep(Folder::Bundles, seen),
            Some(Leftover::Backup { .. } | Leftover::StaleLock | Leftover::Temporary) => {}
            None => {
                if let Ok(id) = CapabilityId::parse(&seen.name)
                    && !entries.iter().any(|entry| entry.id == id)
                {
                    findings.push(Finding::Unrecorded { id });
                }
            }
        }
    }
    for seen in facts.staging.iter().filter(|seen| seen.age > STAGING_ABANDONED) {
        if names::is_staging_name(&seen.name) {
            sweep(Folder::Staging, seen);
        }
    }
    for seen in facts.beside.iter().filter(|seen| seen.age > TEMPORARY_ABANDONED) {
        if names::leftover(&seen.name) == Some(Leftover::Temporary) {
            sweep(Folder::Root, seen);
        }
    }
    (repairs, findings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ledger(pending: &serde_json::Value) -> Ledger {
        let mut entry = json!({"id": "acme", "version": "1.0.0", "source": "./x", "integrity": "", "files": [],
            "sharedEdits": []});
        entry["_pending"] = pending.clone();
        let document = json!({"version": "1", "updatedAt": "x", "entries": {"acme": entry}});
        Ledger::parse_strict(document.to_string().as_bytes()).unwrap()
    }

    fn judged(
        pending: &serde_json::Value,
        is_trusted: bool,
        bundles: &[&str],
    ) -> (Vec<Repair>, Vec<Finding>) {
        let old = Duration::from_secs(3600);
        let bundles: Vec<Seen> =
            bundles.iter().map(|name| Seen { name: (*name).to_owned(), age: old }).collect();
        let ledger = ledger(pending);
        let facts =
            RootFacts { ledger: Some(&ledger), is_trusted, bundles: &bundles, staging: &[], beside: &[] };
        plan_reconcile(&facts)
    }

    #[test]
    fn t132_an_intent_of_a_project_moves_and_deletes_nothing() {
        let id = CapabilityId::parse("acme").unwrap();
        for kind in ["install", "upgrade"] {
            let intent =
                json!({"kind": kind, "backupName": "acme.upgrading-1-2-ab", "sharedFiles": ["s.json"]});
            let (repairs, findings) = judged(&intent, false, &["acme", "acme.upgrading-1-2-ab"]);
            assert_eq!((repairs, findings), (vec![], vec![Finding::ForeignIntent { id: id.clone() }]));
        }
    }

    #[test]
    fn what_lay_there_without_a_record_is_put_back() {
        let intent = json!({"kind": "install", "backupName": "acme.upgrading-1-2-ab", "sharedFiles": []});
        let (repairs, _) = judged(&intent, true, &["acme", "acme.upgrading-1-2-ab"]);
        let id = CapabilityId::parse("acme").unwrap();
        assert_eq!(repairs, [Repair::Forget { id, put_back: Some("acme.upgrading-1-2-ab".to_owned()) }]);
    }

    #[test]
    fn a_backup_of_another_one_is_never_put_back() {
        let intent = json!({"kind": "upgrade", "backupName": "other.upgrading-1-2", "sharedFiles": []});
        let (repairs, findings) = judged(&intent, true, &["acme", "other.upgrading-1-2"]);
        assert_eq!(findings, [Finding::UnusableIntent { id: CapabilityId::parse("acme").unwrap() }]);
        assert_eq!(
            repairs,
            [Repair::Sweep { folder: Folder::Bundles, name: "other.upgrading-1-2".to_owned() }]
        );
    }
}
