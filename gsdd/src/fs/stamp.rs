//! What a file looked like, cheaply: enough to tell that it is still the one we read.

use std::path::Path;

/// Identity and times of one file, or that there was none. Two equal stamps mean "not changed since".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp(Option<Seen>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    device: u64,
    inode: u64,
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl Stamp {
    /// Looks at `path`, following symlinks.
    pub(crate) fn of(path: &Path) -> Self {
        Self(std::fs::metadata(path).ok().map(|metadata| Seen::new(&metadata)))
    }

    /// Looks at `path` itself.
    pub(crate) fn of_link(path: &Path) -> Self {
        Self(std::fs::symlink_metadata(path).ok().map(|metadata| Seen::new(&metadata)))
    }
}

impl Seen {
    #[cfg(unix)]
    fn new(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn new(metadata: &std::fs::Metadata) -> Self {
        let since = |time: std::io::Result<std::time::SystemTime>| {
            time.ok()
                .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
                .map_or(0, |age| i128::try_from(age.as_nanos()).unwrap_or(0))
        };
        Self {
            device: 0,
            inode: 0,
            size: metadata.len(),
            modified_ns: since(metadata.modified()),
            changed_ns: since(metadata.created()),
        }
    }
}
