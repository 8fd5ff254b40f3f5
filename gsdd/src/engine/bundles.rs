//! What is known about installed bundles, remembered by what their files look like.
//!
//! Reading and judging a manifest happens again only when the file changed; hashing a bundle only when any file of
//! it changed (device, inode, size, times).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gsdd_core::bundle::budget::{MAX_BYTES, MOST_BYTES};
use gsdd_core::compose::{FragmentRead, ManifestRead};
use gsdd_core::manifest::{Assessed, assess};
use gsdd_core::registry::HostContract;

use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::bundle_tree::{self, BundleTree};
use crate::fs::stamp::{Stamp, unsettled_until};
use crate::lifecycle::{digest_of, facts_of};
use crate::store::Objects;

/// A bundle never has more entries than the content hash admits; this is far above what any real one has.
const MAX_STAMPS: usize = 20_000;

/// How long what was just placed is believed to be there without being read.
const JUST_PLACED: Duration = Duration::from_millis(25);

/// Manifest and fragments of one bundle.
#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) manifest: ManifestRead,
    pub(crate) fragments: Arc<BTreeMap<String, FragmentRead>>,
    pub(crate) stamps: Vec<(PathBuf, Stamp)>,
}

impl Declared {
    /// The judged manifest, when it could be read.
    pub(crate) fn assessed(&self) -> Option<&Arc<Assessed>> {
        match &self.manifest {
            ManifestRead::Read(assessed) => Some(assessed),
            ManifestRead::Missing | ManifestRead::Unreadable(_) => None,
        }
    }
}

/// Content of a bundle, and what its files looked like.
pub(crate) struct Hashed {
    /// Most bytes of content that it might have.
    max_bytes: u64,
    stamps: Vec<(PathBuf, Stamp)>,
    hash: Result<String, String>,
    /// The token of an agreement to this content; computed when the hash is not the agreed one.
    digest: OnceLock<Option<String>>,
    /// What it declares, judged from the bytes that were hashed; `None` when they changed before they were read again.
    declared: OnceLock<Option<Arc<Declared>>>,
    /// From when on the stamps alone prove nothing.
    look_again: Option<Instant>,
}

impl Hashed {
    fn is_settled(&self) -> bool {
        self.look_again.is_none_or(|at| Instant::now() < at)
    }

    /// What every file looked like when the content was read.
    pub(crate) fn stamps(&self) -> &[(PathBuf, Stamp)] {
        &self.stamps
    }

    /// When the content has to be looked at again although its stamps are the same.
    pub(crate) fn look_again(&self) -> Option<Instant> {
        self.look_again
    }
}

/// The cache.
#[derive(Default)]
pub(crate) struct Bundles {
    declared: Mutex<HashMap<PathBuf, Arc<Declared>>>,
    hashed: Mutex<HashMap<PathBuf, Arc<Hashed>>>,
}

/// A bundle whose bytes are the agreed ones.
#[derive(Clone, Debug)]
pub(crate) struct Runnable {
    /// The private copy to run from.
    pub(crate) folder: PathBuf,
    /// Its content hash.
    pub(crate) content_hash: String,
}

/// Why nothing of a bundle may run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotRunnable {
    #[error("its files changed since they were agreed to")]
    Changed,
    #[error("its files can't be checked: {0}")]
    Unreadable(String),
    #[error("the private copy of its agreed content can't be used: {0}")]
    Store(String),
}

impl Bundles {
    /// Reads what a bundle declares; only what changed since the last time is read again.
    pub(crate) fn declared(&self, dir_name: &str, bundle: &Path, contract: &HostContract) -> Arc<Declared> {
        let known = lock(&self.declared).get(bundle).cloned();
        if let Some(known) = known.filter(|known| unchanged(&known.stamps)) {
            return known;
        }
        let fresh = Arc::new(read_declared(dir_name, bundle, contract));
        lock(&self.declared).insert(bundle.to_owned(), Arc::clone(&fresh));
        fresh
    }

