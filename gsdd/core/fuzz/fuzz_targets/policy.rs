//! Fuzzes `checks::policy`, which the property tests in `tests/hostile` run every day.
//!
//! `cargo +nightly fuzz run policy` in `gsdd/core`.

#![no_main]

#[path = "../../tests/hostile/checks.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::policy(bytes));
