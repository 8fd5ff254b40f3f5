//! A bundle on its way in: written member by member into a private folder beside the stored contents, and judged
//! there. What is agreed to is moved into the store as it lies; everything else goes with the last who knows of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use gsdd_core::bundle::{Budget, RelPath, TwinGuard, check_member};

use super::atomic;
use super::bounded_read;
use super::bundle_tree::{
    BundleTree, TreeRefusal, is_executable, join, left_out, names, refuse_kind, require_folder,
};
use super::crew::{Crew, PIECE};
use super::fault::{self, Spot};

/// Begins the name of a folder in which a content is written; the number of its process follows.
pub(crate) const UNFINISHED: &str = ".new-";

/// Where bundles are staged, and how much one may hold.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// The folder of the stored contents: what is staged beside them is kept by a rename.
    pub(crate) objects: PathBuf,
    /// Most content of a bundle.
    pub(crate) max_bytes: u64,
}

/// A private folder with a bundle in it.
#[derive(Debug)]
pub(crate) struct StagingFolder {
    path: PathBuf,
    /// Where it was moved to be kept.
    kept: OnceLock<PathBuf>,
    /// Work on its files that was begun early.
    begun: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl StagingFolder {
    /// A new one in `objects`, readable and writable by us only.
    pub(crate) fn new(objects: &Path) -> io::Result<Self> {
        atomic::private_folder(objects)?;
        fault::at(Spot::MakeFolder)?;
        let prefix = format!("{UNFINISHED}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let made = builder.tempdir_in(objects)?;
        Ok(Self { path: made.keep(), kept: OnceLock::new(), begun: Mutex::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.kept.get().unwrap_or(&self.path)
    }

    /// Whether it has become a stored content.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.get().is_some()
    }

    /// Begins work on its files that is wanted when it is kept.
    pub(super) fn begin(&self, work: impl FnOnce() -> io::Result<()> + Send + 'static) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::spawn(work));
    }

    /// Waits for the work that was begun; `None` when there is none.
    pub(super) fn begun(&self) -> Option<io::Result<()>> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(
            begun.join().unwrap_or_else(|_| Err(io::Error::other("a thread that flushes files ended early"))),
        )
    }

    /// Renames it to `target`, where it stays.
    pub(crate) fn keep(&self, target: &Path) -> io::Result<()> {
        fault::at(Spot::Rename)?;
        fs::rename(&self.path, target)?;
        // Set once: what is kept has another path and can't be renamed from the old one again.
        let _ = self.kept.set(target.to_owned());
        Ok(())
    }
}

impl StagingFolder {
    /// Deletes it, unless it was kept.
    pub(super) fn discard(&self) {
        if self.kept.get().is_none() {
            atomic::make_writable(&self.path);
            // What can't be removed now is swept later.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        self.discard();
    }
}

/// A bundle that is being written.
#[derive(Debug)]
pub(crate) struct Staging {
    /// Writes small files; goes before the folder that they are in.
    writer: Crew<TreeRefusal>,
    folder: StagingFolder,
    max_bytes: u64,
    /// Paths of its files.
    pub(crate) files: BTreeSet<String>,
    /// Paths of its folders.
    pub(crate) folders: BTreeSet<String>,
    buffer: Vec<u8>,
}

impl Staging {
    pub(crate) fn new(room: &Room) -> Result<Self, TreeRefusal> {
        let folder =
            StagingFolder::new(&room.objects).map_err(|error| TreeRefusal::disk(&room.objects, &error))?;
        Ok(Self {
            writer: Crew::new(1),
            folder,
            max_bytes: room.max_bytes,
            files: BTreeSet::new(),
            folders: BTreeSet::new(),
            buffer: vec![0; PIECE],
        })
    }

    /// Adds a folder and those around it.
    pub(crate) fn add_folder(&mut self, path: &RelPath) -> Result<(), TreeRefusal> {
        self.make_folders(path.as_str())
    }

    /// Adds a file of what `next` gives until it gives nothing more; with the number of bytes.
    ///
    /// # Errors
    /// Our disk can't take it, and those of `next`.
    pub(crate) fn add_file<E: From<TreeRefusal>>(
        &mut self,
        path: &RelPath,
        executable: bool,
        mut next: impl FnMut(&mut [u8]) -> Result<usize, E>,
    ) -> Result<u64, E> {
        let path = path.as_str();
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.make_folders(folder)?;
        }
        let at = self.folder.path().join(path);
        self.files.insert(path.to_owned());
        let mut count = fill(&mut self.buffer, &mut next)?;
        let mut written = count as u64;
        if count < self.buffer.len() {
            let content = self.buffer[..count].to_vec();
            self.writer.give(move || {
                let write = || fault::write_all(&mut create_private(&at, executable)?, &content);
                write().map_err(|error| TreeRefusal::disk(&at, &error))
            })?;
            return Ok(written);
        }
        let failed = |error: io::Error| TreeRefusal::disk(&at, &error);
        let mut file = create_private(&at, executable).map_err(failed)?;
        while count > 0 {
            fault::write_all(&mut file, &self.buffer[..count]).map_err(failed)?;
            count = next(&mut self.buffer)?;
            written += count as u64;
        }
        Ok(written)
    }

    /// Adds a file of these bytes.
    ///
    /// # Errors
    /// Our disk can't take it.
    #[cfg(test)]
    pub(crate) fn add_bytes(
        &mut self,
        path: &RelPath,
        executable: bool,
        mut bytes: &[u8],
    ) -> Result<(), TreeRefusal> {
        self.add_file(path, executable, |buffer| Ok::<_, TreeRefusal>(bytes.read(buffer).unwrap_or(0)))?;
        Ok(())
    }

    fn make_folders(&mut self, path: &str) -> Result<(), TreeRefusal> {
        if self.folders.contains(path) {
            return Ok(());
        }
        if let Some((outer, _)) = path.rsplit_once('/') {
            self.make_folders(outer)?;
        }
        let at = self.folder.path().join(path);
        create_private_folder(&at).map_err(|error| TreeRefusal::disk(&at, &error))?;
        self.folders.insert(path.to_owned());
        Ok(())
    }

    /// Reads what was written, of which only what lies in the folder `place` is the bundle; empty for all of it.
    ///
    /// # Errors
    /// Our disk, or what somebody put there in the meantime.
    pub(crate) fn finish(self, place: &str) -> Result<BundleTree, TreeRefusal> {
        let Self { writer, folder, max_bytes, .. } = self;
        writer.finish()?;
        if place.is_empty() {
            return BundleTree::of_staged(folder, max_bytes);
        }
        // Beside the others and with nothing around it, as it has to lie to be kept.
        let objects = folder.path().parent().unwrap_or(folder.path()).to_owned();
        let inner = StagingFolder::new(&objects).and_then(|inner| {
            fs::remove_dir(inner.path())?;
            fault::at(Spot::Rename)?;
            fs::rename(folder.path().join(place), inner.path())?;
            Ok(inner)
        });
        let inner = inner.map_err(|error| TreeRefusal::disk(&objects, &error))?;
        BundleTree::of_staged(inner, max_bytes)
    }
}

/// Copies the folder `root` of somebody else: names are judged, version control and caches left out.
///
/// # Errors
/// The first member that is not allowed, or our own disk.
pub(crate) fn stage_folder(root: &Path, room: &Room) -> Result<BundleTree, TreeRefusal> {
    require_folder(root)?;
    let mut walk = Walk {
        root,
        staging: Staging::new(room)?,
        budget: Budget::staging(room.max_bytes),
        twins: TwinGuard::new(),
    };
    walk.folder("")?;
    walk.staging.finish("")
}

struct Walk<'a> {
    root: &'a Path,
    staging: Staging,
    budget: Budget,
    twins: TwinGuard,
}

impl Walk<'_> {
    fn folder(&mut self, relative: &str) -> Result<(), TreeRefusal> {
        for name in names(&join(self.root, relative))? {
            let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            self.member(&relative)?;
        }
        Ok(())
    }

