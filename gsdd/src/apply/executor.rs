//! Does the steps of a plan in order; on failure takes back what was done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gsdd_core::lifecycle::{Plan, Step};

use super::{journal, undo};
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::bundle_tree::Access;
use crate::fs::fault::{self, Spot};
use crate::store::{Objects, UpstreamLock, shared_files};

/// What the executor needs beside the plan.
pub(crate) struct Tools<'a> {
    /// The store of agreed contents.
    pub(crate) objects: &'a Objects,
    /// Folder of the journal, ours and private.
    pub(crate) journal: &'a Path,
    /// The present time, as ledgers write it.
    pub(crate) now: &'a str,
    /// The caller's mask for new files: what we create for a person looks as if they had created it.
    pub(crate) umask: u32,
}

/// Why a plan was not carried out. The disk is as it was before, unless `left` says otherwise.
#[derive(Debug, thiserror::Error)]
#[error("{activity} {path}: {source}")]
pub(crate) struct ApplyFailure {
    pub(crate) activity: &'static str,
    pub(crate) path: String,
    pub(crate) source: io::Error,
    /// What could not be taken back; empty in the ordinary case.
    pub(crate) left: Vec<String>,
}

/// A plan that was carried out and is still written down; dropped without [`Done::close`], the next sweep finishes it.
#[must_use]
#[derive(Debug)]
pub(crate) struct Done {
    entry: Option<PathBuf>,
    /// Something behind the commit point could not be deleted.
    untidy: bool,
}

impl Done {
    /// Forgets the plan, unless something of it is left for the next sweep.
    pub(crate) fn close(self) {
        if let Some(entry) = self.entry.filter(|_| !self.untidy) {
            journal::end(&entry);
        }
    }
}

/// Carries out `plan`.
///
/// # Errors
/// [`ApplyFailure`] after everything that was done has been taken back.
pub(crate) fn apply(plan: &Plan, tools: &Tools<'_>) -> Result<Done, ApplyFailure> {
    if plan.is_empty() {
        return Ok(Done { entry: None, untidy: false });
    }
    let fail = |activity, path: &Path, source| ApplyFailure {
        activity,
        path: gsdd_core::text::shown(&path.to_string_lossy()),
        source,
        left: Vec::new(),
    };
    if let Some(stray) = plan.stray() {
        return Err(fail(
            "refusing to touch",
            stray,
            io::Error::other("outside of what this operation may change"),
        ));
    }
    let mut entry = journal::begin(plan, tools.journal, tools.umask)
        .map_err(|error| fail("writing the journal in", tools.journal, error))?;
    let mut untidy = false;
    for (at, step) in plan.steps.iter().enumerate() {
        let done = perform(step, tools)
            .and_then(|()| if step.is_commit() { journal::commit(step, &mut entry) } else { Ok(()) })
            .and_then(|()| fault::at(Spot::StepDone));
        if let Err(error) = done {
            if at > plan.commit_at() && step.is_tidying() {
                // Litter is no reason to take back what is complete; the sweep tries again.
                tracing::warn!(step = step.describe(), %error, "not tidied up");
                untidy = true;
                continue;
            }
            let path = step.paths().last().map_or_else(PathBuf::new, |path| path.to_path_buf());
            let mut failure = fail(activity(step), &path, error);
            failure.left = undo::undo(&plan.steps[..=at], tools);
            // What could not be put back is tried again by the next sweep.
            if failure.left.is_empty() {
                journal::end(&entry);
            }
            return Err(failure);
        }
    }
    Ok(Done { entry: Some(entry), untidy })
}

/// Does one step; fine when it was done before.
pub(crate) fn perform(step: &Step, tools: &Tools<'_>) -> io::Result<()> {
    match step {
        Step::MakeFolder { path } => make_folder(path, tools.umask),
        Step::PlaceTree { path, object } => place_tree(path, object, tools),
        Step::Move { from, to } => rename_folder(from, to),
        Step::DropTree { path } => drop_tree(path),
        Step::DropFolder { path } => drop_folder(path),
        Step::WriteFile { path, before, after, mode, .. } => {
            match read_optional(path)? {
                now if now.as_deref() == Some(&after.0) => return Ok(()),
                now if now.as_deref() == before.as_ref().map(|bytes| bytes.0.as_slice()) => {}
                _ => {
                    return Err(io::Error::other(
                        "the file changed while this operation was prepared; try again",
                    ));
                }
            }
            atomic::write(path, &after.0, mode.map_or(Mode::Keep(tools.umask), Mode::Exactly))
        }
        Step::Link { path, after, .. } => point(path, after.as_deref()),
        Step::RemoveFile { path, before, .. } => match read_optional(path)? {
            None => Ok(()),
            Some(now) if now == before.0 => atomic::remove(path),
            Some(_) => Err(io::Error::other("the file changed while this operation was prepared; try again")),
        },
        Step::Ledger { path, id, after, .. } => {
            shared_files::put_ledger_entry(path, id, after.as_ref(), tools.now, tools.umask)
        }
        Step::Consent { path, root, id, after, .. } => {
            shared_files::put_consent_record(path, root, id, after.as_ref())
        }
    }
}

