//! Changes to the disk as values: printable, comparable, refusable before anything is written.
//!
//! Source: ADR-1244 D4 (the ledger write is the commit point) and D6 (stage, then swap).

mod plan;
mod step;

pub use plan::{Plan, PlannedChange, Verb};
pub use step::{FileBytes, OUR_RECORDS, Step};
