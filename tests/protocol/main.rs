//! The life of the daemon and the ways to it, through the real programs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests: a panic is the report")]

mod activation;
mod burst;
mod detour;
mod document;
mod hostile_places;
mod lifecycle;
mod stale_socket;
mod stdio;
mod versions;
