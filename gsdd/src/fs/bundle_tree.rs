//! A bundle on the disk: what is in it and its digests, read once, and its bytes on demand.
//!
//! Of a bundle nothing but names and digests is held in memory, however large it is. What is judged, shown and agreed
//! to is a private copy (see [`staging`](super::staging)), and who asks for the bytes of a file gets those that were
//! hashed or none: that closes every window between checking a file and using it (threats T38 to T41, T45).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::crew::{self, Crew, PIECE};
use crate::fs::fault::{self, Spot};
use crate::fs::staging::StagingFolder;
use crate::fs::{atomic, stamp::Stamp};
use gsdd_core::bundle::{Budget, is_cache_entry, is_vcs_entry};
use gsdd_core::json;
use gsdd_core::trust::{ContentHash, ContentHasher};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const MANIFEST: &str = "capability.json";
/// Bytes that are read at once.
const CHUNK: usize = 128 * 1024;

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BundleFile {
    /// Length of its content.
    pub(crate) bytes: u64,
    pub(crate) sha256: [u8; 32],
    /// The owner's execute bit; all other mode bits are dropped (T11, T12).
    pub(crate) executable: bool,
}

/// Files and folders of a bundle, by safe path, as they were when they were read.
#[derive(Clone, Debug)]
pub(crate) struct BundleTree {
    pub(crate) files: BTreeMap<String, BundleFile>,
    pub(crate) folders: BTreeSet<String>,
    content_hash: ContentHash,
    place: Place,
}

/// Where the files are.
#[derive(Clone, Debug)]
enum Place {
    /// A folder that is not ours to move.
    Folder(PathBuf),
    /// A copy that was made to be judged; it goes with the last tree that names it, unless it is kept.
    Staged(Arc<StagingFolder>),
}

/// Why a folder is not a bundle; `code` completes `bundle.<code>`.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub(crate) struct TreeRefusal {
    pub(crate) code: &'static str,
    pub(crate) path: String,
    pub(crate) reason: String,
}

impl TreeRefusal {
    /// The code of a refusal that is no fault of the bundle: our own disk can't take it.
    pub(crate) const DISK: &'static str = "disk";

    pub(crate) fn new(code: &'static str, path: &Path, reason: impl Into<String>) -> Self {
        Self { code, path: gsdd_core::text::shown(&path.to_string_lossy()), reason: reason.into() }
    }

    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new("unreadable", path, error.to_string())
    }

    pub(super) fn disk(path: &Path, error: &io::Error) -> Self {
        Self::new(Self::DISK, path, error.to_string())
    }
}

impl From<io::Error> for TreeRefusal {
    fn from(error: io::Error) -> Self {
        Self::disk(Path::new(""), &error)
    }
}

impl BundleTree {
    /// Reads the folder `root` with at most `max_bytes` of content. Everything counts for the content hash; links and
    /// special files are refused.
    ///
    /// # Errors
    /// The first member that is not allowed.
    pub(crate) fn read(root: &Path, max_bytes: u64) -> Result<Self, TreeRefusal> {
        Self::read_at(root, Place::Folder(root.to_owned()), max_bytes)
    }

    /// Reads what was staged.
    pub(super) fn of_staged(folder: StagingFolder, max_bytes: u64) -> Result<Self, TreeRefusal> {
        let root = folder.path().to_owned();
        Self::read_at(&root, Place::Staged(Arc::new(folder)), max_bytes)
    }

    fn read_at(root: &Path, place: Place, max_bytes: u64) -> Result<Self, TreeRefusal> {
        let entries = list(root)?;
        let mut files = BTreeMap::new();
        let mut digest = Sha256::new();
        let content_hash = visit(root, &entries, max_bytes, &mut |part| {
            match part {
                Part::Folder(_) | Part::File { .. } => {}
                Part::Bytes(bytes) => digest.update(bytes),
                Part::End { path, bytes, executable } => {
                    let sha256 = digest.finalize_reset().into();
                    files.insert(path.to_owned(), BundleFile { bytes, sha256, executable });
                }
            }
            Ok(())
        })?;
        let folders = entries.into_iter().filter(|(_, is_folder)| *is_folder).map(|(path, _)| path).collect();
        Ok(Self { files, folders, content_hash, place })
    }

