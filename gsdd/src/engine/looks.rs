//! What the bundles of a snapshot looked like, and which of them still do.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::bundles::{Declared, Hashed};
use super::scan::Records;
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

    /// When the agreed content has to be looked at again although it looks the same.
    pub(super) fn look_again(&self) -> Option<Instant> {
        self.content.as_deref().filter(|_| self.agreed)?.look_again()
    }

    fn is_same(&self, bundle: &Path) -> bool {
        self.is_same_for_verified_use(bundle) && (!self.agreed || self.is_same_content())
    }
}

/// A snapshot that is out of date, and what of it was seen to look the same. A recomposition need not look at that
/// again, provided that it was seen after the question that it answers had arrived.
pub(crate) struct Seen {
    snapshot: Arc<Snapshot>,
    /// Whether everything but the bundles looks the same.
    rest: bool,
    /// By position of the bundle.
    same: Vec<bool>,
}

impl Seen {
    /// Looks at every bundle of `snapshot`; gives it back when nothing at all looks otherwise.
    pub(crate) fn look(snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, Self> {
        let rest = snapshot.rest_is_fresh();
        let same: Vec<bool> =
            snapshot.overlays.iter().map(|overlay| overlay.look.is_same(&overlay.bundle)).collect();
        if rest && same.iter().all(|same| *same) { Ok(snapshot) } else { Err(Self { snapshot, rest, same }) }
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// What the records say, unless one of them, or a folder that bundles lie in, was seen to look otherwise.
    pub(super) fn records(&self) -> Option<Arc<Records>> {
        self.rest.then(|| Arc::clone(&self.snapshot.records))
    }

    /// Every bundle, and whether it looks the same.
    pub(super) fn bundles(&self) -> impl Iterator<Item = (&Overlay, bool)> {
        self.snapshot.overlays.iter().zip(self.same.iter().copied())
    }

    /// What was seen of the bundles in a root; they stand together.
    pub(super) fn in_root<'a>(&'a self, root: &Path) -> SeenInRoot<'a> {
        let is_in_root = |overlay: &Overlay| overlay.root.as_os_str() == root.as_os_str();
        let overlays = &self.snapshot.overlays;
        let first = overlays.iter().position(is_in_root).unwrap_or(overlays.len());
        let rest = overlays.get(first..).unwrap_or_default();
        let count = rest.iter().take_while(|overlay| is_in_root(overlay)).count();
        SeenInRoot { seen: self, first, overlays: rest.get(..count).unwrap_or_default() }
    }
}

/// What was seen of the bundles in one root.
pub(super) struct SeenInRoot<'a> {
    seen: &'a Seen,
    first: usize,
    /// By name.
    overlays: &'a [Overlay],
}

impl<'a> SeenInRoot<'a> {
    /// The bundle in the folder `dir_name`, if it was seen to look the same.
    pub(super) fn same(&self, dir_name: &str) -> Option<&'a BundleLook> {
        let by_name = |overlay: &Overlay| overlay.dir_name.as_str().cmp(dir_name);
        let at = self.first + self.overlays.binary_search_by(by_name).ok()?;
        let overlay =
            self.seen.snapshot.overlays.get(at).filter(|_| self.seen.same.get(at) == Some(&true))?;
        Some(&overlay.look)
    }
}
