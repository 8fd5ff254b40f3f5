//! The hash that says which bytes a bundle consists of.
//!
//! Every regular file and directory below the bundle root counts, by its whole path; modes, owners and times do
//! not. The value is the one that both implementations write into consent records, so its layout is fixed.
//!
//! Source: ADR-1244 D5 rule 8 (consent is bound to the bundle content), lifecycle formats section 8.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha512};

const FILE_TAG: u8 = 0x01;
const DIRECTORY_TAG: u8 = 0x02;

/// `sha512-<base64>` over a bundle tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(Box<str>);

/// A text that is not a content hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a content hash is `sha512-` and 88 characters of base64")]
pub struct InvalidContentHash;

impl ContentHash {
    /// Reads the text form; only the canonical spelling is one.
    ///
    /// # Errors
    /// [`InvalidContentHash`] for anything else.
    pub fn parse(raw: &str) -> Result<Self, InvalidContentHash> {
        if crate::source::integrity::is_canonical_sha512(raw) {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidContentHash)
        }
    }

    /// The text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry of a bundle tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind<'a> {
    /// A directory; empty ones count too.
    Directory,
    /// A regular file with its bytes.
    File(&'a [u8]),
}

/// The hash of a whole tree: every regular file and every directory below the root, in any order; the entries
/// are left sorted by path.
///
/// Paths are the raw bytes of the names, joined by `/`. Directories that only exist because something lies in
/// them are entries as well.
#[must_use]
pub fn content_hash(entries: &mut Vec<(Vec<u8>, EntryKind<'_>)>) -> ContentHash {
    entries.sort_by(|(left, left_kind), (right, right_kind)| {
        left.cmp(right).then_with(|| tag(left_kind).cmp(&tag(right_kind)).reverse())
    });
    let mut digest = Sha512::new();
    digest.update((entries.len() as u64).to_be_bytes());
    for (path, kind) in entries.iter() {
        match kind {
            EntryKind::Directory => update_path(&mut digest, DIRECTORY_TAG, path),
            EntryKind::File(bytes) => {
                update_path(&mut digest, FILE_TAG, path);
                digest.update((bytes.len() as u64).to_be_bytes());
                digest.update(bytes);
            }
        }
    }
    finished(digest)
}

/// Why a streamed hash has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashMismatch {
    /// A file had more or fewer bytes than announced: it changed while it was read.
    #[error("a file changed while it was hashed")]
    FileLength,
    /// More or fewer entries than announced.
    #[error("the number of entries changed while the bundle was hashed")]
    EntryCount,
    /// The entries did not come in ascending order of their path bytes.
    #[error("the entries of a bundle are hashed in the order of their path bytes")]
    Order,
}

/// The same hash for a tree that is too big to hold: announce the number of entries, then feed them in ascending
/// order of their path bytes.
#[derive(Clone, Debug)]
pub struct ContentHasher {
    digest: Sha512,
    entries_left: u64,
    bytes_left: u64,
    last_path: Option<Vec<u8>>,
    mismatch: Option<HashMismatch>,
}

impl ContentHasher {
    /// Starts the hash of a tree of `count` entries.
    #[must_use]
    pub fn new(count: u64) -> Self {
        let mut digest = Sha512::new();
        digest.update(count.to_be_bytes());
        Self { digest, entries_left: count, bytes_left: 0, last_path: None, mismatch: None }
    }

    /// Adds a directory.
    pub fn directory(&mut self, path: &[u8]) {
        self.begin(path);
        update_path(&mut self.digest, DIRECTORY_TAG, path);
    }

    /// Adds a file of `len` bytes; its content follows through [`ContentHasher::write`].
    pub fn file(&mut self, path: &[u8], len: u64) {
        self.begin(path);
        update_path(&mut self.digest, FILE_TAG, path);
        self.digest.update(len.to_be_bytes());
        self.bytes_left = len;
    }

    /// Adds content of the file that was announced last.
    pub fn write(&mut self, bytes: &[u8]) {
        match self.bytes_left.checked_sub(bytes.len() as u64) {
            Some(left) => {
                self.bytes_left = left;
                self.digest.update(bytes);
            }
            None => self.note(HashMismatch::FileLength),
        }
    }

