//! What a crash leaves behind: the plan that was under way.
//!
//! The journal lies in our own private folder, never in a project: an intent that a repository brings along is
//! not acted on (T132).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gsdd_core::lifecycle::{Plan, Step};

use super::executor::{Tools, perform};
use super::undo;
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;
use crate::store::shared_files;

/// A journal holds file contents, so it may be larger than a file.
const MAX_JOURNAL: u64 = 256 * 1024 * 1024;

/// Writes the plan down before its first step.
pub(super) fn begin(plan: &Plan, folder: &Path) -> io::Result<PathBuf> {
    atomic::private_folder(folder)?;
    let path = folder.join(format!("{}.json", plan.id));
    let text = serde_json::to_vec(plan).map_err(io::Error::other)?;
    atomic::write(&path, &text, Mode::Exactly(0o600))?;
    Ok(path)
}

/// Forgets the plan: it was carried out or taken back.
pub(super) fn end(entry: &Path) {
    if let Err(error) = atomic::remove(entry) {
        tracing::warn!(path = %entry.display(), %error, "the journal entry stays");
    }
}

/// What recovery did with one interrupted operation.
#[derive(Clone, Debug)]
pub(crate) struct Recovered {
    /// Capability.
    pub(crate) id: String,
    /// Whether it was finished; else it was taken back.
    pub(crate) finished: bool,
    /// What could not be done.
    pub(crate) left: Vec<String>,
}

/// Finishes or takes back every interrupted operation.
pub(crate) fn recover(tools: &Tools<'_>) -> Vec<Recovered> {
    let mut entries: Vec<PathBuf> = fs::read_dir(tools.journal)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    entries.sort();
    entries.iter().filter_map(|entry| recover_one(entry, tools)).collect()
}

fn recover_one(entry: &Path, tools: &Tools<'_>) -> Option<Recovered> {
    let plan = bounded_read::read(entry, MAX_JOURNAL)
        .map_err(|failure| failure.to_string())
        .and_then(|bytes| serde_json::from_slice::<Plan>(&bytes).map_err(|error| error.to_string()));
    let plan = match plan {
        Ok(plan) if plan.stray().is_none() => plan,
        Ok(_) | Err(_) => {
            // Not ours or not whole: the write of a journal is atomic, so nothing was begun with it.
            tracing::error!(path = %entry.display(), "unreadable journal entry, set aside");
            let _ = fs::rename(entry, entry.with_extension("bad"));
            return None;
        }
    };
    let finished = committed(&plan);
    let mut left = Vec::new();
    if finished {
        for step in &plan.steps[plan.commit_at()..] {
            if let Err(error) = perform(step, tools) {
                left.push(format!("{}: {error}", step.describe()));
            }
        }
    } else {
        left = undo::undo(&plan.steps, tools);
    }
    tracing::warn!(id = %plan.id, finished, ?left, "an interrupted operation was settled");
    end(entry);
    Some(Recovered { id: plan.id, finished, left })
}

/// Whether the commit point was passed: the ledger says what the plan wanted it to say.
fn committed(plan: &Plan) -> bool {
    match plan.steps.get(plan.commit_at()) {
        Some(Step::Ledger { path, id, before, after, .. }) => {
            before != after && shared_files::ledger_entry(path, id).ok().is_some_and(|now| now == *after)
        }
        _ => false,
    }
}
