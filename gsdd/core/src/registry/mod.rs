//! What the host ships and what the registry is: the loop's contract, the central config keys, the shipped base
//! and the composed views.
//!
//! Source: overlay model, "The central idea" and "Why compose through one builder".

mod base;
mod built_in_words;
mod central_config;
mod composed;
mod host_contract;
mod key_pattern;
mod loop_order;
mod loop_point;
mod standing;
mod view;

pub use base::{Base, BaseManifest, BaseParts, BaseProblem};
pub use built_in_words::{BUILT_IN_WORDS, is_built_in_word};
pub use central_config::{CentralConfig, InvalidCentralConfig};
pub use composed::{CommandFamily, Composed, ConfigEntry, PointHooks, Profile, Registry, Wired};
pub use host_contract::{HostContract, InvalidContract};
pub use key_pattern::{InvalidPattern, KeyPattern};
pub use loop_point::LoopPoint;
pub use view::View;

pub(crate) use loop_order::{Flow, order};
