//! Lossless edits of settings files that belong to the person: JSON, and JSON with comments.
//!
//! A file is edited as text. What we insert is one fragment; every other byte stays: comments, key order, numbers,
//! duplicate keys elsewhere, line ends, indentation, a byte order mark, the final line end. Removing gives back the
//! bytes from before, also when the person edited other places meanwhile. What can't be edited so is refused with
//! line and column before anything is written.
//!
//! In reading order: [`refusal`], [`undo`], [`insert`], [`remove`](mod@remove); below them the parser with positions
//! and the detection of the file's own style. [`host_rules`] checks what a host would think of the result.
//!
//! Source: ADR-1244 D4 (removal leaves nothing), decisions D-13 and D-24, field reports FR-001 to FR-012.

mod assign;
pub mod host_rules;
pub mod insert;
pub mod marked;
mod parse;
pub mod refusal;
pub mod remove;
mod splice;
mod style;
mod tree;
pub mod undo;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod properties;

use serde_json::Value;

pub use assign::assign;
pub use insert::{Insert, apply};
pub use refusal::{EditRefusal, EditRefusalKind};
pub use remove::{Removal, Target, remove, remove_keeping_undo};
pub use undo::Undo;

/// How the host reads the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// JSON; a byte order mark is tolerated.
    StrictJson,
    /// JSON with `//` and `/* */` comments and trailing commas.
    Jsonc,
}

/// Reads a document; of duplicate keys the last one counts. A number beyond the range of a double reads as null.
///
/// # Errors
/// [`EditRefusal`] with line and column.
pub fn read(bytes: &[u8], dialect: Dialect) -> Result<Value, EditRefusal> {
    let (_, text) = split_bom(bytes)?;
    let document = parse::parse(text, dialect)?;
    Ok(document.root.to_value(text))
}

/// The strictest dialect that the file fits, so that a file with comments can be edited although its host reads
/// strict JSON only. A file of white space fits the strict one.
///
/// # Errors
/// The refusal of [`Dialect::Jsonc`] when it fits neither.
pub fn dialect_of(bytes: &[u8]) -> Result<Dialect, EditRefusal> {
    let (_, text) = split_bom(bytes)?;
    if is_blank(text) || parse::parse(text, Dialect::StrictJson).is_ok() {
        return Ok(Dialect::StrictJson);
    }
    parse::parse(text, Dialect::Jsonc).map(|_| Dialect::Jsonc)
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '\n' | '\r'))
}

const BOM: &str = "\u{feff}";

/// The byte order mark, if any, and the text behind it.
fn split_bom(bytes: &[u8]) -> Result<(&'static str, &str), EditRefusal> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let readable = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let readable = std::str::from_utf8(readable).unwrap_or_default();
        EditRefusal::at(readable, readable.len(), EditRefusalKind::Syntax, "the file is not UTF-8 text", "")
    })?;
    Ok(text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest)))
}
