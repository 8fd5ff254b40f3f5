//! One home, two programs, in turns: ours, and a script that does to the files what the other one does.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests: a panic is the report")]

mod alternation;
mod locks;
mod other_side;
