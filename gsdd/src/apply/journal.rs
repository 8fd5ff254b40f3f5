//! What a crash leaves behind: the plan that was under way.
//!
//! The journal lies in our own private folder, never in a project: an intent that a repository brings along is
//! not acted on (T132).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gsdd_core::lifecycle::{Plan, Step};
use serde::{Deserialize, Serialize};

use super::executor::{Tools, perform};
use super::undo;
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;
use crate::fs::fault::{self, Spot};
use crate::patience::Patience;
use crate::store::{ScopeRoot, UpstreamLock, clock, shared_files};

/// A journal holds file contents, so it may be larger than a file.
const MAX_JOURNAL: u64 = 256 * 1024 * 1024;

/// Where the lock is noted that is about to be taken.
const LOCK_NOTE: &str = "lock.note";
/// How long recovery waits for upstream.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// In the name of an entry: its commit point was passed.
const COMMITTED: &str = "committed";
/// A path, as JSON.
const MAX_NOTE: u64 = 64 * 1024;

/// A plan with the mask of the person who asked for it: what recovery creates looks like what the plan would have.
#[derive(Serialize, Deserialize)]
struct Written<P> {
    umask: u32,
    #[serde(flatten)]
    plan: P,
}

/// Writes the plan down before its first step.
pub(super) fn begin(plan: &Plan, folder: &Path, umask: u32) -> io::Result<PathBuf> {
    atomic::private_folder(folder)?;
    let path = folder.join(format!("{}.{}.json", plan.id, clock::epoch_ms()));
    let text = serde_json::to_vec(&Written { umask, plan }).map_err(io::Error::other)?;
    match atomic::write(&path, &text, Mode::Exactly(0o600)) {
        Ok(()) => Ok(path),
        Err(error) => {
            // It may be there all the same, and only not be known to be durable.
            end(&path);
            Err(error)
        }
    }
}

