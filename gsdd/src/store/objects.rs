//! Agreed contents, each in a private read-only folder named by its content hash.
//!
//! What runs, runs from here: a project tree that changes between the check and the use changes nothing (D-05,
//! T145).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gsdd_core::bundle::budget::{MAX_BYTES, MOST_BYTES};

use super::process::is_alive;
use crate::fs::atomic;
use crate::fs::bounded_read::MAX_FILE;
use crate::fs::bundle_tree::{self, Access, BundleTree, TreeRefusal};
use crate::fs::fault::{self, Spot};
use crate::fs::staging::{StagingFolder, UNFINISHED};

/// The store.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    folder: PathBuf,
}

/// Why a stored bundle can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectRefusal {
    #[error("the agreed content is not in the store any more; install the capability again")]
    Missing,
    #[error("the stored content is damaged ({0}); install the capability again")]
    Damaged(String),
}

impl From<TreeRefusal> for ObjectRefusal {
    fn from(refusal: TreeRefusal) -> Self {
        if refusal.code == "missing" { Self::Missing } else { Self::Damaged(refusal.to_string()) }
    }
}

impl Objects {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of a content, whether it exists or not.
    pub(crate) fn path(&self, hash: &str) -> PathBuf {
        // Base64 has characters that file names must not have; the value is fixed-length, so hex stays unique.
        let digest = hash.strip_prefix("sha512-").unwrap_or(hash);
        let hex: String = digest.bytes().take(48).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(hex)
    }

    /// Whether the content is stored.
    pub(crate) fn has(&self, hash: &str) -> bool {
        self.path(hash).is_dir()
    }

    /// Most bytes of content that a folder can have which is what `hash` was agreed to for: nobody makes us hash more
    /// than that (threat T48). Its manifest may be spelled in another way.
    pub(crate) fn room(&self, hash: &str) -> u64 {
        match bundle_tree::size(&self.path(hash)) {
            0..=MAX_BYTES => MAX_BYTES,
            more => more + MAX_FILE,
        }
    }

    /// Stores a bundle; fine when it is there already. A damaged copy is replaced: to install again is its remedy.
    ///
    /// What was staged is moved, not copied, and its bytes are not looked at again: who uses them does that.
    pub(crate) fn keep(&self, tree: &BundleTree) -> io::Result<PathBuf> {
        let hash = tree.content_hash().as_str();
        let target = self.path(hash);
        if self.verify(hash).is_ok() {
            return Ok(target);
        }
        atomic::private_folder(&self.folder)?;
        let copied;
        // Renamed beside itself, a folder may be read-only, and the content is whole from its first moment.
        let fresh = match tree.staged() {
            Some(staged) => {
                tree.seal()?;
                staged
            }
            None => {
                copied = StagingFolder::new(&self.folder)?;
                copy(tree.root(), copied.path(), Access::PrivateReadOnly, hash)?;
                &copied
            }
        };
        let damaged = match fs::symlink_metadata(&target) {
            Ok(_) => {
                atomic::set_folder_mode(&target, 0o700)?;
                let aside = StagingFolder::new(&self.folder)?;
                fault::at(Spot::Rename)?;
                fs::rename(&target, aside.path().join("damaged"))?;
                Some(aside)
            }
            Err(_) => None,
        };
        match fresh.keep(&target) {
            Ok(()) => {}
            Err(_) if self.verify(hash).is_ok() => return Ok(target),
            Err(error) => return Err(error),
        }
        drop(damaged);
        atomic::sync_folder(&self.folder)?;
        Ok(target)
    }

    /// Copies a stored bundle to the new folder `target`, flushed.
    ///
    /// # Errors
    /// It is not there, or what was written is not what its name says; a part of it is then there.
    pub(crate) fn copy_to(&self, hash: &str, target: &Path, access: Access) -> io::Result<()> {
        copy(&self.path(hash), target, access, hash)
    }

