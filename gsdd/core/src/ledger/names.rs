//! Names of the files and folders that an operation leaves beside bundles and ledger while it is in flight.
//!
//! Both implementations sweep what the other left behind, so the shapes are shared. A name of another shape is not
//! ours and is never touched.
//!
//! Source: lifecycle formats sections 1 and 12.

use crate::ids::has_id_shape;

/// File name of the ledger in a scope root.
pub const LEDGER_FILE: &str = ".gsd-capabilities.json";
/// Folder of the bundles, relative to a scope root.
pub const BUNDLES_DIR: &str = ".gsd/capabilities";
/// Folder inside [`BUNDLES_DIR`] where bundles are staged.
pub const STAGING_DIR: &str = ".staging";
/// Mutation lock, relative to a scope root.
pub const LOCK_FILE: &str = ".gsd/capabilities/.lock";
/// Consent store, relative to the global root.
pub const CONSENT_FILE: &str = ".gsd/consent.json";
/// Lock of the consent store, relative to the global root.
pub const CONSENT_LOCK_FILE: &str = ".gsd/.consent.lock";

/// What a name beside bundles or ledger stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover<'n> {
    /// A bundle that an upgrade moved aside.
    Backup {
        /// The capability.
        id: &'n str,
    },
    /// A bundle that a rollback moved aside.
    Discard {
        /// The capability.
        id: &'n str,
    },
    /// A temporary file of the ledger or the consent store.
    Temporary,
    /// A lock that was about to be removed.
    StaleLock,
}

/// Recognises a name; `None` for everything that is not left behind by an operation.
#[must_use]
pub fn leftover(name: &str) -> Option<Leftover<'_>> {
    for store in [LEDGER_FILE, "consent.json"] {
        if let Some(rest) = name.strip_prefix(store).and_then(|rest| rest.strip_prefix(".tmp.")) {
            return has_counters(rest, 1).then_some(Leftover::Temporary);
        }
    }
    for lock in [".lock", ".consent.lock"] {
        if let Some(rest) = name.strip_prefix(lock).and_then(|rest| rest.strip_prefix(".stale-")) {
            return has_counters(rest, 2).then_some(Leftover::StaleLock);
        }
    }
    let (id, rest) = name.split_once('.').filter(|(id, _)| has_id_shape(id))?;
    if let Some(counters) = rest.strip_prefix("upgrading-") {
        return has_counters(counters, 2).then_some(Leftover::Backup { id });
    }
    let counters = rest.strip_prefix("discard-")?;
    has_counters(counters, 2).then_some(Leftover::Discard { id })
}

/// Whether `name` is the backup of `id`: the only kind of name that an upgrade intent may carry.
#[must_use]
pub fn is_backup_of(name: &str, id: &str) -> bool {
    leftover(name) == Some(Leftover::Backup { id })
}

/// Whether `name` is a staging folder of any capability: `<id>-<pid>-<epoch ms>`.
#[must_use]
pub fn is_staging_name(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let (ms, pid, id) = (parts.next(), parts.next(), parts.next());
    is_number(ms) && is_number(pid) && id.is_some_and(has_id_shape)
}

/// `count` numbers joined by hyphens and, optionally, a hexadecimal nonce behind one more hyphen.
fn has_counters(text: &str, count: usize) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let (numbers, nonce) = parts.split_at(count.min(parts.len()));
    let is_nonce = |part: &&str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    };
    numbers.len() == count
        && numbers.iter().all(|part| is_number(Some(part)))
        && nonce.len() <= 1
        && nonce.iter().all(is_nonce)
}

fn is_number(part: Option<&str>) -> bool {
    part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operations_are_recognised() {
        let backup = Some(Leftover::Backup { id: "acme-lint" });
        assert_eq!(leftover("acme-lint.upgrading-12-1700000000000-0a1b2c3d"), backup);
        assert_eq!(leftover("acme-lint.upgrading-12-1700000000000"), backup);
        assert_eq!(leftover("a.discard-1-2-ff"), Some(Leftover::Discard { id: "a" }));
        assert_eq!(leftover(".gsd-capabilities.json.tmp.12-0a1b2c3d"), Some(Leftover::Temporary));
        assert_eq!(leftover("consent.json.tmp.12-0a1b2c3d"), Some(Leftover::Temporary));
        assert_eq!(leftover(".lock.stale-1-2-0a1b2c3d"), Some(Leftover::StaleLock));
        assert!(is_staging_name("acme-lint-12-1700000000000"));
    }

    #[test]
    fn t132_other_names_are_never_ours() {
        for name in [
            "acme",
            "acme.upgrading-1",
            "acme.upgrading-1-2-xyz",
            "acme.upgrading-1-2-a-b",
            "Acme.upgrading-1-2",
            "../x.upgrading-1-2",
            "acme.upgrading-1-2/..",
            "acme.discard--2",
            ".lock",
            ".gsd-capabilities.json",
            ".gsd-capabilities.json.tmp.x",
            "a.b.upgrading-1-2",
        ] {
            assert_eq!(leftover(name), None, "{name}");
        }
        assert!(!is_backup_of("other.upgrading-1-2", "acme"));
        for name in ["acme", "acme-1", "-1-2", "acme-x-2", "Acme-1-2"] {
            assert!(!is_staging_name(name), "{name}");
        }
    }
}
