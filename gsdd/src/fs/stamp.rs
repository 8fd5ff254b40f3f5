//! What a file looked like, cheaply: enough to tell that it is still the one we read.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Two changes within one step of the clock behind time stamps look like one. The longest step of a system tick.
const STEP: Duration = Duration::from_millis(25);
/// The step of file systems that keep whole seconds.
const COARSE_STEP: Duration = Duration::from_millis(2_100);

/// Identity and times of one file, or that there was none. Two equal stamps mean "not changed since".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp(Option<Seen>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    device: u64,
    inode: u64,
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
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

/// When files that were just looked at have to be looked at again, because a change right after the look could have
/// left their stamps as they are; `None` when no later change can.
pub(crate) fn unsettled_until<'a>(stamps: impl IntoIterator<Item = &'a Stamp>) -> Option<Instant> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let left = stamps.into_iter().filter_map(|stamp| stamp.0.as_ref()?.settles_after(now)).max()?;
    Instant::now().checked_add(left)
}

impl Seen {
    /// What is left of the step in which it changed last. A file from the future says nothing.
    fn settles_after(&self, now: Duration) -> Option<Duration> {
        let whole = |ns: i64| ns % 1_000_000_000 == 0;
        let step = if whole(self.modified_ns) && whole(self.changed_ns) { COARSE_STEP } else { STEP };
        let changed = u64::try_from(self.changed_ns).ok().map(Duration::from_nanos)?;
        step.checked_sub(now.checked_sub(changed)?).filter(|left| !left.is_zero())
    }

    #[cfg(unix)]
    fn new(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        // Enough until the year 2262.
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
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
        let since = |time: std::io::Result<SystemTime>| {
            time.ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |age| i64::try_from(age.as_nanos()).unwrap_or(0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_just_changed_is_looked_at_again() {
        let seen = |modified_ns, changed_ns| Seen { device: 1, inode: 1, size: 1, modified_ns, changed_ns };
        let now = Duration::new(100, 5);
        let left = |ns: i64| seen(1, ns).settles_after(now);
        assert_eq!(left(100_000_000_005), Some(STEP));
        assert_eq!(left(99_990_000_005), Some(Duration::from_millis(15)));
        assert_eq!(left(99_975_000_005), None);
        assert_eq!(left(100_000_000_006), None, "from the future");
        // Whole seconds: a file system that keeps no more.
        assert_eq!(seen(0, 99_000_000_000).settles_after(now), COARSE_STEP.checked_sub(Duration::new(1, 5)));
        assert_eq!(unsettled_until([&Stamp(Some(seen(1, 1))), &Stamp(None)]), None);
    }
}
