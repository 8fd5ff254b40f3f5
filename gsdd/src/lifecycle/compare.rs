//! Two contents compared: by their digests, and for people the texts that differ.

use std::collections::BTreeSet;

use gsdd_core::trust::{Changes, Compared, ComparedFile, differing};

use crate::fs::bundle_tree::BundleTree;

/// Largest file whose difference is shown, in bytes.
const MAX_SHOWN: u64 = 1024 * 1024;
/// Most bytes of both contents that are read to show differences.
const MAX_READ: u64 = 16 * 1024 * 1024;

/// What differs between two contents. Of files that are too large to be shown, and of those that can't be read any
/// more, only the sizes are told.
pub(super) fn changes(before: &BundleTree, after: &BundleTree) -> Changes {
    let (mut old, mut new) = (compared(before), compared(after));
    let paths = differing(&old, &new);
    let mut room = MAX_READ;
    load(&mut old, before, &paths, &mut room);
    load(&mut new, after, &paths, &mut room);
    Changes::between(&old, &new)
}

fn compared(tree: &BundleTree) -> Compared<'_> {
    let files = tree.files.iter().map(|(path, file)| {
        let (digest, bytes, executable) = (file.sha256, file.bytes, file.executable);
        (path.as_str(), ComparedFile { digest, bytes, executable, content: None })
    });
    Compared { manifest: tree.manifest().unwrap_or_default(), files: files.collect() }
}

fn load(side: &mut Compared<'_>, tree: &BundleTree, paths: &BTreeSet<&str>, room: &mut u64) {
    let wanted =
        side.files.iter_mut().filter(|(path, file)| file.bytes <= MAX_SHOWN && paths.contains(*path));
    for (path, file) in wanted {
        let Some(left) = room.checked_sub(file.bytes) else { return };
        *room = left;
        file.content = tree.bytes(path).ok();
    }
}
