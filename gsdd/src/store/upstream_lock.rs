//! The lock files that upstream respects.
//!
//! Our own exclusion is the daemon's one writer; this one tells the other implementation that we are at work, and
//! waits while it is. A planted or abandoned lock can't block for ever: what no holder would have put there is replaced
//! with a warning, and what may be a holder's is waited for as long as the caller has patience (T162 to T168).

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gsdd_core::ledger::lock::{HolderFacts, LockBody, LockFacts, LockVerdict, StealBecause, judge};

use super::clock;
use super::process::{hostname, is_alive, runs_as_us, start_time};
use crate::fs::atomic;
use crate::fs::bounded_read::{self, ReadFailure};
use crate::fs::fault::{self, Spot};
use crate::patience::{Patience, holder_words};

/// Cap of a lock file, in bytes.
const MAX_LOCK: u64 = 64 * 1024;
/// Cap of a repository's index that is looked into, in bytes.
const MAX_INDEX: u64 = 64 * 1024 * 1024;
/// A holder writes its text together with the file or right after: no text that says nothing stays so long.
const WRITTEN_SOON: Duration = Duration::from_secs(2);
/// A holder writes its time into a file of that time; clocks of two machines may differ a little.
const WRITTEN_THEN: Duration = Duration::from_secs(10 * 60);
/// Ends the tokens of this implementation. Only one process of ours is at work in a home at a time, which another lock
/// sees to, so a lock of ours whose process is gone needs no minute of waiting.
const OURS: &str = "-gsdd";

/// Tokens of the locks that this process holds. A lock of ours that is not among them could not be removed when it was
/// released, and nobody holds it.
static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A lock that is held until dropped.
#[derive(Debug)]
pub(crate) struct UpstreamLock {
    path: PathBuf,
    token: String,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockFailure {
    /// Somebody else is at work.
    #[error("another operation holds {path} ({}); it was waited for {waited:?}", holder_words(*holder))]
    Busy { path: PathBuf, holder: Option<u32>, waited: Duration },
    /// The file can't be made.
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
}

impl UpstreamLock {
    /// The lock of changes to a scope root.
    pub(crate) fn mutation(bundles: &Path) -> Result<Self, LockFailure> {
        Self::take(Self::mutation_file(bundles))
    }

    /// The lock of the consent store.
    pub(crate) fn consent(folder: &Path) -> Result<Self, LockFailure> {
        Self::take(Self::consent_file(folder))
    }

    /// The file of [`UpstreamLock::mutation`].
    pub(crate) fn mutation_file(bundles: &Path) -> PathBuf {
        bundles.join(".lock")
    }

    /// The file of [`UpstreamLock::consent`].
    pub(crate) fn consent_file(folder: &Path) -> PathBuf {
        folder.join(".consent.lock")
    }

