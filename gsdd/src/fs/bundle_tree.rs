//! A whole bundle in memory: read once, judged, hashed and written from the same bytes.
//!
//! A bundle has at most 16 MiB (lifecycle limit of the content hash), so holding it costs little and closes every
//! window between checking a file and using it (threats T38 to T41, T45).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::fault::{self, Spot};
use crate::fs::{atomic, bounded_read, stamp::Stamp};
use gsdd_core::bundle::{Budget, RelPath, TwinGuard, check_member, is_cache_entry, is_vcs_entry};
use gsdd_core::json;
use gsdd_core::trust::{Compared, ContentHash, EntryKind, content_hash};

/// One file of a bundle.
#[derive(Clone, Debug)]
pub(crate) struct BundleFile {
    pub(crate) bytes: Vec<u8>,
    /// The owner's execute bit; all other mode bits are dropped (T11, T12).
    pub(crate) executable: bool,
}

/// Files and folders of a bundle, by safe path.
#[derive(Clone, Debug, Default)]
pub(crate) struct BundleTree {
    pub(crate) files: BTreeMap<String, BundleFile>,
    pub(crate) folders: BTreeSet<String>,
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
    pub(crate) fn new(code: &'static str, path: &Path, reason: impl Into<String>) -> Self {
        Self { code, path: gsdd_core::text::shown(&path.to_string_lossy()), reason: reason.into() }
    }
}

/// How strict reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A source that is about to be staged: member names are judged, version-control folders and caches left out.
    Source,
    /// An installed bundle: everything counts for the content hash, only links and special files are refused.
    Installed,
}

impl BundleTree {
    /// Reads the folder `root`.
    ///
    /// # Errors
    /// The first member that is not allowed.
    pub(crate) fn read(root: &Path, reading: Reading) -> Result<Self, TreeRefusal> {
        let metadata = fs::symlink_metadata(root)
            .map_err(|error| TreeRefusal::new("missing", root, error.to_string()))?;
        if metadata.file_type().is_symlink() {
            return Err(TreeRefusal::new("symlink", root, "the bundle folder is a symlink"));
        }
        if !metadata.is_dir() {
            return Err(TreeRefusal::new("not-a-folder", root, "not a folder"));
        }
        let budget = match reading {
            Reading::Source => Budget::staging(),
            Reading::Installed => Budget::hashing(),
        };
        let mut walk = Walk { root, reading, tree: Self::default(), budget, twins: TwinGuard::new() };
        walk.folder("")?;
        Ok(walk.tree)
    }

    /// Adds one file that came from somewhere else than a folder (a git blob, an archive member).
    pub(crate) fn add(&mut self, path: &RelPath, file: BundleFile) {
        let mut at = 0;
        while let Some(slash) = path.as_str()[at..].find('/') {
            let folder = &path.as_str()[..at + slash];
            if !self.folders.contains(folder) {
                self.folders.insert(folder.to_owned());
            }
            at += slash + 1;
        }
        self.files.insert(path.as_str().to_owned(), file);
    }

    /// The content hash that consent is bound to.
    ///
    /// Source: ADR-1244 D5 rule 8.
    pub(crate) fn content_hash(&self) -> ContentHash {
        let mut entries: Vec<(Vec<u8>, EntryKind<'_>)> =
            self.folders.iter().map(|folder| (folder.as_bytes().to_vec(), EntryKind::Directory)).collect();
        entries.extend(
            self.files.iter().map(|(path, file)| (path.as_bytes().to_vec(), EntryKind::File(&file.bytes))),
        );
        content_hash(&mut entries)
    }

    /// As another content is compared with it.
    pub(crate) fn compared(&self) -> Compared<'_> {
        let manifest = self.file("capability.json").and_then(|file| json::parse_lenient(&file.bytes));
        let files = self.files.iter();
        let files = files.map(|(path, file)| (path.as_str(), (file.bytes.as_slice(), file.executable)));
        Compared { manifest: manifest.unwrap_or_default(), files: files.collect() }
    }

    /// Bytes of the file at `path`, when there is one.
    pub(crate) fn file(&self, path: &str) -> Option<&BundleFile> {
        self.files.get(path)
    }

    /// Writes the whole tree below the new folder `target`, flushed.
    pub(crate) fn write_to(&self, target: &Path, access: Access) -> io::Result<()> {
        fault::at(Spot::MakeFolder)?;
        fs::create_dir_all(target)?;
        for folder in &self.folders {
            fault::at(Spot::MakeFolder)?;
            fs::create_dir_all(target.join(folder))?;
        }
        let files: Vec<(&String, &BundleFile)> = self.files.iter().collect();
        for batch in files.chunks(FLUSHED_TOGETHER) {
            let written = batch.iter().map(|(path, file)| {
                let bits = access.bits(if file.executable { 0o755 } else { 0o644 });
                write_new(&target.join(path), &file.bytes, bits)
            });
            flush(&written.collect::<io::Result<Vec<_>>>()?)?;
        }
        for folder in self.folders.iter().rev() {
            finish_folder(&target.join(folder), access)?;
        }
        finish_folder(target, access)
    }
}

