//! Agreed contents, each in a private read-only folder named by its content hash.
//!
//! What runs, runs from here: a project tree that changes between the check and the use changes nothing (D-05,
//! T145).

use std::fs;
use std::io;
use std::path::PathBuf;

use gsdd_core::trust::ContentHash;

use super::process::is_alive;
use crate::fs::atomic;
use crate::fs::bundle_tree::{Access, BundleTree, Reading, TreeRefusal};
use crate::fs::fault::{self, Spot};

/// Begins the name of a folder in which a content is written; the number of its process follows.
const UNFINISHED: &str = ".new-";

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

    /// Stores a bundle; fine when it is there already. A damaged copy is replaced: to install again is its remedy.
    pub(crate) fn keep(&self, tree: &BundleTree, hash: &ContentHash) -> io::Result<PathBuf> {
        let target = self.path(hash.as_str());
        if self.load(hash.as_str()).is_ok() {
            return Ok(target);
        }
        atomic::private_folder(&self.folder)?;
        let temporary = self.unfinished()?;
        // Renamed beside itself, a folder may be read-only, and the content is whole from its first moment.
        tree.write_to(temporary.path(), Access::PrivateReadOnly)?;
        let damaged = match fs::symlink_metadata(&target) {
            Ok(_) => {
                atomic::set_folder_mode(&target, 0o700)?;
                let aside = self.unfinished()?;
                fault::at(Spot::Rename)?;
                fs::rename(&target, aside.path().join("damaged"))?;
                Some(aside)
            }
            Err(_) => None,
        };
        fault::at(Spot::Rename)?;
        match fs::rename(temporary.path(), &target) {
            Ok(()) => drop(temporary.keep()),
            Err(_) if self.load(hash.as_str()).is_ok() => return Ok(target),
            Err(error) => return Err(error),
        }
        drop(damaged);
        atomic::sync_folder(&self.folder)?;
        Ok(target)
    }

    fn unfinished(&self) -> io::Result<tempfile::TempDir> {
        fault::at(Spot::MakeFolder)?;
        let prefix = format!("{UNFINISHED}{}-", std::process::id());
        tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.folder)
    }

    /// Whether a folder of this name is what a process left that has ended while it wrote.
    pub(crate) fn is_left_behind(name: &str) -> bool {
        let number = name.strip_prefix(UNFINISHED).and_then(|rest| rest.split('-').next());
        number.and_then(|pid| pid.parse().ok()).is_some_and(|pid| !is_alive(pid))
    }

    /// Reads a stored bundle and proves that it is what its name says.
    pub(crate) fn load(&self, hash: &str) -> Result<BundleTree, ObjectRefusal> {
        let tree = BundleTree::read(&self.path(hash), Reading::Installed)?;
        if tree.content_hash().as_str() == hash {
            Ok(tree)
        } else {
            Err(ObjectRefusal::Damaged("its bytes do not match its name".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::bundle_tree::BundleFile;

    fn bundle() -> BundleTree {
        let mut tree = BundleTree::default();
        let path = gsdd_core::bundle::check_member(b"hooks/a.sh").unwrap();
        tree.add(&path, BundleFile { bytes: b"#!/bin/sh\n".to_vec(), executable: true });
        tree
    }

    #[test]
    fn kept_content_is_read_only_and_proven_on_load() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let hash = bundle().content_hash();
        let path = objects.keep(&bundle(), &hash).unwrap();
        assert_eq!(objects.keep(&bundle(), &hash).unwrap(), path);
        assert_eq!(objects.load(hash.as_str()).unwrap().files.len(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let script = path.join("hooks/a.sh");
            assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o500);
            fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
            use std::io::Write as _;
            fs::OpenOptions::new().append(true).open(&script).unwrap().write_all(b"evil").unwrap();
            assert!(matches!(objects.load(hash.as_str()), Err(ObjectRefusal::Damaged(_))));
        }
        assert!(matches!(objects.load("sha512-none"), Err(ObjectRefusal::Missing)));
    }
}