    /// Removes the lock that a dead process of ours left behind, and what it was made from.
    pub(crate) fn clear_dead(path: &Path) {
        if let Seen::Stealable(identity) = look(path, Duration::ZERO, &OnceCell::new()) {
            steal(path, identity);
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        atomic::remove_temporaries(folder, &format!("{}.new.", name.to_string_lossy()));
    }

    fn take(path: PathBuf) -> Result<Self, LockFailure> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        let pid = std::process::id();
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        let token = format!("{pid}-{}-{sequence}{OURS}", clock::epoch_ms());
        let patience = Patience::current();
        let begun = Instant::now();
        let committed = OnceCell::new();
        loop {
            let body = LockBody {
                token: token.clone(),
                pid: Some(pid),
                hostname: Some(hostname()),
                start_time: start_time(pid),
                ts: Some(now_ms()),
            };
            match create(&path, &body.to_text()) {
                Ok(()) => {
                    held().insert(token.clone());
                    return Ok(Self { path, token });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(LockFailure::Io { path, error }),
            }
            match look(&path, begun.elapsed(), &committed) {
                Seen::Gone => {}
                Seen::Stealable(identity) => steal(&path, identity),
                Seen::Held(holder) => {
                    if !patience.pause("another operation", holder) {
                        return Err(LockFailure::Busy { path, holder, waited: patience.limit() });
                    }
                }
            }
        }
    }
}

impl Drop for UpstreamLock {
    fn drop(&mut self) {
        let ours = bounded_read::read(&self.path, MAX_LOCK)
            .ok()
            .and_then(|bytes| LockBody::parse(&bytes))
            .is_some_and(|body| body.token == self.token);
        if ours && fault::at(Spot::Remove).is_ok() {
            let _ = fs::remove_file(&self.path);
        }
        held().remove(&self.token);
    }
}

fn held() -> MutexGuard<'static, BTreeSet<String>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Seen {
    Gone,
    /// Which file it is, so that no other one is taken away.
    Stealable(Identity),
    Held(Option<u32>),
}

/// Device and number of a file.
type Identity = (u64, u64);

/// Looks at a lock that has been in the way for `watched`; whether it is committed is looked up once.
fn look(path: &Path, watched: Duration, committed: &OnceCell<bool>) -> Seen {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Seen::Gone };
    let read = match bounded_read::read_no_follow(path, MAX_LOCK) {
        Ok((bytes, _)) => Some(bytes),
        Err(ReadFailure::Missing) => return Seen::Gone,
        Err(_) => None,
    };
    let body = read.as_deref().and_then(LockBody::parse);
    let pid = body.as_ref().and_then(|body| body.pid);
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime_ms = modified.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let planted = why_planted(&metadata, body.as_ref(), mtime_ms, watched)
        .or_else(|| committed.get_or_init(|| is_committed(path)).then_some("it is part of a repository"));
    let facts = LockFacts {
        now_ms: now_ms(),
        mtime_ms,
        hostname: hostname(),
        holder: HolderFacts {
            alive: pid.is_some_and(is_alive),
            start_time: pid.and_then(start_time),
            ours: pid.is_some_and(runs_as_us),
        },
        planted: planted.is_some(),
        body,
    };
    let holder = facts.body.as_ref().filter(|body| body.token.ends_with(OURS));
    let is_dead = holder.is_some_and(|body| {
        let lives = facts.holder.alive && body.start_time == facts.holder.start_time;
        let released = pid == Some(std::process::id()) && !held().contains(&body.token);
        body.hostname.as_deref() == Some(facts.hostname.as_str()) && (!lives || released)
    });
    if is_dead {
        return Seen::Stealable(identity(&metadata));
    }
    match judge(&facts) {
        LockVerdict::Held(_) => Seen::Held(pid),
        LockVerdict::Stealable(because) => {
            if because == StealBecause::Planted {
                let why = planted.unwrap_or_default();
                tracing::warn!(path = %path.display(), why, "a lock that nobody has taken is replaced");
            }
            Seen::Stealable(identity(&metadata))
        }
    }
}

/// Signs that a lock was put there rather than taken: a holder makes a file of its own, now, with its name in it.
fn why_planted(
    metadata: &fs::Metadata,
    body: Option<&LockBody>,
    mtime_ms: i64,
    watched: Duration,
) -> Option<&'static str> {
    let written_then = |ts: i64| u128::from(mtime_ms.abs_diff(ts)) <= WRITTEN_THEN.as_millis();
    if !metadata.is_file() {
        Some("it is not a file")
    } else if !belongs_to_us(metadata) {
        Some("it belongs to another user")
    } else if body.is_none() && watched >= WRITTEN_SOON {
        Some("its text names nobody")
    } else if body.and_then(|body| body.ts).is_some_and(|ts| !written_then(ts)) {
        Some("it was not written when it says")
    } else {
        None
    }
}

/// Whether version control knows the file: then it was checked out, not taken.
fn is_committed(path: &Path) -> bool {
    let Some((root, git)) = path.ancestors().skip(1).find_map(|folder| {
        let git = folder.join(".git");
        git.exists().then_some((folder, git))
    }) else {
        return false;
    };
    let Ok(below) = path.strip_prefix(root) else { return false };
    // A work tree beside its repository has a file there that names the folder.
    let folder = match bounded_read::read(&git, MAX_LOCK) {
        Ok(text) => match String::from_utf8_lossy(&text).trim().strip_prefix("gitdir: ") {
            Some(named) => root.join(named),
            None => return false,
        },
        Err(_) => git,
    };
    let wanted = [below.to_string_lossy().replace('\\', "/").as_bytes(), b"\0"].concat();
    bounded_read::read(&folder.join("index"), MAX_INDEX)
        .is_ok_and(|index| index.windows(wanted.len()).any(|window| window == wanted))
}

fn now_ms() -> i64 {
    i64::try_from(clock::epoch_ms()).unwrap_or(i64::MAX)
}

