//! The protocol over `tokio::io::duplex`: no process, no socket, no sleeping.

mod calls;
pub(super) mod harness;
mod limits;
mod subscriptions;
