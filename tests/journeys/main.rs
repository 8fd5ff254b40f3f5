//! Journeys of people, and of people who mean no good, through the real programs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests: a panic is the report")]

use gsd_tests::World;

mod audit;
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
mod policy;
mod progress;
mod project_scope;
mod race;
mod reconcile_vectors;
mod registry_source;
mod reviewer;
mod rollback;
mod round_trip;
mod shared_file;
mod signatures;
mod switching;
mod tampering;
mod tarball;
mod together;
mod update;
mod waiting;
mod watching;
mod without_daemon;

/// What `gsdctl list` says of how well it is known where a capability comes from.
fn level_of(world: &World, id: &str) -> String {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    let row = listed["data"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
    row["level"].as_str().unwrap().to_owned()
}
