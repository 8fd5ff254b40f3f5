//! Watching folders: a hint that something changed, never the reason that an answer is right.
//!
//! Events only mark a project; the writer then rescans it. Folders are watched one by one, not recursively: a
//! recursive watch spends a budget that editors share, and reports links that lead out of the root.

mod debounce;
mod watcher;

pub(crate) use watcher::{WatchState, Watcher};
