//! What may be installed, agreed to and run at all: rules of the machine, of the person and of the project.
//!
//! A policy is a list of rules, and all that a rule can do is object. So a layer that is added can only tighten. The
//! one exception is [`network.private_hosts`](crate::source::network), which lists what is reachable in the first
//! place; a project can't say it. A rule that can't be read objects to everything that its key decides.
//!
//! Everything here is a decision over facts that are passed in. What a source is, and which host is about to be
//! contacted, is asked before each contact.
//!
//! Source: ADR-1244 D5 rule 7, decision D-18, threats T134, T158 to T160, T187.

mod decision;
mod key;
mod matcher;
mod place;
mod read;
mod rule;
mod settings;
mod sought;
mod surface_class;

pub use decision::{Objection, Policy};
pub use key::{Door, Key};
pub use matcher::Matcher;
pub use place::{Layer, Place};
pub use read::{FileText, LayerRules, MAX_ENTRIES, Unknown, read_known_registries, read_layer};
pub use rule::{Rule, Says};
pub use settings::Setting;
pub use sought::{Contact, Errand, Sought};
pub use surface_class::SurfaceClass;

#[cfg(test)]
mod tests;
