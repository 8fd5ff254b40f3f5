//! The pure domain of `gsdd`: what a capability is, how capabilities compose, what may run, what an install
//! would change.
//!
//! Everything here is computation. Bytes, facts and times come in as arguments; values come out. There is no
//! IO, clock, environment, randomness or async in this crate (`clippy.toml` beside it holds the list). Functions
//! over text that we did not write are total: they answer with a usable value and the list of objections.
//!
//! In reading order: see the module list; each module says what it is and what it is not.

pub mod activation;
pub mod audit;
pub mod bundle;
pub mod compose;
pub mod consent;
pub mod diff;
pub mod explain;
pub mod graph;
pub mod hooks;
pub mod ids;
pub mod json;
pub mod ledger;
pub mod lifecycle;
pub mod loop_hooks;
pub mod manifest;
pub mod projection;
pub mod registry;
pub mod runtime;
pub mod source;
pub mod text;
pub mod trust;
pub mod user_config;
pub mod validate;
pub mod version;
