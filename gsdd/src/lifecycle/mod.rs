//! Install, remove, sweep: gathers facts, asks the core, makes plans, has them carried out.

mod agreement;
mod compare;
mod garbage;
mod inspect;
mod install;
mod link;
mod obtain;
mod outdated;
mod past;
mod permitted;
mod presumed;
mod produced;
mod reconcile;
mod refusal;
mod remove;
mod revoke;
#[cfg(test)]
mod round_trip_tests;
mod stage;
mod steps;
mod stops;
mod sweep;
mod switch;
mod targets;
mod update;
mod verify;
mod wiring;

pub(crate) use inspect::{InspectWish, Inspected, disclosed, inspect};
pub(crate) use install::{Prepared, plan_install};
pub(crate) use link::ctx_of;
pub(crate) use obtain::{asking, caller, max_bytes};
pub(crate) use outdated::{OutdatedRow, OutdatedWish, outdated};
pub(crate) use past::to_go_back_to;
pub(crate) use permitted::{judge_removal, judge_unattended, missing_required, resting};
pub(crate) use produced::{ServerWord, local_server, produced, servers};
pub(crate) use reconcile::{
    describe, judge, not_registered_again, not_swept, plan_repair, plan_unwire, swept,
};
pub(crate) use refusal::{from_apply, from_consent, from_ledger, from_state, from_tree};
pub(crate) use remove::{Removal, plan_remove, removal_root, removed_with};
pub(crate) use revoke::plan_revoke;
pub(crate) use stage::{
    Origin, StageRequest, Staged, Tickets, configured_destination, digest_of, facts_of, stage,
};
pub(crate) use stops::{Accepted, Stop, require_accepted};
pub(crate) use sweep::{interrupted, is_unsettled, recover, settle, sweep, tidy};
pub(crate) use switch::{Switching, plan_switching};
pub(crate) use targets::{detected, host_places};
pub(crate) use update::Installed;
pub(crate) use verify::{Check, found, verify};
