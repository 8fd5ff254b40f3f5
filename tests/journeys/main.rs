//! Journeys of people, and of people who mean no good, through the real programs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests: a panic is the report")]

mod bad_input;
mod bad_records;
mod commands;
mod consent;
mod git_source;
mod interrupted;
mod loop_render;
mod project_scope;
mod round_trip;
mod shared_file;
mod tampering;
mod together;
mod update;
mod waiting;
mod watching;
mod without_daemon;