/// Appears with its whole text at once: half a lock could not be told from somebody else's.
fn create(path: &Path, line: &str) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("a lock needs a folder"))?;
    let prefix = format!("{}.new.", path.file_name().unwrap_or_default().to_string_lossy());
    fault::at(Spot::Create)?;
    let mut file = tempfile::Builder::new().prefix(&prefix).rand_bytes(8).tempfile_in(folder)?;
    fault::write_all(&mut file, line.as_bytes())?;
    fault::at(Spot::Flush)?;
    file.as_file().sync_all()?;
    fault::at(Spot::Rename)?;
    file.persist_noclobber(path).map(drop).map_err(|refused| refused.error)
}

/// Takes away the file that was judged; if another one lies there by now, that one is put back.
fn steal(path: &Path, judged: Identity) {
    let aside = path.with_file_name(format!(
        "{}.stale-{}-{}-{:08x}",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id(),
        clock::epoch_ms(),
        fastrand_u32()
    ));
    if fs::rename(path, &aside).is_err() {
        return;
    }
    let Ok(metadata) = fs::symlink_metadata(&aside) else { return };
    if identity(&metadata) != judged {
        // Linking fails where yet another one has been taken meanwhile; then there is no room for it any more.
        let _ = fs::hard_link(&aside, path);
    }
    // A folder that is not empty holds something of somebody's, and stays aside.
    let _ = if metadata.is_dir() { fs::remove_dir(&aside) } else { fs::remove_file(&aside) };
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Identity {
    (0, 0)
}

/// Eight hex digits that differ between two thieves in one process and one millisecond.
fn fastrand_u32() -> u32 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let hasher = std::collections::hash_map::RandomState::new().build_hasher();
    u32::try_from(hasher.finish() & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(unix)]
fn belongs_to_us(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn belongs_to_us(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::atomic::Mode;

    #[test]
    fn a_lock_is_released_and_names_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let lock = UpstreamLock::mutation(dir.path()).unwrap();
        let bytes = bounded_read::read(&dir.path().join(".lock"), MAX_LOCK).unwrap();
        let body = LockBody::parse(&bytes).unwrap();
        assert_eq!(body.pid, Some(std::process::id()));
        drop(lock);
        assert!(!dir.path().join(".lock").exists());
    }

    /// Takes the lock of `dir` with this much patience; says how long it took.
    fn take(dir: &Path, patience_ms: u64) -> Result<Duration, LockFailure> {
        let begun = Instant::now();
        let patience = Patience::of(Duration::from_millis(patience_ms));
        let taken = patience.spend(|| UpstreamLock::mutation(dir)).unwrap();
        taken.map(|_lock| begun.elapsed())
    }

    fn put(dir: &Path, text: &str) {
        atomic::write(&dir.join(".lock"), text.as_bytes(), Mode::Keep(0o022)).unwrap();
    }

    /// The text of a lock, as upstream writes it.
    fn text(pid: u32, host: &str, start: Option<&str>, age_ms: i64) -> String {
        let body = LockBody {
            token: format!("{pid}-1-1"),
            pid: Some(pid),
            hostname: Some(host.to_owned()),
            start_time: start.map(ToOwned::to_owned),
            ts: Some(now_ms() - age_ms),
        };
        body.to_text()
    }

    fn make_old(dir: &Path, age: Duration) {
        let file = fs::File::options().write(true).open(dir.join(".lock")).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
    }

    fn is_clean(dir: &Path) -> bool {
        fs::read_dir(dir)
            .unwrap()
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().contains("lock"))
    }

    #[test]
    fn t162_garbage_is_waited_for_as_long_as_a_text_takes_to_be_written() {
        for garbage in ["", "locked", "{\"pid\":", "null", &"x".repeat(70_000)] {
            let dir = tempfile::tempdir().unwrap();
            put(dir.path(), garbage);
            let took = take(dir.path(), 20_000).unwrap();
            assert!(took >= WRITTEN_SOON && took < WRITTEN_SOON * 4, "{took:?}");
            assert!(is_clean(dir.path()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn t162_a_lock_that_is_committed_is_nobodys() {
        let dir = tempfile::tempdir().unwrap();
        let bundles = dir.path().join(".gsd/capabilities");
        fs::create_dir_all(&bundles).unwrap();
        // Alive, ours, and fresh: nothing but the repository tells that it was checked out.
        let this = std::process::id();
        put(&bundles, &text(this, &hostname(), start_time(this).as_deref(), 0));
        assert!(
            matches!(take(&bundles, 100), Err(LockFailure::Busy { holder: Some(pid), .. }) if pid == this)
        );
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.current_dir(dir.path()).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir.path());
            assert!(command.args(args).output().unwrap().status.success());
        };
        git(&["init", "-q", "."]);
        git(&["add", "-f", ".gsd/capabilities/.lock"]);
        take(&bundles, 100).unwrap();
    }

    #[test]
    fn t163_a_forged_living_holder_does_not_block() {
        // As it comes out of an archive: the file is of now, its text of another time, and the process does exist.
        let dir = tempfile::tempdir().unwrap();
        let this = std::process::id();
        put(dir.path(), &text(this, &hostname(), start_time(this).as_deref(), 3_600_000));
        take(dir.path(), 0).unwrap();
        assert!(is_clean(dir.path()));
    }

    #[cfg(unix)]
    #[test]
    fn t164_a_link_or_a_folder_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join(".lock");
        std::os::unix::fs::symlink("nowhere", &lock).unwrap();
        take(dir.path(), 0).unwrap();
        atomic::write(&dir.path().join("text"), b"{}", Mode::Keep(0o022)).unwrap();
        std::os::unix::fs::symlink("text", &lock).unwrap();
        take(dir.path(), 0).unwrap();
        assert!(dir.path().join("text").exists(), "what a link leads to stays");
        fs::create_dir(&lock).unwrap();
        take(dir.path(), 0).unwrap();
        assert!(is_clean(dir.path()));
        // Somebody's files are not deleted.
        fs::create_dir(&lock).unwrap();
        atomic::write(&lock.join("thesis"), b"years of work", Mode::Keep(0o022)).unwrap();
        take(dir.path(), 0).unwrap();
        let kept = fs::read_dir(dir.path()).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap();
        assert!(kept.path().join("thesis").exists());
    }

    #[cfg(unix)]
    #[test]
    fn t165_a_fifo_or_a_huge_file_is_not_waited_for_in_a_read() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join(".lock");
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        take(dir.path(), 0).unwrap();
        fs::File::create(&lock).unwrap().set_len(1 << 40).unwrap();
        take(dir.path(), 20_000).unwrap();
        assert!(is_clean(dir.path()));
    }

    #[test]
    fn t166_another_process_with_the_number_of_the_holder_is_not_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let this = std::process::id();
        put(dir.path(), &text(this, &hostname(), Some("1"), 61_000));
        take(dir.path(), 0).unwrap();
        // The clock was set back: a time that has not come yet counts by the file's own, and that is old.
        put(dir.path(), &text(999_999_999, &hostname(), Some("1"), -300_000));
        make_old(dir.path(), Duration::from_secs(120));
        take(dir.path(), 0).unwrap();
    }

    #[test]
    fn t167_a_living_holder_is_waited_for_and_never_robbed() {
        let dir = tempfile::tempdir().unwrap();
        let this = std::process::id();
        let held = text(this, &hostname(), start_time(this).as_deref(), 400_000);
        put(dir.path(), &held);
        let busy = take(dir.path(), 300).unwrap_err();
        assert!(matches!(&busy, LockFailure::Busy { holder: Some(pid), .. } if *pid == this), "{busy}");
        assert_eq!(bounded_read::read(&dir.path().join(".lock"), MAX_LOCK).unwrap(), held.as_bytes());
        // It is taken as soon as it is free.
        let path = dir.path().to_owned();
        let releasing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_file(path.join(".lock")).unwrap();
        });
        take(dir.path(), 20_000).unwrap();
        releasing.join().unwrap();
    }

    #[test]
    fn t167_what_was_taken_meanwhile_is_not_stolen() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "old");
        let lock = dir.path().join(".lock");
        let judged = identity(&fs::symlink_metadata(&lock).unwrap());
        // The new file first, so that it does not get the number of the old one.
        put(dir.path(), "new");
        steal(&lock, judged);
        assert_eq!(bounded_read::read(&lock, MAX_LOCK).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn t168_a_holder_on_another_machine_counts_by_age() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &text(1, "elsewhere.example", Some("1"), 300_000));
        make_old(dir.path(), Duration::from_secs(300));
        assert!(matches!(take(dir.path(), 100), Err(LockFailure::Busy { holder: Some(1), .. })));
        put(dir.path(), &text(1, "elsewhere.example", Some("1"), 601_000));
        make_old(dir.path(), Duration::from_secs(601));
        take(dir.path(), 0).unwrap();
    }

    #[test]
    fn a_lock_of_a_dead_process_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &text(999_999_999, &hostname(), Some("1"), 120_000));
        take(dir.path(), 0).unwrap();
        assert!(is_clean(dir.path()));
    }
}