    /// The hash.
    ///
    /// # Errors
    /// [`HashMismatch`] when what was fed is not what was announced, which means that the tree changed while it
    /// was read.
    pub fn finish(mut self) -> Result<ContentHash, HashMismatch> {
        if self.bytes_left != 0 {
            self.note(HashMismatch::FileLength);
        }
        if self.entries_left != 0 {
            self.note(HashMismatch::EntryCount);
        }
        match self.mismatch {
            Some(mismatch) => Err(mismatch),
            None => Ok(finished(self.digest)),
        }
    }

    fn begin(&mut self, path: &[u8]) {
        if self.bytes_left != 0 {
            self.note(HashMismatch::FileLength);
        }
        match self.entries_left.checked_sub(1) {
            Some(left) => self.entries_left = left,
            None => self.note(HashMismatch::EntryCount),
        }
        if self.last_path.as_deref().is_some_and(|last| last >= path) {
            self.note(HashMismatch::Order);
        }
        self.last_path = Some(path.to_vec());
    }

    fn note(&mut self, mismatch: HashMismatch) {
        self.mismatch.get_or_insert(mismatch);
    }
}

/// Whether an entry counts in the later upstream form of the hash, which leaves out Python's caches: the
/// directories `__pycache__` and `.pytest_cache` themselves, and `.pyc`/`.pyo` files whose parent is `__pycache__`.
///
/// A consent record whose hash matches only in this form is honoured after the caches are deleted, never beside
/// them: they are code that no hash covers.
#[must_use]
pub fn counts_without_python_caches(path: &[u8], kind: &EntryKind<'_>) -> bool {
    let mut names = path.rsplit(|b| *b == b'/');
    let name = names.next().unwrap_or_default();
    match kind {
        EntryKind::Directory => name != b"__pycache__" && name != b".pytest_cache",
        EntryKind::File(_) => {
            let compiled = name.ends_with(b".pyc") || name.ends_with(b".pyo");
            !(compiled && names.next() == Some(b"__pycache__"))
        }
    }
}

fn tag(kind: &EntryKind<'_>) -> u8 {
    match kind {
        EntryKind::File(_) => FILE_TAG,
        EntryKind::Directory => DIRECTORY_TAG,
    }
}

fn update_path(digest: &mut Sha512, tag: u8, path: &[u8]) {
    digest.update([tag]);
    // A path is bounded far below 4 GiB by every file system and by the member rules.
    digest.update(u32::try_from(path.len()).unwrap_or(u32::MAX).to_be_bytes());
    digest.update(path);
}

fn finished(digest: Sha512) -> ContentHash {
    ContentHash(format!("sha512-{}", STANDARD.encode(digest.finalize())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_and_whole_hashes_agree() {
        let mut entries = vec![
            (b"a/x".to_vec(), EntryKind::File(b"12345")),
            (b"a-b".to_vec(), EntryKind::File(b"")),
            (b"a".to_vec(), EntryKind::Directory),
        ];
        let whole = content_hash(&mut entries);
        let mut streamed = ContentHasher::new(3);
        streamed.directory(b"a");
        streamed.file(b"a-b", 0);
        streamed.file(b"a/x", 5);
        streamed.write(b"12");
        streamed.write(b"345");
        assert_eq!(streamed.finish().unwrap(), whole);
        assert_eq!(ContentHash::parse(whole.as_str()).unwrap(), whole);
    }

    #[test]
    fn t145_a_file_that_changes_while_it_is_read_has_no_hash() {
        let mut hasher = ContentHasher::new(2);
        hasher.file(b"a", 3);
        hasher.write(b"12");
        hasher.file(b"b", 0);
        assert_eq!(hasher.finish(), Err(HashMismatch::FileLength));

        let mut hasher = ContentHasher::new(1);
        hasher.file(b"a", 1);
        hasher.write(b"12");
        assert_eq!(hasher.finish(), Err(HashMismatch::FileLength));

        assert_eq!(ContentHasher::new(1).finish(), Err(HashMismatch::EntryCount));

        let mut hasher = ContentHasher::new(2);
        hasher.directory(b"b");
        hasher.directory(b"a");
        assert_eq!(hasher.finish(), Err(HashMismatch::Order));
    }

    #[test]
    fn only_canonical_hashes_parse() {
        for bad in ["", "sha512-", "sha256-33qui933Nj3ju58qw8mA1Ldlr0RJkqT1P897aFXOJms=", "consented"] {
            assert_eq!(ContentHash::parse(bad), Err(InvalidContentHash));
        }
    }
}
