//! Install, remove, sweep: gathers facts, asks the core, makes plans, has them carried out.

mod install;
mod presumed;
mod produced;
mod refusal;
mod remove;
mod revoke;
#[cfg(test)]
mod round_trip_tests;
mod stage;
mod sweep;
mod targets;
mod update;
mod wiring;

pub(crate) use install::{Prepared, plan_install};
pub(crate) use produced::{ServerWord, local_server, produced, servers};
pub(crate) use refusal::{from_apply, from_consent, from_ledger, from_state, from_tree};
pub(crate) use remove::{Removal, plan_remove};
pub(crate) use revoke::plan_revoke;
pub(crate) use stage::{Origin, StageRequest, Staged, Tickets, stage};
pub(crate) use sweep::{is_unsettled, settle, sweep};
pub(crate) use targets::{detected, host_places};
pub(crate) use update::Installed;
