//! Takes steps back, last first.

use std::fs;
use std::io;

use gsdd_core::lifecycle::{FileBytes, Step};

use super::executor::{Tools, drop_tree, perform, point, read_optional};
use crate::fs::atomic::{self, Mode};
use crate::store::shared_files;

/// Takes back `steps`; returns a line for each that could not be taken back.
///
/// A commit point that stays is where it ends: what the ledger says is true has to stay true, and recovery goes forward
/// from there.
pub(super) fn undo(steps: &[Step], tools: &Tools<'_>) -> Vec<String> {
    let mut left = Vec::new();
    for (at, step) in steps.iter().enumerate().rev() {
        if never_moved(step, &steps[..at]) {
            continue;
        }
        if let Err(error) = take_back(step, tools) {
            left.push(format!("{}: {error}", step.describe()));
            if step.is_commit() {
                break;
            }
        }
    }
    left
}

/// After a crash nobody knows which steps were done. What lies at the destination of a move is only what was moved
/// there if the thing that lay there before has been moved away; else it is that thing, and taking it "back" would lose
/// it.
fn never_moved(step: &Step, earlier: &[Step]) -> bool {
    let Step::Move { to: destination, .. } = step else { return false };
    earlier.iter().any(|earlier| match earlier {
        Step::Move { from, to: away } => from == destination && fs::symlink_metadata(away).is_err(),
        _ => false,
    })
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
        Step::Ledger { path, id, before, after, .. } => {
            let now = shared_files::ledger_entry(path, id)
                .map_err(|failure| io::Error::other(failure.to_string()))?;
            if now != *after {
                return Ok(());
            }
            shared_files::put_ledger_entry(path, id, before.as_ref(), tools.now, tools.umask)
        }
        Step::Consent { path, root, id, before, after } => {
            let (store, refused) = shared_files::read_consent(path);
            if let Some(reason) = refused {
                return Err(io::Error::other(reason));
            }
            if store.find(root, id).map(|record| record.to_value()) != *after {
                return Ok(());
            }
            shared_files::put_consent_record(path, root, id, before.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::Objects;

    /// Old and new version of a bundle, cut after every step.
    #[test]
    fn an_upgrade_cut_anywhere_keeps_the_old_bundle() {
        for done in 0..=3 {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            let make = |name: &str| {
                fs::create_dir(path(name)).unwrap();
                atomic::write(&path(name).join("which"), name.as_bytes(), Mode::Keep(0o022)).unwrap();
            };
            make("live");
            let steps = [
                Step::PlaceTree { path: path("staging"), object: String::new() },
                Step::Move { from: path("live"), to: path("backup") },
                Step::Move { from: path("staging"), to: path("live") },
            ];
            for step in &steps[..done] {
                match step {
                    Step::PlaceTree { .. } => make("staging"),
                    Step::Move { from, to } => fs::rename(from, to).unwrap(),
                    _ => {}
                }
            }
            let objects = Objects::new(path("objects"));
            let tools = Tools { objects: &objects, journal: Path::new("/"), now: "", umask: 0o022 };
            assert!(undo(&steps, &tools).is_empty());
            let which = read_optional(&path("live").join("which")).unwrap();
            assert_eq!(which.as_deref(), Some(&b"live"[..]), "cut after {done} steps");
            assert!(!path("staging").exists() && !path("backup").exists());
        }
    }
}
