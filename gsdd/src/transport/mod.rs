//! Moves messages between clients and the method table. Knows how calls, batches, subscriptions and cancellation
//! work, and no method by name.
//!
//! One connection is served by [`serve_conn`] over any two-way stream: a socket, the pipes of `--stdio`, or
//! `tokio::io::duplex` in tests.

mod batch;
mod cancel;
mod connection;
mod current;
mod dispatch;
mod limits;
mod listen;
mod peer;
mod service;
mod writer;

pub use connection::serve_conn;
pub use current::Current;
pub use limits::Limits;
pub use listen::Listener;
pub use peer::Peer;
pub use service::Service;

#[cfg(test)]
mod tests;
