//! The audit log: one line of JSON for each decision that changed what can run, each bound to the one before it.
//!
//! A line carries the digest of the line before it and its own, so that a line that is changed, left out, put in or
//! moved is found. Cutting lines off the end is found by whoever kept the digest of a later line.

mod chain;
mod event;

pub use chain::{Broken, Chain, Link, Summary, Why, seal};
pub use event::{Event, Happening};
