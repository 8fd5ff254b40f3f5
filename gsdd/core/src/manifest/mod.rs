//! One capability manifest: what `capability.json` may contain, and what is wrong with one that breaks a rule.
//!
//! [`assess`] reads the bytes of a manifest and answers with everything it found: the typed [`Manifest`] when all
//! rules hold, and every [`Problem`] at once when not. Each rule exists once, as a row of [`RULES`]. What only a
//! set of capabilities can get wrong is in [`crate::compose`].
//!
//! Source: ADR-1244 (manifest, D1, D2, D5, D7), ADR-1016 (runtime descriptor).

mod assess;
mod capability;
mod commands;
mod config_slice;
mod contract_rules;
mod document;
mod envelope;
mod feature;
mod findings;
mod host_integration;
mod loop_hooks;
mod problem;
pub mod reference;
mod reviewer_lane;
mod rule;
mod rule_table;
mod runtime_body;
mod safe_name;
mod typed;
mod vocabulary;

pub use assess::{Assessed, DeclaredGate, Strictness, assess, assess_as};
pub(crate) use assess::{assess_and_keep, place};
pub use capability::{
    CommandDecl, ConfigSlice, Contribution, Fragment, Gate, GateCheck, HookDecl, Manifest, OnError,
    Predicate, ReviewerLane, Role, RuntimeCompat, SliceType, Step, StepRef, Tier,
};
pub use document::Document;
pub use problem::Problem;
pub use rule::{Origin, Rule, When, rule_by_id};
pub use rule_table::{RULES, RuleId};
pub use safe_name::{escapes_root, is_safe_bundle_path, is_safe_stem, leaves_root};

#[cfg(test)]
mod tests;
