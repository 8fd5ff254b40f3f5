//! Takes steps back, last first.

use std::fs;
use std::io;

use gsdd_core::lifecycle::{FileBytes, Step};

use super::executor::{Tools, drop_tree, perform, point, read_optional};
use crate::fs::atomic::{self, Mode};
use crate::store::shared_files;

/// Takes back `steps`; returns a line for each that could not be taken back.
pub(super) fn undo(steps: &[Step], tools: &Tools<'_>) -> Vec<String> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        if let Err(error) = take_back(step, tools) {
            left.push(format!("{}: {error}", step.describe()));
        }
    }
    left
}

fn take_back(step: &Step, tools: &Tools<'_>) -> io::Result<()> {
    match step {
        Step::MakeFolder { path } => perform(&Step::DropFolder { path: path.clone() }, tools),
        Step::PlaceTree { path, .. } => drop_tree(path),
        Step::Move { from, to } => {
            if fs::symlink_metadata(to).is_ok() && fs::symlink_metadata(from).is_err() {
                perform(&Step::Move { from: to.clone(), to: from.clone() }, tools)
            } else {
                Ok(())
            }
        }
        Step::DropTree { .. } | Step::DropFolder { .. } => Ok(()),
        Step::WriteFile { path, before, after, mode, .. } => {
            // Somebody else's later bytes are theirs: only what we wrote is taken back.
            if read_optional(path)?.as_deref() != Some(&after.0) {
                return Ok(());
            }
            match before {
                Some(FileBytes(bytes)) => {
                    atomic::write(path, bytes, mode.map_or(Mode::Keep(tools.umask), Mode::Exactly))
                }
                None => atomic::remove(path),
            }
        }
        Step::Link { path, before, .. } => point(path, before.as_deref()),
        Step::RemoveFile { path, before, .. } => match read_optional(path)? {
            None => atomic::write(path, &before.0, Mode::Keep(tools.umask)),
            Some(_) => Ok(()),
        },
        Step::Ledger { path, id, before, .. } => {
            shared_files::put_ledger_entry(path, id, before.as_ref(), tools.now, tools.umask)
        }
        Step::Consent { path, root, id, before, .. } => {
            shared_files::put_consent_record(path, root, id, before.as_ref())
        }
    }
}
