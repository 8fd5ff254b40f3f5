//! Where capabilities come from: the grammar of source specs, pins, and the policy over them. Fetching is the
//! shell's; what comes back is judged here.
//!
//! Source: ADR-1244 D3 (source kinds), D5 rules 3 and 7 (pins, strict registries), D6 (older compatible versions).

pub mod address;
pub mod choice;
pub mod compat;
pub mod git_ref;
mod grammar;
pub mod index;
pub mod integrity;
pub mod network;
pub mod npm;
pub mod npmrc;
pub mod oci;
pub mod outdated;
pub mod packument;
pub mod policy;
pub mod refusal;
pub mod secret;
pub mod spec;
pub mod sri;
pub mod url;

pub use git_ref::GitRef;
pub use integrity::Pin;
pub use npm::NpmSelector;
pub use refusal::{SpecRefusal, SpecRefusalKind};
pub use spec::{PathStyle, SourceKind, SourceSpec};
