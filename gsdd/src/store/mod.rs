//! What is kept on disk: files shared with upstream, and our own.

pub(crate) mod clock;
mod objects;
mod places;
mod process;
pub(crate) mod shared_files;
mod state;
mod taken_from;
mod upstream_lock;
#[cfg(test)]
mod vector_tests;

pub(crate) use objects::Objects;
pub(crate) use places::{Places, ScopeRoot};
pub(crate) use process::lock_holder;
pub(crate) use state::{
    CapabilityWiring, DocumentRecord, Linked, OwnState, Past, Taken, TargetKey, WiredFile, WiringTarget,
};
pub(crate) use taken_from::{Signer, TakenFrom, level_of};
pub(crate) use upstream_lock::{LockFailure, UpstreamLock};
