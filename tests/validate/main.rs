//! `gsdctl validate` through the real programs: what an author sees, and that no file can hang or break it.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a panic is the report, and nobody else reads these files"
)]

mod author;
mod bad_input;
mod desk;