    /// The content hash that consent is bound to.
    ///
    /// Source: ADR-1244 D5 rule 8.
    pub(crate) fn content_hash(&self) -> &ContentHash {
        &self.content_hash
    }

    /// Where its files are now.
    pub(crate) fn root(&self) -> &Path {
        match &self.place {
            Place::Folder(path) => path,
            Place::Staged(folder) => folder.path(),
        }
    }

    /// The folder that it was staged in, while it lies there.
    pub(crate) fn staged(&self) -> Option<&StagingFolder> {
        match &self.place {
            Place::Staged(folder) if !folder.is_kept() => Some(folder),
            Place::Staged(_) | Place::Folder(_) => None,
        }
    }

    /// What is known of the file at `path`, when there is one.
    pub(crate) fn file(&self, path: &str) -> Option<&BundleFile> {
        self.files.get(path)
    }

    /// Bytes of all files.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    /// The bytes of the file at `path`, which are those that were hashed.
    ///
    /// # Errors
    /// There is no such file, it has more than [`MAX_FILE`] bytes, or other ones now.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>, TreeRefusal> {
        let at = self.root().join(path);
        let file = self.file(path).ok_or_else(|| TreeRefusal::new("missing", &at, "no such file"))?;
        let (bytes, _) = bounded_read::read_no_follow(&at, MAX_FILE)
            .map_err(|failure| TreeRefusal::new(failure.code(), &at, failure.to_string()))?;
        if Sha256::digest(&bytes)[..] == file.sha256[..] {
            Ok(bytes)
        } else {
            Err(TreeRefusal::new("changed", &at, "it changed after it was judged"))
        }
    }

    /// The manifest, of any shape; `None` when there is none that can be read.
    pub(crate) fn manifest(&self) -> Option<Value> {
        json::parse_lenient(&self.bytes(MANIFEST).ok()?)
    }

    /// Begins to make what was staged durable, for [`BundleTree::seal`] to wait for: the person reads meanwhile.
    pub(crate) fn begin_to_seal(&self) {
        if let Some(staged) = self.staged().filter(|_| crew::THREADS) {
            let paths = self.file_paths();
            staged.begin(move || flush_all(paths));
        }
    }

    /// Makes what was staged durable, and read-only for everybody.
    pub(crate) fn seal(&self) -> io::Result<()> {
        match self.staged().and_then(StagingFolder::begun) {
            Some(begun) => begun?,
            None => flush_all(self.file_paths())?,
        }
        let folders = self.folders.iter().rev().map(|folder| self.root().join(folder));
        finish_folders(folders.chain([self.root().to_owned()]), Access::PrivateReadOnly)
    }

    /// Deletes what was staged and not kept, whoever else still knows of it.
    pub(crate) fn discard(&self) {
        if let Some(staged) = self.staged() {
            staged.discard();
        }
    }

    fn file_paths(&self) -> Vec<PathBuf> {
        self.files.keys().map(|path| self.root().join(path)).collect()
    }
}

/// The content hash of the folder `root`, as [`BundleTree::read`] finds it.
///
/// # Errors
/// The first member that is not allowed.
pub(crate) fn hash(root: &Path, max_bytes: u64) -> Result<ContentHash, TreeRefusal> {
    Ok(visit(root, &list(root)?, max_bytes, &mut |_| Ok(()))?)
}

/// Bytes of all files below `root`; 0 when it can't be listed.
pub(crate) fn size(root: &Path) -> u64 {
    let entries = list(root).unwrap_or_default();
    let bytes = |path: &String| fs::symlink_metadata(root.join(path)).map_or(0, |metadata| metadata.len());
    entries.iter().filter(|(_, is_folder)| !**is_folder).map(|(path, _)| bytes(path)).sum()
}