fn activity(step: &Step) -> &'static str {
    match step {
        Step::MakeFolder { .. } => "creating",
        Step::Move { .. } => "moving to",
        Step::DropTree { .. } | Step::DropFolder { .. } | Step::RemoveFile { .. } => "deleting",
        Step::Link { .. }
        | Step::PlaceTree { .. }
        | Step::WriteFile { .. }
        | Step::Ledger { .. }
        | Step::Consent { .. } => "writing",
    }
}

/// Makes `path` a link to `target`, or removes the link. Anything else at `path` is left alone.
pub(crate) fn point(path: &Path, target: Option<&Path>) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_symlink() => {
            return Err(io::Error::other("something that is not our link is in the way"));
        }
        Ok(_) if fs::read_link(path).ok().as_deref() == target => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let Some(target) = target else { return atomic::remove(path) };
    // A link can't be replaced in place: make another one and rename it over the old.
    let folder = path.parent().ok_or_else(|| io::Error::other("a link needs a folder"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    fault::at(Spot::Create)?;
    let fresh = tempfile::Builder::new()
        .prefix(&format!("{name}.tmp."))
        .rand_bytes(8)
        .make_in(folder, |fresh| symlink(target, fresh))?;
    fault::at(Spot::Rename)?;
    fresh.into_temp_path().persist(path).map_err(|refused| refused.error)?;
    atomic::sync_parent(path)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, link)
}

fn make_folder(path: &Path, umask: u32) -> io::Result<()> {
    fault::at(Spot::MakeFolder)?;
    match fs::create_dir(path).and_then(|()| atomic::set_folder_mode(path, 0o777 & !umask)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

fn place_tree(path: &Path, object: &str, tools: &Tools<'_>) -> io::Result<()> {
    drop_tree(path)?;
    tools.objects.copy_to(object, path, Access::Shared { umask: tools.umask })?;
    atomic::sync_parent(path)
}

fn rename_folder(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) && to.exists() {
        return Ok(());
    }
    fault::at(Spot::Rename)?;
    fs::rename(from, to)?;
    atomic::sync_parent(to)?;
    atomic::sync_parent(from)
}

/// Deletes a folder and what is in it; a symlink is unlinked, never followed (T57).
pub(crate) fn drop_tree(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_dir() => {
            atomic::make_writable(path);
            fault::at(Spot::Remove)?;
            fs::remove_dir_all(path)?;
            atomic::sync_parent(path)
        }
        Ok(_) => atomic::remove(path),
    }
}

/// Does the last steps of a plan once more: a lock file may have kept a folder from being empty. Says whether a folder is
/// left for the next sweep: it could not be deleted, or a lock in it could not.
pub(crate) fn drop_empty_folders(plan: &Plan) -> bool {
    let mut is_left = false;
    for step in &plan.steps {
        if let Step::DropFolder { path } = step {
            is_left |= drop_folder(path).is_err() || has_lock(path);
        }
    }
    is_left
}

fn has_lock(folder: &Path) -> bool {
    [UpstreamLock::mutation_file(folder), UpstreamLock::consent_file(folder)]
        .iter()
        .any(|lock| fs::symlink_metadata(lock).is_ok())
}

fn drop_folder(path: &Path) -> io::Result<()> {
    fault::at(Spot::Remove)?;
    match fs::remove_dir(path) {
        Ok(()) => atomic::sync_parent(path),
        // Not empty: somebody else uses it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The bytes of a file, or that there is none.
pub(super) fn read_optional(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match bounded_read::read(path, MAX_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadFailure::Missing) => Ok(None),
        Err(failure) => Err(io::Error::other(failure.to_string())),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn t57_a_deletion_does_not_follow_links() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, tree) = (dir.path().join("outside"), dir.path().join("tree"));
        fs::create_dir_all(outside.join("kept")).unwrap();
        fs::set_permissions(outside.join("kept"), fs::Permissions::from_mode(0o500)).unwrap();
        fs::create_dir_all(tree.join("read-only/deep")).unwrap();
        symlink(&outside, tree.join("read-only/out")).unwrap();
        symlink(outside.join("kept"), tree.join("kept")).unwrap();
        fs::set_permissions(tree.join("read-only"), fs::Permissions::from_mode(0o500)).unwrap();
        drop_tree(&tree).unwrap();
        assert!(fs::symlink_metadata(&tree).is_err());
        // A link in the place of the folder itself.
        symlink(&outside, &tree).unwrap();
        drop_tree(&tree).unwrap();
        assert!(fs::symlink_metadata(&tree).is_err());
        let mode = fs::metadata(outside.join("kept")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500, "it is not even made writable");
    }
}