    /// The content hash of a bundle as it is now.
    /// When it has to be computed, for at most `max_bytes` of content.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn content_hash(
        &self,
        bundle: &Path,
        max_bytes: impl FnOnce() -> u64,
    ) -> Result<String, String> {
        self.hashed(bundle, max_bytes, None, None)?.hash.clone()
    }

    /// What a bundle with the agreed content declares: the bytes that were compared are the bytes that are judged, or
    /// somebody who writes all the time could show one content to the comparison and another one to the reader (T145).
    /// `None` when it has another content, or changes while it is read. `seen` is content whose files were seen to look
    /// the same since the caller was asked; they are not looked at again.
    pub(crate) fn agreed(
        &self,
        dir_name: &str,
        bundle: &Path,
        agreed: &str,
        fits: impl Fn(&str) -> bool,
        (objects, contract): (&Objects, &HostContract),
        seen: Option<&Arc<Hashed>>,
    ) -> Option<Arc<Declared>> {
        let hashed = self.hashed(bundle, || objects.room(agreed), Some((dir_name, contract)), seen).ok()?;
        if !self.is_agreed(&hashed, bundle, agreed, fits).ok()? {
            return None;
        }
        let judge = || {
            let tree = BundleTree::read(bundle, hashed.max_bytes).ok()?;
            let same = hashed.hash.as_deref() == Ok(tree.content_hash().as_str());
            same.then(|| declared_in(dir_name, &tree, contract)).flatten().map(Arc::new)
        };
        hashed.declared.get_or_init(judge).clone()
    }

    /// Whether a bundle has the content that was agreed to: `agreed` is its hash, and `fits` knows the token of the
    /// agreement. A manifest whose keys were reordered says the same and has another hash.
    ///
    /// # Errors
    /// When its files can't be read.
    pub(crate) fn agrees(
        &self,
        bundle: &Path,
        agreed: &str,
        fits: impl Fn(&str) -> bool,
        objects: &Objects,
    ) -> Result<bool, String> {
        let hashed = self.hashed(bundle, || objects.room(agreed), None, None)?;
        self.is_agreed(&hashed, bundle, agreed, fits)
    }

    fn is_agreed(
        &self,
        hashed: &Hashed,
        bundle: &Path,
        agreed: &str,
        fits: impl Fn(&str) -> bool,
    ) -> Result<bool, String> {
        let hash = hashed.hash.as_ref().map_err(Clone::clone)?;
        if hash == agreed {
            return Ok(true);
        }
        let digest = || self.digest(bundle, hash, hashed.max_bytes);
        Ok(hashed.digest.get_or_init(digest).as_deref().is_some_and(fits))
    }

    /// The digest of a bundle that has the content hash `hash`, however its manifest is spelled.
    pub(crate) fn digest(&self, bundle: &Path, hash: &str, max_bytes: u64) -> Option<String> {
        let tree = BundleTree::read(bundle, max_bytes).ok()?;
        // What is read now has to be what was hashed.
        (tree.content_hash().as_str() == hash).then(|| digest_of(&tree, &facts_of(&tree)))
    }

    /// With `judged` the bundle is judged in the same go when it has to be read.
    fn hashed(
        &self,
        bundle: &Path,
        max_bytes: impl FnOnce() -> u64,
        judged: Option<(&str, &HostContract)>,
        seen: Option<&Arc<Hashed>>,
    ) -> Result<Arc<Hashed>, String> {
        let known = lock(&self.hashed).get(bundle).cloned();
        // Folders have stamps too: what is new in one changes that of the folder.
        let looks_the_same = |known: &Arc<Hashed>| {
            seen.is_some_and(|seen| Arc::ptr_eq(seen, known))
                || known.stamps.iter().all(|(path, stamp)| Stamp::of_link(path) == *stamp)
        };
        let known = known.filter(|known| known.is_settled()).filter(looks_the_same);
        if let Some(known) = known.as_ref().filter(|known| known.hash.is_ok()) {
            return Ok(Arc::clone(known));
        }
        let max_bytes = max_bytes();
        // What was too large may be agreed to since.
        if let Some(known) = known.filter(|known| known.max_bytes >= max_bytes) {
            return Ok(known);
        }
        // Stamps first: a change while reading makes the next comparison differ.
        let stamps =
            bundle_tree::stamps(bundle, MAX_STAMPS).ok_or("it has too many files, or can't be listed")?;
        let look_again = unsettled_until(stamps.iter().map(|(_, stamp)| stamp));
        let declared = OnceLock::new();
        let hash = match judged {
            None => bundle_tree::hash(bundle, max_bytes).map(|hash| hash.as_str().to_owned()),
            Some((dir_name, contract)) => BundleTree::read(bundle, max_bytes).map(|tree| {
                let _ = declared.set(declared_in(dir_name, &tree, contract).map(Arc::new));
                tree.content_hash().as_str().to_owned()
            }),
        };
        let hash = hash.map_err(|refusal| refusal.to_string());
        let hashed =
            Arc::new(Hashed { max_bytes, stamps, hash, digest: OnceLock::new(), declared, look_again });
        lock(&self.hashed).insert(bundle.to_owned(), Arc::clone(&hashed));
        Ok(hashed)
    }

    /// Takes over what is known of the content `tree` that was just copied to `bundle` and proven by that, so that the
    /// answer to who placed it need not wait for it to be read once more.
    ///
    /// The stamps say nothing about what came in between, and are therefore believed for [`JUST_PLACED`] only: who asks
    /// afterwards has all bytes compared (T145).
    pub(crate) fn placed(&self, dir_name: &str, bundle: &Path, tree: &BundleTree, contract: &HostContract) {
        let look_again = Instant::now().checked_add(JUST_PLACED);
        let (Some(stamps), Some(_)) = (bundle_tree::stamps(bundle, MAX_STAMPS), look_again) else { return };
        let hashed = Hashed {
            max_bytes: tree.total_bytes(),
            stamps,
            hash: Ok(tree.content_hash().as_str().to_owned()),
            digest: OnceLock::new(),
            declared: OnceLock::from(declared_in(dir_name, tree, contract).map(Arc::new)),
            look_again,
        };
        lock(&self.hashed).insert(bundle.to_owned(), Arc::new(hashed));
    }

    /// What is known about the content of a bundle, as it was when it was looked at last.
    pub(crate) fn content(&self, bundle: &Path) -> Option<Arc<Hashed>> {
        lock(&self.hashed).get(bundle).cloned()
    }

    /// Proves that a bundle still has the agreed content and says where to run it from.
    ///
    /// # Errors
    /// [`NotRunnable`]; nothing of the bundle may then run.
    pub(crate) fn runnable(
        &self,
        bundle: &Path,
        agreed: &str,
        fits: impl Fn(&str) -> bool,
        objects: &Objects,
    ) -> Result<Runnable, NotRunnable> {
        if !self.agrees(bundle, agreed, fits, objects).map_err(NotRunnable::Unreadable)? {
            return Err(NotRunnable::Changed);
        }
        if !objects.has(agreed) {
            // Installed by upstream: the agreed bytes are copied the first time they are needed.
            let tree = BundleTree::read(bundle, MAX_BYTES)
                .map_err(|refusal| NotRunnable::Unreadable(refusal.to_string()))?;
            if tree.content_hash().as_str() != agreed {
                return Err(NotRunnable::Changed);
            }
            objects.keep(&tree).map_err(|error| NotRunnable::Store(error.to_string()))?;
        }
        let folder = objects.path(agreed);
        match self.content_hash(&folder, || MOST_BYTES) {
            Ok(stored) if stored == agreed => Ok(Runnable { folder, content_hash: agreed.to_owned() }),
            Ok(_) => Err(NotRunnable::Store("it is damaged".to_owned())),
            Err(reason) => Err(NotRunnable::Store(reason)),
        }
    }

    /// Forgets bundles that are not installed any more.
    pub(crate) fn retain(&self, keep: &dyn Fn(&Path) -> bool) {
        lock(&self.declared).retain(|path, _| keep(path));
        lock(&self.hashed).retain(|path, _| keep(path));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unchanged(stamps: &[(PathBuf, Stamp)]) -> bool {
    stamps.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
}

/// What the hashed bytes of a bundle declare; `None` when they are other ones by now.
fn declared_in(dir_name: &str, tree: &BundleTree, contract: &HostContract) -> Option<Declared> {
    let manifest = match tree.file("capability.json") {
        None => ManifestRead::Missing,
        Some(file) if file.bytes > MAX_FILE => ManifestRead::Unreadable("larger than 8 MiB".to_owned()),
        Some(_) => {
            let bytes = tree.bytes("capability.json").ok()?;
            ManifestRead::Read(Arc::new(assess(dir_name, &bytes, contract)))
        }
    };
    let mut fragments = BTreeMap::new();
    if let ManifestRead::Read(assessed) = &manifest {
        for relative in &assessed.fragment_paths {
            let path = relative.strip_prefix("./").unwrap_or(relative);
            let read = match (tree.file(path), tree.bytes(path).map(String::from_utf8)) {
                (None, _) => FragmentRead::Refused("the bundle does not contain it".to_owned()),
                (Some(file), Err(_)) if file.bytes > MAX_FILE => {
                    FragmentRead::Refused("it is too large".to_owned())
                }
                (Some(_), Err(_)) => return None,
                (Some(_), Ok(Err(_))) => FragmentRead::Refused("it is not UTF-8 text".to_owned()),
                (Some(_), Ok(Ok(text))) => FragmentRead::Text(text.into()),
            };
            fragments.insert(relative.clone(), read);
        }
    }
    // Stamps of the whole bundle go with its hash.
    Some(Declared { manifest, fragments: Arc::new(fragments), stamps: Vec::new() })
}

fn read_declared(dir_name: &str, bundle: &Path, contract: &HostContract) -> Declared {
    let path = bundle.join("capability.json");
    let mut stamps = vec![(path.clone(), Stamp::of(&path))];
    let manifest = match bounded_read::read(&path, MAX_FILE) {
        Ok(bytes) => ManifestRead::Read(Arc::new(assess(dir_name, &bytes, contract))),
        Err(ReadFailure::Missing) => ManifestRead::Missing,
        Err(failure) => ManifestRead::Unreadable(match failure {
            ReadFailure::NotRegular => "not a regular file".to_owned(),
            ReadFailure::TooBig { .. } => "larger than 8 MiB".to_owned(),
            ReadFailure::Missing | ReadFailure::Io(_) => "unreadable".to_owned(),
        }),
    };
    let mut fragments = BTreeMap::new();
    if let ManifestRead::Read(assessed) = &manifest {
        for relative in &assessed.fragment_paths {
            let file = bundle.join(relative);
            stamps.push((file.clone(), Stamp::of(&file)));
            fragments.insert(relative.clone(), read_fragment(bundle, &file));
        }
    }
    Declared { manifest, fragments: Arc::new(fragments), stamps }
}

/// A fragment must lie in the bundle by its real path: a symlink could otherwise bring in any file of the person
/// as prompt text (T46).
pub(crate) fn read_fragment(bundle: &Path, file: &Path) -> FragmentRead {
    let inside = match (std::fs::canonicalize(bundle), std::fs::canonicalize(file)) {
        (Ok(bundle), Ok(file)) => file.starts_with(bundle),
        (_, Err(error)) => return FragmentRead::Refused(error.to_string()),
        (Err(error), _) => return FragmentRead::Fault(error.to_string()),
    };
    if !inside {
        return FragmentRead::Refused("it leads out of the bundle".to_owned());
    }
    match bounded_read::read(file, MAX_FILE) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => FragmentRead::Text(text.into()),
            Err(_) => FragmentRead::Refused("it is not UTF-8 text".to_owned()),
        },
        Err(failure) => FragmentRead::Refused(failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::atomic::{self, Mode};

    #[cfg(unix)]
    #[test]
    fn t46_t47_a_fragment_is_a_plain_file_of_its_bundle() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("acme");
        std::fs::create_dir_all(bundle.join("fragments")).unwrap();
        atomic::write(&bundle.join("fragments/a.md"), b"Words.", Mode::Keep(0o022)).unwrap();
        atomic::write(&dir.path().join("secret"), b"Not for prompts.", Mode::Keep(0o022)).unwrap();
        let read = |path: &str| read_fragment(&bundle, &bundle.join(path));
        assert!(matches!(read("fragments/a.md"), FragmentRead::Text(text) if &*text == "Words."));
        symlink(dir.path().join("secret"), bundle.join("fragments/link.md")).unwrap();
        symlink(dir.path(), bundle.join("out")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(bundle.join("pipe")).status().unwrap().success());
        for path in ["fragments/link.md", "out/secret", "../secret", "pipe", "fragments", "absent"] {
            assert!(matches!(read(path), FragmentRead::Refused(_)), "{path}");
        }
    }

    #[test]
    fn a_bundle_that_was_too_large_is_looked_at_again_when_more_is_agreed_to() {
        let dir = tempfile::tempdir().unwrap();
        atomic::write(&dir.path().join("a"), b"123", Mode::Keep(0o022)).unwrap();
        let bundles = Bundles::default();
        let hash = |max_bytes: u64| bundles.content_hash(dir.path(), || max_bytes);
        assert!(hash(2).unwrap_err().contains("more than 2 bytes"));
        let known = hash(3).unwrap();
        // What is known is not asked for again.
        assert_eq!(bundles.content_hash(dir.path(), || unreachable!()), Ok(known));
        atomic::write(&dir.path().join("a"), b"1234", Mode::Keep(0o022)).unwrap();
        assert!(hash(3).is_err());
    }

    /// Who writes into a bundle before it was looked at leaves nothing in its stamps that tells.
    #[test]
    fn t145_what_was_just_placed_is_read_by_the_next_who_asks() {
        let dir = tempfile::tempdir().unwrap();
        let put = |text: &[u8]| atomic::write(&dir.path().join("a"), text, Mode::Keep(0o022)).unwrap();
        put(b"agreed");
        let tree = BundleTree::read(dir.path(), 10).unwrap();
        let agreed = tree.content_hash().as_str().to_owned();
        put(b"other");
        let bundles = Bundles::default();
        bundles.placed("acme", dir.path(), &tree, &HostContract::builtin());
        let known = bundles.content(dir.path()).unwrap();
        assert_eq!(known.hash, Ok(agreed.clone()));
        assert!(known.declared.get().is_some_and(Option::is_some));
        std::thread::sleep(JUST_PLACED);
        let now = bundles.content_hash(dir.path(), || 10).unwrap();
        assert_ne!(now, agreed);
        assert_eq!(now, BundleTree::read(dir.path(), 10).unwrap().content_hash().as_str());
    }
}
