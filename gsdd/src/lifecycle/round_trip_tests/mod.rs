//! `remove(install(x)) == x` and `install(install(x)) == install(x)`, over thousands of host files and capabilities.

#![cfg(unix)]

mod random;
mod whole_path;
mod wiring_only;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;

/// What lies below a folder: bytes with their mode, targets of links, folders.
pub(super) fn tree(root: &Path, leave_out: &[&Path]) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::MetadataExt as _;
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if leave_out.contains(&path.as_path()) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let bytes = if metadata.file_type().is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                bounded_read::read(&path, bounded_read::MAX_FILE).unwrap()
            };
            found.insert(path, (metadata.mode(), bytes));
        }
    }
    found
}

/// One line per path that differs.
pub(super) fn difference(
    before: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
    after: &BTreeMap<PathBuf, (u32, Vec<u8>)>,
) -> String {
    let paths: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let shown = |node: Option<&(u32, Vec<u8>)>| {
        node.map(|(mode, bytes)| format!("{mode:o} {:?}", String::from_utf8_lossy(bytes)))
    };
    let differing = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    let line = |path: &PathBuf| {
        format!("{}\n  {:?}\n  {:?}\n", path.display(), shown(before.get(path)), shown(after.get(path)))
    };
    differing.map(line).collect()
}

/// A folder in memory where there is one: flushing is what these tests are full of.
pub(super) fn temporary() -> tempfile::TempDir {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap()
}

pub(super) fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    atomic::write(path, text.as_bytes(), Mode::Keep(0o022)).unwrap();
}
