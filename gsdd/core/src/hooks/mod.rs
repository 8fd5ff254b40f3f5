//! What a host is told on a tool call: which scripts apply, and one answer made of theirs.
//!
//! The daemon decides which consented scripts apply to an event and the client runs them; their outcomes are
//! merged here. Nothing here runs anything.
//!
//! Source: decisions D-04 (deny > ask > allow > none; context concatenated in capability order) and D-25.

mod answer;
mod matcher;
mod reply;

pub use answer::{Answer, Decision, Outcome, ScriptRun, merge};
pub use matcher::Matcher;
pub use reply::{HostReply, render};
