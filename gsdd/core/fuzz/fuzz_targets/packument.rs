//! Fuzzes `sources::packument`, which the property tests in `tests/hostile` run every day.
//!
//! `cargo +nightly fuzz run packument` in `gsdd/core`.

#![no_main]

#[path = "../../tests/hostile/sources.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod sources;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sources::packument(bytes));
