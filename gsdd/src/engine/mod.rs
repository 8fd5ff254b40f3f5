//! The composed registry of every project in use: one writer, immutable snapshots, never stale.
//!
//! Readers hold an `Arc<Snapshot>`. A query looks at the few files that decide its snapshot and asks the writer to
//! compose again when one differs (D-03); watching only makes that happen earlier and tells subscribers.

mod audited;
mod bundles;
mod change;
mod first_party;
mod links;
mod locks;
mod looks;
mod operations;
mod reconcile;
mod roots;
mod scan;
mod snapshot;
mod turns;
mod writer;

pub(crate) use bundles::{NotRunnable, Runnable, read_fragment};
pub(crate) use first_party::{BaseSource, Shipped, load as load_base};
pub(crate) use reconcile::ReconcileWish;
pub(crate) use snapshot::{Overlay, Snapshot, WiredHook};
pub(crate) use writer::{Engine, RemoveWish, SwitchRequest};

#[cfg(all(test, unix))]
mod tamper_tests;
#[cfg(all(test, unix))]
mod warm_tests;
