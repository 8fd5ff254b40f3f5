//! Writing capabilities into hosts: what goes where, text edits that keep every other byte, and recognising what
//! is ours.

pub mod edit;
mod identity;
mod place;
mod shared_file;

pub use identity::{
    belongs_to, is_dispatcher, is_script_launcher, is_server_launcher, is_upstream_registration, names_script,
};
pub use place::{
    EntryKind, HookEntry, HostPlaces, PlacedEntry, PlacedFile, Placement, Produced, ProducedFile,
    ProducedHook, ProducedServer, SKILL_MARKER, place,
};
pub use shared_file::{NotBelowRoot, SharedFile, shared_file_of};
