//! Carries out plans: one small, boring match, a journal before it, an undo behind it.

mod executor;
#[cfg(test)]
mod fault_tests;
mod journal;
mod undo;

#[cfg(test)]
pub(crate) use executor::perform;
pub(crate) use executor::{
    ApplyFailure, Done, Tools, apply, drop_empty_folders, drop_tree, point as point_launcher,
};
pub(crate) use journal::{interrupted, note_lock, recover};