/// Copies the folder `root` to the new folder `target`, flushed, and gives the content hash of what was written.
///
/// # Errors
/// What could not be read or written; a part of it is then there.
pub(crate) fn copy(root: &Path, target: &Path, access: Access, max_bytes: u64) -> io::Result<ContentHash> {
    let entries = list(root).map_err(io::Error::other)?;
    fault::at(Spot::MakeFolder)?;
    fs::create_dir_all(target)?;
    let crew = Crew::new(FLUSHERS);
    let mut open = None;
    let found = visit(root, &entries, max_bytes, &mut |part| {
        match part {
            Part::Folder(path) => {
                fault::at(Spot::MakeFolder)?;
                fs::create_dir(target.join(path))?;
            }
            Part::File { path, bytes } => {
                let path = target.join(path);
                open = Some(match usize::try_from(bytes) {
                    Ok(bytes) if bytes <= PIECE => Open::Small(path, Vec::with_capacity(bytes)),
                    _ => Open::Large(create_new(&path)?),
                });
            }
            Part::Bytes(bytes) => match &mut open {
                Some(Open::Small(_, content)) => content.extend_from_slice(bytes),
                Some(Open::Large(file)) => fault::write_all(file, bytes)?,
                None => {}
            },
            Part::End { executable, .. } => {
                let bits = access.bits(if executable { 0o755 } else { 0o644 });
                let Some(open) = open.take() else { return Ok(()) };
                crew.give(move || {
                    let file = match open {
                        Open::Small(path, content) => {
                            let mut file = create_new(&path)?;
                            fault::write_all(&mut file, &content)?;
                            file
                        }
                        Open::Large(file) => file,
                    };
                    set_mode(&file, bits)?;
                    flush(&file)
                })?;
            }
        }
        Ok(())
    })?;
    // Before the folders are: members are made in them until then.
    crew.finish()?;
    let folders = entries.iter().rev().filter(|(_, is_folder)| **is_folder);
    let folders = folders.map(|(folder, _)| target.join(folder));
    finish_folders(folders.chain([target.to_owned()]), access)?;
    Ok(found)
}

/// A file that is being copied.
enum Open {
    /// Written at its end, as a whole.
    Small(PathBuf, Vec<u8>),
    Large(fs::File),
}

/// Threads that wait for the disk.
const FLUSHERS: usize = 8;

/// Flushes files of ours.
fn flush_all(paths: Vec<PathBuf>) -> io::Result<()> {
    let crew = Crew::new(FLUSHERS);
    for path in paths {
        crew.give(move || {
            // Windows flushes what may be written only.
            flush(&fs::OpenOptions::new().read(true).write(cfg!(windows)).open(path)?)
        })?;
    }
    crew.finish()
}

fn flush(file: &fs::File) -> io::Result<()> {
    fault::at(Spot::Flush)?;
    file.sync_all()
}

/// Sets the modes of folders that are complete, inner ones first, and flushes them.
fn finish_folders(paths: impl Iterator<Item = PathBuf>, access: Access) -> io::Result<()> {
    let crew = Crew::new(FLUSHERS);
    for path in paths {
        atomic::set_folder_mode(&path, access.bits(0o755))?;
        crew.give(move || atomic::sync_folder(&path))?;
    }
    crew.finish()
}

fn create_new(path: &Path) -> io::Result<fs::File> {
    fault::at(Spot::Create)?;
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

fn set_mode(file: &fs::File, bits: u32) -> io::Result<()> {
    fault::at(Spot::Mode)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(bits))?;
    }
    #[cfg(not(unix))]
    let _ = (file, bits);
    Ok(())
}

/// Who may do what with a written bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only we read it, nobody writes it.
    PrivateReadOnly,
    /// As if the person had created it.
    Shared {
        /// Their mask for new files.
        umask: u32,
    },
}

impl Access {
    fn bits(self, bits: u32) -> u32 {
        match self {
            Self::PrivateReadOnly => bits & 0o500,
            Self::Shared { umask } => bits & !umask,
        }
    }
}

/// Members of a folder by path, and whether each is a folder.
type Entries = BTreeMap<String, bool>;

/// Lists what lies below `root`, regular files and folders only.
fn list(root: &Path) -> Result<Entries, TreeRefusal> {
    require_folder(root)?;
    let mut budget = Budget::hashing(0);
    let mut entries = Entries::new();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        for name in names(&join(root, &folder))? {
            let relative = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let path = join(root, &relative);
            let kind = fs::symlink_metadata(&path)
                .map_err(|error| TreeRefusal::unreadable(&path, &error))?
                .file_type();
            refuse_kind(&path, kind)?;
            budget.add_dir().map_err(|over| TreeRefusal::new("too-many-entries", &path, over.to_string()))?;
            if kind.is_dir() {
                open.push(relative.clone());
            }
            entries.insert(relative, kind.is_dir());
        }
    }
    Ok(entries)
}

