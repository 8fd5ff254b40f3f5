//! Composing installed capabilities on top of the shipped ones.
//!
//! [`compose`] is total: a candidate that cannot be used becomes a [`Skip`], and each gate it declared a
//! [`BlockedGate`], so that the loop can warn about the missing control. Whatever can be blamed on one candidate
//! costs that candidate only.
//!
//! Source: overlay model, "First-party always wins", "When a single overlay fails" and "The one place where a
//! skip must be loud".

mod blocked_gate;
mod candidate;
mod claims;
mod composition;
mod cross_rules;
mod engine;
mod flow_graph;
mod install_check;
mod lookalike;
mod scope;
mod skip;
mod static_gates;
mod supply;

pub use blocked_gate::BlockedGate;
pub use candidate::{Candidate, ConsentVerdict, FragmentRead, LedgerState, ManifestRead};
pub use composition::{Composition, compose};
pub use cross_rules::{check_set, check_shipped};
pub use install_check::{Lost, check_install, lost_without};
pub use lookalike::{Lookalike, lookalikes};
pub use scope::Scope;
pub use skip::{Skip, SkipReason, UnconsentedCause};