    fn member(&mut self, relative: &str) -> Result<(), TreeRefusal> {
        if left_out(relative) {
            return Ok(());
        }
        let path = join(self.root, relative);
        let kind =
            fs::symlink_metadata(&path).map_err(|error| TreeRefusal::unreadable(&path, &error))?.file_type();
        let member = check_member(relative.as_bytes())
            .map_err(|refusal| TreeRefusal::new("name", &path, refusal.to_string()))?;
        self.twins
            .add(&member, kind.is_dir())
            .map_err(|refusal| TreeRefusal::new("twin", &path, refusal.to_string()))?;
        refuse_kind(&path, kind)?;
        if kind.is_dir() {
            self.budget
                .add_dir()
                .map_err(|over| TreeRefusal::new("too-many-entries", &path, over.to_string()))?;
            self.staging.add_folder(&member)?;
            return self.folder(relative);
        }
        let (mut file, metadata) = bounded_read::open_regular(&path)
            .map_err(|failure| TreeRefusal::new(failure.code(), &path, failure.to_string()))?;
        let too_large =
            |over: gsdd_core::bundle::BudgetExceeded| TreeRefusal::new(over.name(), &path, over.to_string());
        // Nothing of a file that is too large is copied, and what it grows by counts.
        let mut announced = metadata.len();
        self.budget.add_file(announced).map_err(too_large)?;
        let budget = &mut self.budget;
        self.staging.add_file(&member, is_executable(&metadata), |buffer| {
            let count = file.read(buffer).map_err(|error| TreeRefusal::unreadable(&path, &error))?;
            let grown = (count as u64).saturating_sub(announced);
            announced = announced.saturating_sub(count as u64);
            budget.add_bytes(grown).map_err(too_large)?;
            Ok::<_, TreeRefusal>(count)
        })?;
        Ok(())
    }
}

