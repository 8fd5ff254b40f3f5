//! Journeys of people, and of people who mean no good, through the real programs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests: a panic is the report")]

mod bad_input;
mod bad_records;
mod commands;
mod configuration;
mod consent;
mod git_source;
mod interrupted;
mod large;
mod ledger;
mod linked;
mod loop_render;
mod npm_source;
mod oci;
mod outdated;
mod progress;
mod project_scope;
mod reconcile_vectors;
mod registry_source;
mod reviewer;
mod rollback;
mod round_trip;
mod shared_file;
mod switching;
mod tampering;
mod tarball;
mod together;
mod update;
mod waiting;
mod watching;
mod without_daemon;
