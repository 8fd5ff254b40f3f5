//! Interruptions of the real daemon: at every effect on the disk in turn, and at random moments.
//!
//! Whatever is cut, killed or refused: after the next start everything that the person and we have on the disk is what
//! it was before the operation or what it is after it, byte for byte, and one more start changes nothing.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is the report, and a table tells what was covered"
)]

mod every_effect;
mod random;
mod scene;