/// Notes that the commit point was passed, where the ledger does not show it: a removal of what no ledger records.
pub(super) fn commit(step: &Step, entry: &mut PathBuf) -> io::Result<()> {
    if !matches!(step, Step::Ledger { before, after, .. } if before == after) {
        return Ok(());
    }
    let noted = entry.with_extension(format!("{COMMITTED}.json"));
    fault::at(Spot::Rename)?;
    fs::rename(&*entry, &noted)?;
    *entry = noted;
    atomic::sync_parent(entry)
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

/// Finishes or takes back every interrupted operation. The caller keeps other processes of this home out.
pub(crate) fn recover(tools: &Tools<'_>) -> Vec<Recovered> {
    clear_noted_lock(tools.journal);
    entries(tools.journal).iter().filter_map(|entry| recover_one(entry, tools)).collect()
}

/// The operations that [`recover`] would settle: capability, and whether it would be finished.
pub(crate) fn interrupted(folder: &Path) -> Vec<(String, bool)> {
    entries(folder)
        .iter()
        .filter_map(|entry| {
            let bytes = bounded_read::read(entry, MAX_JOURNAL).ok()?;
            let Written { plan, .. } = serde_json::from_slice::<Written<Plan>>(&bytes).ok()?;
            let finish = committed(&plan);
            Some((plan.id, finish))
        })
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    entries.sort();
    entries
}

fn recover_one(entry: &Path, tools: &Tools<'_>) -> Option<Recovered> {
    let plan = bounded_read::read(entry, MAX_JOURNAL)
        .map_err(|failure| failure.to_string())
        .and_then(|bytes| serde_json::from_slice::<Written<Plan>>(&bytes).map_err(|error| error.to_string()));
    let (plan, umask) = match plan {
        Ok(Written { umask, plan }) if plan.stray().is_none() => (plan, umask),
        Ok(_) | Err(_) => {
            // Not ours or not whole: the write of a journal is atomic, so nothing was begun with it.
            tracing::error!(path = %entry.display(), "unreadable journal entry, set aside");
            let _ = fs::rename(entry, entry.with_extension("bad"));
            return None;
        }
    };
    let tools = &Tools { umask, ..*tools };
    let is_noted = entry.to_string_lossy().ends_with(&format!(".{COMMITTED}.json"));
    let mut finished = is_noted || committed(&plan);
    let left;
    remove_leftovers(&plan);
    let lock = lock_of(&plan);
    if finished {
        left = match finish(&plan, tools) {
            // What can't be finished is taken back, as it would have been without the interruption.
            Finish::Stuck(_) if !is_noted => {
                finished = false;
                undo::undo(&plan.steps, tools)
            }
            Finish::Done(left) | Finish::Stuck(left) => left,
        };
    } else if is_overtaken(&plan) {
        left = undo::undo(&without_swap(&plan.steps), tools);
    } else {
        left = undo::undo(&plan.steps, tools);
    }
    // The lock lies in a folder that may have to go.
    drop(lock);
    drop_folders(&plan, finished);
    tracing::warn!(id = %plan.id, finished, ?left, "an interrupted operation was settled");
    // A disk that is full now may have room for the rest at the next sweep.
    if left.is_empty() {
        end(entry);
    }
    Some(Recovered { id: plan.id, finished, left })
}

/// Does everything from the commit point on; returns a line for each step that could not be done. After the first that
/// is more than tidying up nothing is done any more: what is tidied up is needed to take it all back.
fn finish(plan: &Plan, tools: &Tools<'_>) -> Finish {
    let mut left = Vec::new();
    for step in plan.steps.get(plan.commit_at()..).unwrap_or_default() {
        if let Err(error) = perform(step, tools).and_then(|()| open_up(step, tools.umask)) {
            left.push(format!("{}: {error}", step.describe()));
            if !step.is_tidying() {
                return Finish::Stuck(left);
            }
        }
    }
    Finish::Done(left)
}

/// What came of going forward, with what could not be done.
enum Finish {
    /// Nothing but litter is left.
    Done(Vec<String>),
    /// A step is in the way of something.
    Stuck(Vec<String>),
}

/// Notes which lock file is about to be created, so that it is found again if its holder dies before its plan is
/// written down.
pub(crate) fn note_lock(folder: &Path, lock: &Path) -> io::Result<()> {
    atomic::private_folder(folder)?;
    let text = serde_json::to_vec(lock).map_err(io::Error::other)?;
    atomic::write(&folder.join(LOCK_NOTE), &text, Mode::Exactly(0o600))
}

fn clear_noted_lock(folder: &Path) {
    let note = folder.join(LOCK_NOTE);
    if let Ok(bytes) = bounded_read::read(&note, MAX_NOTE)
        && let Ok(lock) = serde_json::from_slice::<PathBuf>(&bytes)
    {
        UpstreamLock::clear_dead(&lock);
        let _ = atomic::remove(&note);
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().contains(".tmp.") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Temporary files and locks that the interrupted process could not remove any more.
fn remove_leftovers(plan: &Plan) {
    for step in &plan.steps {
        match step {
            // A file that was deleted is written when that is taken back.
            Step::WriteFile { path, .. } | Step::RemoveFile { path, .. } | Step::Link { path, .. } => {
                atomic::remove_unfinished(path);
            }
            Step::Ledger { path, .. } => {
                atomic::remove_unfinished(path);
                // Recovery takes the lock too, and may itself have been interrupted.
                if let Some(root) = path.parent() {
                    let bundles = ScopeRoot::project(root).bundles();
                    UpstreamLock::clear_dead(&UpstreamLock::mutation_file(&bundles));
                }
            }
            Step::Consent { path, .. } => {
                atomic::remove_unfinished(path);
                if let Some(folder) = path.parent() {
                    UpstreamLock::clear_dead(&UpstreamLock::consent_file(folder));
                }
            }
            Step::MakeFolder { .. }
            | Step::PlaceTree { .. }
            | Step::Move { .. }
            | Step::DropTree { .. }
            | Step::DropFolder { .. } => {}
        }
    }
}

/// Tells upstream that the root of the plan is at work; a root without bundles needs no lock.
fn lock_of(plan: &Plan) -> Option<UpstreamLock> {
    let ledger = plan.steps.iter().find_map(|step| match step {
        Step::Ledger { path, .. } => Some(path),
        _ => None,
    })?;
    let bundles = ScopeRoot::project(ledger.parent()?).bundles();
    if !bundles.is_dir() {
        return None;
    }
    // Recovery can't be put off: whoever is at work waits for us as we do for them.
    let taken = Patience::of(LOCK_PATIENCE).spend(|| UpstreamLock::mutation(&bundles))?;
    taken.inspect_err(|busy| tracing::warn!(%busy, "settled without the lock")).ok()
}

/// A folder is made private first and opened up then; a crash in between is made good here.
fn open_up(step: &Step, umask: u32) -> io::Result<()> {
    #[cfg(unix)]
    if let Step::MakeFolder { path } = step {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::symlink_metadata(path)?.permissions().mode() & 0o7777 == 0o700 {
            atomic::set_folder_mode(path, 0o777 & !umask)?;
        }
    }
    #[cfg(not(unix))]
    let _ = (step, umask);
    Ok(())
}

fn drop_folders(plan: &Plan, finished: bool) {
    let mut folders: Vec<&PathBuf> = plan
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::MakeFolder { path } if !finished => Some(path),
            Step::DropFolder { path } if finished => Some(path),
            _ => None,
        })
        .collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
}

/// Whether somebody else has changed the entry since: the ledger says neither what it said before the plan nor what any
/// of its steps made it say. The live bundle is then theirs.
fn is_overtaken(plan: &Plan) -> bool {
    let mut said = Vec::new();
    let mut now = None;
    for step in &plan.steps {
        let Step::Ledger { path, id, before, after, .. } = step else { continue };
        said.extend([before, after]);
        now = shared_files::ledger_entry(path, id).ok();
    }
    now.is_some_and(|now| !said.contains(&&now))
}

/// The steps without those that put the bundle in its place; what was prepared for that goes.
fn without_swap(steps: &[Step]) -> Vec<Step> {
    steps.iter().filter(|step| !matches!(step, Step::Move { .. })).cloned().collect()
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