/// Fills `buffer`, unless there is less to come; with the number of bytes.
fn fill<E>(buffer: &mut [u8], next: &mut impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
    let mut filled = 0;
    while filled < buffer.len() {
        match next(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// A new file that only we read, and nobody writes once it is closed.
fn create_private(path: &Path, executable: bool) -> io::Result<fs::File> {
    fault::at(Spot::Create)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if executable { 0o500 } else { 0o400 });
    }
    #[cfg(not(unix))]
    let _ = executable;
    options.open(path)
}

fn create_private_folder(path: &Path) -> io::Result<()> {
    fault::at(Spot::MakeFolder)?;
    #[cfg_attr(not(unix), expect(unused_mut, reason = "the mode is one of Unix"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_is_copied_as_it_may_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        for (path, text) in
            [("capability.json", "{}"), (".git/config", "x"), ("a/b/run.sh", "12"), ("a/m.pyc", "")]
        {
            let at = source.join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            atomic::write(&at, text.as_bytes(), atomic::Mode::Exactly(0o4777)).unwrap();
        }
        let room = |max_bytes| Room { objects: dir.path().join("objects"), max_bytes };
        let left = || fs::read_dir(dir.path().join("objects")).unwrap().count();
        let tree = stage_folder(&source, &room(4)).unwrap();
        assert_eq!(tree.files.keys().collect::<Vec<_>>(), ["a/b/run.sh", "capability.json"]);
        assert_eq!(tree.folders.iter().collect::<Vec<_>>(), ["a", "a/b"]);
        let mode = |path: &str| fs::metadata(tree.root().join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(""), mode("a/b"), mode("a/b/run.sh")), (0o700, 0o700, 0o500));
        assert_eq!(left(), 1);
        // Also once it is read-only.
        tree.seal().unwrap();
        drop(tree);
        assert_eq!(left(), 0);
        let refusal = stage_folder(&source, &room(3)).unwrap_err();
        assert_eq!((refusal.code, left()), ("too-large", 0));
    }
}
