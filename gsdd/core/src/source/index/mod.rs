//! The static index of a named registry: a folder of small files, one per capability, that any web server, repository
//! or disk can hold.
//!
//! `docs/formats/registry-index.md` describes the format, [`schema`] is the machine-readable form of it.
//!
//! Source: ADR-1244 D3 (registry kind), D6 (versions are enumerated).

mod entry;
mod name;
mod place;
mod schema;

pub use entry::{Entry, EntryProblem, Origin, Publisher, Version};
pub use name::IndexName;
pub use place::{PlaceProblem, RegistryPlace, is_registry_name};
pub use schema::schema;

use serde_json::Value;

use crate::json;

/// The format that is written and read.
pub const FORMAT: u64 = 1;

/// Largest entry that is read, in bytes.
pub const MAX_ENTRY_BYTES: u64 = 1024 * 1024;

/// Largest `config.json` that is read, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 64 * 1024;

/// Path of the file that marks a folder as an index.
pub const CONFIG_PATH: &str = "config.json";

/// Whether `config.json` marks a folder as an index that can be read.
///
/// # Errors
/// What is wrong.
pub fn check_config(bytes: &[u8]) -> Result<(), EntryProblem> {
    let document = json::parse_strict(bytes).map_err(|_| EntryProblem::NotJson)?;
    check_format(&document)
}

fn check_format(document: &Value) -> Result<(), EntryProblem> {
    match document.get("format") {
        Some(format) if *format == FORMAT => Ok(()),
        Some(Value::Number(_)) => Err(EntryProblem::OtherFormat),
        _ => Err(EntryProblem::NotAnIndex),
    }
}