    /// Whether a folder of this name is what a process left that has ended while it wrote.
    pub(crate) fn is_left_behind(name: &str) -> bool {
        let number = name.strip_prefix(UNFINISHED).and_then(|rest| rest.split('-').next());
        number.and_then(|pid| pid.parse().ok()).is_some_and(|pid| !is_alive(pid))
    }

    /// Reads a stored bundle and proves that it is what its name says.
    pub(crate) fn load(&self, hash: &str) -> Result<BundleTree, ObjectRefusal> {
        let tree = BundleTree::read(&self.path(hash), MOST_BYTES)?;
        if tree.content_hash().as_str() == hash { Ok(tree) } else { Err(other_bytes()) }
    }

    /// Proves that a stored bundle is what its name says.
    pub(crate) fn verify(&self, hash: &str) -> Result<(), ObjectRefusal> {
        let found = bundle_tree::hash(&self.path(hash), MOST_BYTES)?;
        if found.as_str() == hash { Ok(()) } else { Err(other_bytes()) }
    }
}

fn other_bytes() -> ObjectRefusal {
    ObjectRefusal::Damaged("its bytes do not match its name".to_owned())
}

fn copy(from: &Path, to: &Path, access: Access, hash: &str) -> io::Result<()> {
    let written = bundle_tree::copy(from, to, access, MOST_BYTES)?;
    if written.as_str() == hash {
        return Ok(());
    }
    Err(io::Error::other("the content changed after it was judged"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::staging::{Room, Staging};

    fn bundle(objects: &Path) -> BundleTree {
        let room = Room { objects: objects.to_owned(), max_bytes: 100 };
        let mut staging = Staging::new(&room).unwrap();
        let path = gsdd_core::bundle::check_member(b"hooks/a.sh").unwrap();
        staging.add_bytes(&path, true, b"#!/bin/sh\n").unwrap();
        staging.finish("").unwrap()
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn kept_content_is_read_only_and_proven_on_load() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("objects");
        let objects = Objects::new(folder.clone());
        let tree = bundle(&folder);
        let hash = tree.content_hash().clone();
        let path = objects.keep(&tree).unwrap();
        assert_eq!((tree.root(), tree.bytes("hooks/a.sh").unwrap().len()), (path.as_path(), 10));
        assert_eq!(objects.keep(&tree).unwrap(), path);
        drop(tree);
        assert_eq!(objects.load(hash.as_str()).unwrap().files.len(), 1);
        assert_eq!(names(&folder), 1, "moved, not copied");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let script = path.join("hooks/a.sh");
            assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o500);
            fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
            use std::io::Write as _;
            fs::OpenOptions::new().append(true).open(&script).unwrap().write_all(b"evil").unwrap();
            assert!(matches!(objects.load(hash.as_str()), Err(ObjectRefusal::Damaged(_))));
            let target = dir.path().join("live");
            assert!(objects.copy_to(hash.as_str(), &target, Access::Shared { umask: 0o022 }).is_err());
            // To store it again is the remedy.
            objects.keep(&bundle(&folder)).unwrap();
            objects.verify(hash.as_str()).unwrap();
            assert_eq!(names(&folder), 1);
        }
        assert!(matches!(objects.load("sha512-none"), Err(ObjectRefusal::Missing)));
    }

    /// What is there is copied when it is not ours to move, and proven while it is.
    #[test]
    fn t041_a_folder_that_changes_after_it_was_read_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let live = dir.path().join("live");
        fs::create_dir(&live).unwrap();
        let put = |text: &str| {
            atomic::write(&live.join("a"), text.as_bytes(), atomic::Mode::Keep(0o022)).unwrap();
        };
        put("one");
        let tree = BundleTree::read(&live, 100).unwrap();
        put("two");
        assert!(objects.keep(&tree).is_err());
        assert!(tree.bytes("a").is_err());
        assert_eq!(names(&dir.path().join("objects")), 0);
        put("one");
        objects.keep(&tree).unwrap();
        assert!(objects.has(tree.content_hash().as_str()));
    }
}