/// Files that are open at the same time.
const FLUSHED_TOGETHER: usize = 64;
/// Threads that wait for the disk. One where effects are counted.
const FLUSHERS: usize = if cfg!(any(test, feature = "fail-points")) { 1 } else { 8 };

/// Flushes all of them. The disk has most of its work done once for files that are waited for together, so a bundle of
/// many files takes a fraction of the time.
fn flush(files: &[fs::File]) -> io::Result<()> {
    let each = |files: &[fs::File]| -> io::Result<()> {
        for file in files {
            fault::at(Spot::Flush)?;
            file.sync_all()?;
        }
        Ok(())
    };
    if FLUSHERS == 1 || files.len() < FLUSHERS {
        return each(files);
    }
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(FLUSHERS));
        let waiting: Vec<_> = parts.map(|part| scope.spawn(move || each(part))).collect();
        waiting.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("a thread that flushes files ended early")),
        })
    })
}

/// Writes a new file, which is not flushed yet.
fn write_new(path: &Path, bytes: &[u8], bits: u32) -> io::Result<fs::File> {
    fault::at(Spot::Create)?;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    fault::write_all(&mut file, bytes)?;
    fault::at(Spot::Mode)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(bits))?;
    }
    #[cfg(not(unix))]
    let _ = bits;
    Ok(file)
}

fn finish_folder(path: &Path, access: Access) -> io::Result<()> {
    atomic::set_folder_mode(path, access.bits(0o755))?;
    atomic::sync_folder(path)
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

struct Walk<'a> {
    root: &'a Path,
    reading: Reading,
    tree: BundleTree,
    budget: Budget,
    twins: TwinGuard,
}

impl Walk<'_> {
    fn folder(&mut self, relative: &str) -> Result<(), TreeRefusal> {
        let here = self.path(relative);
        let listing =
            fs::read_dir(&here).map_err(|error| TreeRefusal::new("unreadable", &here, error.to_string()))?;
        let mut names = Vec::new();
        for entry in listing {
            let entry = entry.map_err(|error| TreeRefusal::new("unreadable", &here, error.to_string()))?;
            let name = entry.file_name();
            let path = entry.path();
            let Some(name) = name.to_str().map(ToOwned::to_owned) else {
                return Err(TreeRefusal::new("name", &path, "the name is not UTF-8"));
            };
            names.push(name);
        }
        names.sort();
        for name in names {
            let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            self.member(&relative)?;
        }
        Ok(())
    }

    fn member(&mut self, relative: &str) -> Result<(), TreeRefusal> {
        let path = self.path(relative);
        let kind = fs::symlink_metadata(&path)
            .map_err(|error| TreeRefusal::new("unreadable", &path, error.to_string()))?
            .file_type();
        if self.reading == Reading::Source {
            if left_out(relative) {
                return Ok(());
            }
            let member = check_member(relative.as_bytes())
                .map_err(|refusal| TreeRefusal::new("name", &path, refusal.to_string()))?;
            self.twins
                .add(&member, kind.is_dir())
                .map_err(|refusal| TreeRefusal::new("twin", &path, refusal.to_string()))?;
        }
        if kind.is_symlink() {
            return Err(TreeRefusal::new("symlink", &path, "symlinks are not allowed in a bundle"));
        }
        if kind.is_dir() {
            self.budget
                .add_dir()
                .map_err(|over| TreeRefusal::new("too-many-entries", &path, over.to_string()))?;
            self.tree.folders.insert(relative.to_owned());
            return self.folder(relative);
        }
        if !kind.is_file() {
            return Err(TreeRefusal::new(
                "non-regular",
                &path,
                "only regular files and folders are allowed in a bundle",
            ));
        }
        let room = self.budget.max_bytes.saturating_sub(self.budget.bytes());
        let (bytes, metadata) = bounded_read::read_no_follow(&path, room)
            .map_err(|failure| TreeRefusal::new(failure.code(), &path, failure.to_string()))?;
        self.budget
            .add_file(bytes.len() as u64)
            .map_err(|over| TreeRefusal::new("too-large", &path, over.to_string()))?;
        self.tree
            .files
            .insert(relative.to_owned(), BundleFile { bytes, executable: is_executable(&metadata) });
        Ok(())
    }

    fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.root.to_owned() } else { self.root.join(relative) }
    }
}

/// Version control data and interpreter caches of the author never become part of a bundle: they are not
/// reproducible, and tools interpret them (T33, T35).
pub(super) fn left_out(relative: &str) -> bool {
    is_vcs_entry(relative.as_bytes()) || is_cache_entry(relative.as_bytes())
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
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

/// Looks at everything in the source folder `root` that [`Reading::Source`] would read, at most `limit` entries. Links
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
