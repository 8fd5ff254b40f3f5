//! The envelope of one loop point: active steps, contributions and gates, their rendered text, and warnings for
//! gates that are missing.
//!
//! Source: overlay model, "The one place where a skip must be loud: gates"; note on #2009.

mod advisory;
mod envelope;
mod markdown;
mod state;

pub use advisory::{MissingGate, advisory, forbidden_gate};
pub use envelope::{ActiveHook, HookKind, PointHook, envelope, point_hooks, select};
pub use markdown::markdown;
pub use state::capability_states;
