//! Whole folders as values: bytes, permission bits, symlinks, so that "nothing else changed" can be asserted.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::files::bytes_of;
use crate::world::World;

/// Members that hold a time.
const TIMES: [&str; 4] = ["\"updatedAt\":", "\"consentedAt\":", "\"at\":", "\"revokedAt\":"];

/// What lies at one path.
#[derive(Clone, PartialEq, Eq)]
enum Node {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link { target: PathBuf },
    Other,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { mode } => write!(f, "folder {mode:04o}"),
            Self::File { mode, bytes } => {
                let text = String::from_utf8_lossy(bytes);
                let head: String = text.chars().take(600).collect();
                write!(f, "file {mode:04o}, {} bytes: {head:?}", bytes.len())
            }
            Self::Link { target } => write!(f, "link to {}", target.display()),
            Self::Other => f.write_str("something else"),
        }
    }
}

/// A folder with everything in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Node>);

impl Tree {
    /// Looks at all of `folder`; links are not followed. `leave_out` are paths below it that do not count.
    #[must_use]
    pub fn of(folder: &Path, leave_out: &[&str]) -> Self {
        let mut tree = Self(BTreeMap::new());
        tree.add(folder, Path::new(""), leave_out);
        tree
    }

    fn add(&mut self, root: &Path, below: &Path, leave_out: &[&str]) {
        let path = root.join(below);
        // What a daemon deletes at this very moment is seen by the next look.
        let Ok(metadata) = fs::symlink_metadata(&path) else { return };
        let mode = metadata.mode() & 0o7777;
        let node = match metadata.file_type() {
            kind if kind.is_symlink() => {
                Node::Link { target: fs::read_link(&path).expect("a link has a target") }
            }
            kind if kind.is_dir() => Node::Folder { mode },
            kind if kind.is_file() => Node::File { mode, bytes: bytes_of(&path) },
            _ => Node::Other,
        };
        let is_folder = matches!(node, Node::Folder { .. });
        self.0.insert(below.to_owned(), node);
        if is_folder {
            for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                let inner = below.join(entry.file_name());
                if !leave_out.iter().any(|path| Path::new(path) == inner) {
                    self.add(root, &inner, leave_out);
                }
            }
        }
    }

    /// The same with the times that ledgers, consent stores and our records carry blotted out.
    #[must_use]
    pub fn without_times(&self) -> Self {
        let mut tree = self.clone();
        for (path, node) in &mut tree.0 {
            if let Node::File { bytes, .. } = node
                && [".gsd-capabilities.json", "consent.json", "state.json"]
                    .iter()
                    .any(|name| path.ends_with(name))
            {
                let text = String::from_utf8_lossy(bytes);
                let is_time = |line: &&str| TIMES.iter().any(|name| line.trim_start().starts_with(name));
                let kept: Vec<&str> = text.lines().filter(|line| !is_time(line)).collect();
                *bytes = kept.join("\n").into_bytes();
            }
        }
        tree
    }

    /// The same without what lies below `path`.
    #[must_use]
    pub fn without(&self, path: &str) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(at, _)| !at.starts_with(path))
                .map(|(at, node)| (at.clone(), node.clone()))
                .collect(),
        )
    }

    /// The same without files of this name.
    #[must_use]
    pub fn without_named(&self, name: &str) -> Self {
        let others = self.0.iter().filter(|(at, _)| at.file_name().is_none_or(|this| this != name));
        Self(others.map(|(at, node)| (at.clone(), node.clone())).collect())
    }

    /// What lies below `path` and nothing else, by its path below that.
    #[must_use]
    pub fn only(&self, path: &str) -> Self {
        let below = |at: &PathBuf| at.strip_prefix(path).ok().map(ToOwned::to_owned);
        Self(self.0.iter().filter_map(|(at, node)| Some((below(at)?, node.clone()))).collect())
    }

    /// What is different or missing in `other`; what it has besides does not count.
    #[must_use]
    pub fn lacks_in(&self, other: &Self) -> String {
        let kept = other.0.iter().filter(|(at, _)| self.0.contains_key(*at));
        self.difference(&Self(kept.map(|(at, node)| (at.clone(), node.clone())).collect()))
    }

    /// What lies in both of them.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let all = self.0.iter().chain(&other.0);
        Self(all.map(|(at, node)| (at.clone(), node.clone())).collect())
    }

    /// Whether something lies at this path.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(Path::new(path))
    }

    /// One line per path that differs; empty when nothing does.
    #[must_use]
    pub fn difference(&self, after: &Self) -> String {
        let paths: std::collections::BTreeSet<&PathBuf> = self.0.keys().chain(after.0.keys()).collect();
        let mut lines = String::new();
        for path in paths {
            match (self.0.get(path), after.0.get(path)) {
                (before, now) if before == now => {}
                (None, Some(now)) => lines += &format!("appeared  {}: {now}\n", path.display()),
                (Some(before), None) => lines += &format!("vanished  {}: {before}\n", path.display()),
                (Some(before), Some(now)) => {
                    lines += &format!("changed   {}\n  before: {before}\n  after:  {now}\n", path.display());
                }
                (None, None) => {}
            }
        }
        lines
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(path, node)| writeln!(f, "{}: {node}", path.display()))
    }
}

impl World {
    /// Home, project and whatever lies beside them, without our own records, the socket and temporary files.
    #[must_use]
    pub fn tree(&self) -> Tree {
        Tree::of(&self.path(""), &["home/.local", "run", "tmp", "bin"])
    }

    /// Expects that the tree is what it was.
    #[track_caller]
    pub fn is_as(&self, before: &Tree, when: &str) {
        let difference = before.difference(&self.tree());
        assert!(difference.is_empty(), "{when}:\n{difference}");
    }
}
