//! The ledger: what is installed in one scope root, as the file that both implementations share.
//!
//! [`document`] reads and writes the file and keeps members it does not know; [`entry`] is one capability;
//! [`reading`] is the composer's own lenient view; [`lock`] is the lock file beside it; [`names`] are the names around it. Nothing in a project's
//! ledger is trusted: paths and intents in it are reported, not followed (threats T130 to T134).
//!
//! Source: ADR-1244 D4 (ledger, commit point), lifecycle formats section 6.

pub mod document;
pub mod entry;
pub mod lock;
pub mod names;
pub mod reading;
pub mod reconcile;

pub use document::{Ledger, LedgerProblem, parse_lenient, parse_strict};
pub use entry::{Entry, Pending, PendingKind, SharedEdit};
pub use reading::{LedgerState, classify};

/// Largest ledger file that is read, in bytes.
pub const MAX_LEDGER_BYTES: usize = 8 * 1024 * 1024;
/// Most entries of a ledger.
pub const MAX_ENTRIES: usize = 4096;
/// Most paths in the `files` of one entry.
pub const MAX_FILES: usize = 10_000;
/// Most shared edits of one entry, and most shared files of an intent.
pub const MAX_SHARED: usize = 256;
