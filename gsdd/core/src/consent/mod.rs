//! The consent store: which bundle content a person approved for which project, in the file that both
//! implementations share.
//!
//! A record binds the project's real path, the capability id and the content hash. The store lives in the person's
//! home; whether a given file may be believed at all (owner, mode, place) is decided before it comes here.
//!
//! Source: ADR-1244 D5 rule 8 (machine-local consent), lifecycle formats section 7.

pub mod record;
pub mod store;

pub use record::{ConsentRecord, record_key};
pub use store::{ConsentStore, StoreDamage, StoreFull};

/// Largest store that is read, in bytes.
pub const MAX_STORE_BYTES: usize = 8 * 1024 * 1024;
/// Most records, when reading and when writing.
pub const MAX_RECORDS: usize = 4096;
