//! Writing capabilities into hosts: what goes where, text edits that keep every other byte, and recognising what
//! is ours.

pub mod edit;
mod identity;
mod place;

pub use identity::{is_dispatcher, is_server_launcher};
pub use place::{
    EntryKind, HostPlaces, PlacedEntry, PlacedFile, Placement, Produced, ProducedFile, ProducedServer, place,
};
