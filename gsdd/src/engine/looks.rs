//! What the bundles of a snapshot looked like, and which of them still do.

use std::path::Path;
use std::sync::Arc;

use super::bundles::{Declared, Hashed};
use super::snapshot::{Overlay, Snapshot};
use crate::fs::stamp::Stamp;

/// What one bundle looked like. Shares what is remembered of it.
pub(crate) struct BundleLook {
    /// Its folder.
    pub(super) folder: Stamp,
    /// The files that declare it.
    pub(super) declared: Arc<Declared>,
    /// All of its files, where the verdict depends on the whole content.
    pub(super) content: Option<Arc<Hashed>>,
    /// Whether that content is the agreed one, and not another.
    pub(super) agreed: bool,
}

impl BundleLook {
    /// Whether what declares it looks the same, and, where its content is known to be another than the agreed one, its
    /// content, too.
    pub(super) fn is_same_for_verified_use(&self, bundle: &Path) -> bool {
        self.declared.stamps.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
            && Stamp::of(bundle) == self.folder
            && (self.agreed || self.is_same_content())
    }

    /// Whether the files of the whole content, as far as it matters, look the same.
    pub(super) fn is_same_content(&self) -> bool {
        let stamps = self.content.as_deref().map(Hashed::stamps).unwrap_or_default();
        stamps.iter().all(|(path, stamp)| Stamp::of_link(path) == *stamp)
    }

    fn is_same(&self, bundle: &Path) -> bool {
        self.is_same_for_verified_use(bundle) && (!self.agreed || self.is_same_content())
    }
}

/// A snapshot that is out of date, and which of its bundles were seen to look the same. A recomposition need not look at
/// these again, provided that they were seen after the question that it answers had arrived.
pub(crate) struct Seen {
    snapshot: Arc<Snapshot>,
    same: Vec<bool>,
}

impl Seen {
    /// Looks at every bundle of `snapshot`; gives it back when nothing at all looks otherwise.
    pub(crate) fn look(snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, Self> {
        let rest = snapshot.rest_is_fresh();
        let bundles = snapshot.overlays.iter().zip(snapshot.looks());
        let same: Vec<bool> = bundles.map(|(overlay, look)| look.is_same(&overlay.bundle)).collect();
        if rest && same.iter().all(|same| *same) { Ok(snapshot) } else { Err(Self { snapshot, same }) }
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The bundle `dir_name` of a root, if it was seen to look the same. Bundles of one root stand together, by name.
    pub(super) fn same(&self, root: &Path, dir_name: &str) -> Option<&BundleLook> {
        let overlays = &self.snapshot.overlays;
        let first = overlays.iter().position(|overlay| overlay.root == root)?;
        let of_root = overlays.get(first..)?;
        let order = |overlay: &Overlay| match overlay.root == root {
            true => overlay.dir_name.as_str().cmp(dir_name),
            false => std::cmp::Ordering::Greater,
        };
        let at = first + of_root.binary_search_by(order).ok()?;
        self.snapshot.looks().get(at).filter(|_| self.same.get(at) == Some(&true))
    }
}