/// Refuses what is no folder of its own.
pub(super) fn require_folder(root: &Path) -> Result<(), TreeRefusal> {
    let metadata =
        fs::symlink_metadata(root).map_err(|error| TreeRefusal::new("missing", root, error.to_string()))?;
    if metadata.file_type().is_symlink() {
        return Err(TreeRefusal::new("symlink", root, "the bundle folder is a symlink"));
    }
    if !metadata.is_dir() {
        return Err(TreeRefusal::new("not-a-folder", root, "not a folder"));
    }
    Ok(())
}

/// The names in a folder, in order.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, TreeRefusal> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| TreeRefusal::unreadable(folder, &error))? {
        let entry = entry.map_err(|error| TreeRefusal::unreadable(folder, &error))?;
        let name = entry.file_name().into_string();
        names.push(name.map_err(|_| TreeRefusal::new("name", &entry.path(), "the name is not UTF-8"))?);
    }
    names.sort();
    Ok(names)
}

/// Everything that is neither a regular file nor a folder.
pub(super) fn refuse_kind(path: &Path, kind: fs::FileType) -> Result<(), TreeRefusal> {
    if kind.is_symlink() {
        return Err(TreeRefusal::new("symlink", path, "symlinks are not allowed in a bundle"));
    }
    if !kind.is_dir() && !kind.is_file() {
        let reason = "only regular files and folders are allowed in a bundle";
        return Err(TreeRefusal::new("non-regular", path, reason));
    }
    Ok(())
}

pub(super) fn join(root: &Path, relative: &str) -> PathBuf {
    if relative.is_empty() { root.to_owned() } else { root.join(relative) }
}

