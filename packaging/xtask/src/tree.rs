//! What a folder holds, to be compared with what it holds later.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::failure::{Doing as _, Outcome};

/// Everything below a folder: relative path and what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<PathBuf, Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link(PathBuf),
}

/// One difference between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It was not there before.
    Added(PathBuf),
    /// It is not there any more.
    Gone(PathBuf),
    /// It is another one, or has another mode.
    Changed(PathBuf),
}

impl Difference {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Added(path) | Self::Gone(path) | Self::Changed(path) => path,
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = match self {
            Self::Added(_) => '+',
            Self::Gone(_) => '-',
            Self::Changed(_) => '~',
        };
        write!(f, "{sign} {}", self.path().display())
    }
}

impl Tree {
    /// Reads what is below `root`, without following links and without the folder `except` at its top.
    pub(crate) fn read(root: &Path, except: &str) -> Outcome<Self> {
        let mut tree = Self::default();
        tree.read_below(root, Path::new(""), except)?;
        Ok(tree)
    }

    /// What is different in `later`.
    pub(crate) fn differences(&self, later: &Self) -> Vec<Difference> {
        let mut all = Vec::new();
        for (path, node) in &self.0 {
            match later.0.get(path) {
                None => all.push(Difference::Gone(path.clone())),
                Some(now) if now != node => all.push(Difference::Changed(path.clone())),
                Some(_) => {}
            }
        }
        all.extend(later.0.keys().filter(|path| !self.0.contains_key(*path)).cloned().map(Difference::Added));
        all.sort_by(|a, b| a.path().cmp(b.path()));
        all
    }

    fn read_below(&mut self, root: &Path, below: &Path, except: &str) -> Outcome {
        let folder = root.join(below);
        for entry in std::fs::read_dir(&folder).doing(format!("reading {}", folder.display()))? {
            let entry = entry.doing(format!("reading {}", folder.display()))?;
            let relative = below.join(entry.file_name());
            if relative == Path::new(except) {
                continue;
            }
            let path = entry.path();
            let about = || format!("reading {}", path.display());
            let metadata = path.symlink_metadata().doing(about())?;
            let node = if metadata.is_symlink() {
                Node::Link(path.read_link().doing(about())?)
            } else if metadata.is_dir() {
                Node::Folder { mode: mode(&metadata) }
            } else {
                Node::File { mode: mode(&metadata), content: std::fs::read(&path).doing(about())? }
            };
            let descend = matches!(node, Node::Folder { .. });
            self.0.insert(relative.clone(), node);
            if descend {
                self.read_below(root, &relative, except)?;
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn mode(metadata: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata)
}

#[cfg(not(unix))]
fn mode(metadata: &std::fs::Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_and_the_excepted_folder_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("kept", "a");
        write("edited", "a");
        write("dropped", "a");
        let before = Tree::read(folder.path(), ".local").unwrap();
        write("edited", "b");
        write("made/new", "a");
        write(".local/ours", "a");
        std::fs::remove_file(folder.path().join("dropped")).unwrap();
        let after = Tree::read(folder.path(), ".local").unwrap();
        let found: Vec<String> = before.differences(&after).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["- dropped", "~ edited", "+ made", "+ made/new"]);
        assert!(before.differences(&before).is_empty());
    }
}
