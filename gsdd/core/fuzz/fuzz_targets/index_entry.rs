//! Fuzzes `sources::index_entry`, which the property tests in `tests/hostile` run every day.
//!
//! `cargo +nightly fuzz run index_entry` in `gsdd/core`.

#![no_main]

#[path = "../../tests/hostile/sources.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod sources;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sources::index_entry(bytes));