/// What comes by when a folder is hashed.
enum Part<'a> {
    Folder(&'a str),
    /// A file begins.
    File {
        path: &'a str,
        bytes: u64,
    },
    /// Bytes of the file that began last.
    Bytes(&'a [u8]),
    /// It ends.
    End {
        path: &'a str,
        bytes: u64,
        executable: bool,
    },
}

/// Why hashing ended early.
#[derive(Debug, thiserror::Error)]
enum VisitFailure {
    #[error(transparent)]
    Refused(#[from] TreeRefusal),
    /// Of whoever looks on.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl From<VisitFailure> for io::Error {
    fn from(failure: VisitFailure) -> Self {
        match failure {
            VisitFailure::Refused(refusal) => Self::other(refusal),
            VisitFailure::Disk(error) => error,
        }
    }
}

impl From<VisitFailure> for TreeRefusal {
    fn from(failure: VisitFailure) -> Self {
        match failure {
            VisitFailure::Refused(refusal) => refusal,
            VisitFailure::Disk(error) => error.into(),
        }
    }
}

/// Reads everything once, in the order of the content hash, and shows it to `look`.
fn visit(
    root: &Path,
    entries: &Entries,
    max_bytes: u64,
    look: &mut dyn FnMut(Part<'_>) -> io::Result<()>,
) -> Result<ContentHash, VisitFailure> {
    let mut budget = Budget::hashing(max_bytes);
    let mut hasher = ContentHasher::new(entries.len() as u64);
    let mut buffer = vec![0; CHUNK];
    for (relative, is_folder) in entries {
        if *is_folder {
            hasher.directory(relative.as_bytes());
            look(Part::Folder(relative))?;
            continue;
        }
        let path = join(root, relative);
        let (file, metadata) = bounded_read::open_regular(&path)
            .map_err(|failure| TreeRefusal::new(failure.code(), &path, failure.to_string()))?;
        let (bytes, executable) = (metadata.len(), is_executable(&metadata));
        budget.add_bytes(bytes).map_err(|over| TreeRefusal::new("too-large", &path, over.to_string()))?;
        hasher.file(relative.as_bytes(), bytes);
        look(Part::File { path: relative, bytes })?;
        // One byte more than there were: a file that grows is noticed, and has an end.
        let mut content = file.take(bytes + 1);
        loop {
            let count = content.read(&mut buffer).map_err(|error| TreeRefusal::unreadable(&path, &error))?;
            if count == 0 {
                break;
            }
            hasher.write(&buffer[..count]);
            look(Part::Bytes(&buffer[..count]))?;
        }
        look(Part::End { path: relative, bytes, executable })?;
    }
    let found = hasher.finish();
    Ok(found.map_err(|mismatch| TreeRefusal::new("changed", root, mismatch.to_string()))?)
}

/// Version control data and interpreter caches of the author never become part of a bundle: they are not
/// reproducible, and tools interpret them (T33, T35).
pub(super) fn left_out(relative: &str) -> bool {
    is_vcs_entry(relative.as_bytes()) || is_cache_entry(relative.as_bytes())
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

impl bounded_read::ReadFailure {
    /// Completes `bundle.<code>`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotRegular => "non-regular",
            Self::TooBig { .. } => "too-large",
            Self::Io(_) => "unreadable",
        }
    }
}

/// What a source folder looks like.
#[derive(Default)]
pub(crate) struct SourceStamps {
    /// Equal lists mean that nothing changed that would be staged.
    pub(crate) stamps: Vec<(PathBuf, Stamp)>,
    /// The folders among them; of a folder that is gone, the one around it.
    pub(crate) folders: Vec<PathBuf>,
}

/// Looks at everything in the source folder `root` that would be staged, at most `limit` entries. Links
/// are not followed.
pub(crate) fn source_stamps(root: &Path, limit: usize) -> SourceStamps {
    let mut seen = SourceStamps::default();
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    seen.stamps.push((root.to_owned(), Stamp::of_link(root)));
    let mut open = Vec::new();
    if is_folder(root) {
        open.push(root.to_owned());
    } else {
        seen.folders.extend(root.parent().filter(|parent| parent.is_dir()).map(Path::to_owned));
    }
    while let Some(folder) = open.pop() {
        seen.folders.push(folder.clone());
        let mut paths: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            if left_out(&relative) {
                continue;
            }
            if seen.stamps.len() >= limit {
                return seen;
            }
            seen.stamps.push((path.clone(), Stamp::of_link(&path)));
            if is_folder(&path) {
                open.push(path);
            }
        }
    }
    seen
}

/// One stamp for every file and folder below `root`: equal lists mean that nothing below it changed.
pub(crate) fn stamps(root: &Path, limit: usize) -> Option<Vec<(PathBuf, Stamp)>> {
    let mut found = vec![(root.to_owned(), Stamp::of_link(root))];
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?;
            let path = entry.path();
            if entry.file_type().ok()?.is_dir() {
                open.push(path.clone());
            }
            found.push((path.clone(), Stamp::of_link(&path)));
            if found.len() > limit {
                return None;
            }
        }
    }
    Some(found)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_source_looks_different_after_every_change_that_would_be_staged() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join("source").join(path);
        let root = dir.path().join("source");
        let look = || source_stamps(&root, 100).stamps;
        let put = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            atomic::write(&at(path), text.as_bytes(), atomic::Mode::Keep(0o022)).unwrap();
        };
        assert_eq!(source_stamps(&root, 100).folders, [dir.path()], "what is around it");
        let absent = look();
        put("capability.json", "{}");
        put(".git/config", "one");
        put("hooks/a.sh", "one");
        let first = look();
        assert_ne!(first, absent);
        put(".git/config", "two");
        assert_eq!(look(), first, "never staged");
        put("hooks/a.sh", "two");
        let second = look();
        assert_ne!(second, first);
        // A link is looked at, not through.
        std::os::unix::fs::symlink(dir.path(), at("out")).unwrap();
        let third = source_stamps(&root, 100);
        assert_ne!(third.stamps, second);
        assert_eq!(third.folders, [root.clone(), at("hooks")]);
        assert_eq!(source_stamps(&root, 3).stamps.len(), 3);
        fs::rename(&root, dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &root).unwrap();
        assert_eq!(source_stamps(&root, 100).stamps.len(), 1);
    }
}
