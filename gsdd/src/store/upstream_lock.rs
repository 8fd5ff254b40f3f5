//! The lock files that upstream respects.
//!
//! Our own exclusion is the daemon's one writer; this one tells the other implementation that we are at work, and
//! waits while it is. A planted lock can't block for ever: one that is a symlink, that belongs to another user, or
//! whose process is gone is taken over (T162 to T168).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gsdd_core::ledger::lock::{HolderFacts, LockBody, LockFacts, LockVerdict, StealBecause, judge};

use super::clock;
use crate::fs::atomic;
use crate::fs::bounded_read::{self, ReadFailure};
use crate::fs::fault::{self, Spot};

/// Cap of a lock file, in bytes.
const MAX_LOCK: u64 = 64 * 1024;
/// How long a living holder is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(25);
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

/// Somebody else is at work.
#[derive(Debug, thiserror::Error)]
#[error("another operation holds {path} (process {holder}); it was waited for {waited:?}")]
pub(crate) struct LockBusy {
    pub(crate) path: String,
    pub(crate) holder: String,
    pub(crate) waited: Duration,
}

impl UpstreamLock {
    /// The lock of changes to a scope root.
    pub(crate) fn mutation(bundles: &Path) -> Result<Self, LockBusy> {
        Self::take(Self::mutation_file(bundles))
    }

    /// The lock of the consent store.
    pub(crate) fn consent(folder: &Path) -> Result<Self, LockBusy> {
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
        if matches!(look(path), Seen::Stealable) {
            steal(path);
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        atomic::remove_temporaries(folder, &format!("{}.new.", name.to_string_lossy()));
    }

    fn take(path: PathBuf) -> Result<Self, LockBusy> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        let pid = std::process::id();
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        let token = format!("{pid}-{}-{sequence}{OURS}", clock::epoch_ms());
        let begun = Instant::now();
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
                Err(error) => {
                    return Err(LockBusy {
                        path: path.display().to_string(),
                        holder: format!("none; creating it failed: {error}"),
                        waited: begun.elapsed(),
                    });
                }
            }
            match look(&path) {
                Seen::Gone => continue,
                Seen::Stealable => steal(&path),
                Seen::Held(holder) if begun.elapsed() > PATIENCE => {
                    return Err(LockBusy {
                        path: path.display().to_string(),
                        holder,
                        waited: begun.elapsed(),
                    });
                }
                Seen::Held(_) => std::thread::sleep(PAUSE),
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
    Stealable,
    Held(String),
}

fn look(path: &Path) -> Seen {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Seen::Gone };
    let body = match bounded_read::read_no_follow(path, MAX_LOCK) {
        Ok((bytes, _)) => LockBody::parse(&bytes),
        Err(ReadFailure::Missing) => return Seen::Gone,
        Err(_) => None,
    };
    let pid = body.as_ref().and_then(|body| body.pid);
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let facts = LockFacts {
        now_ms: now_ms(),
        mtime_ms: modified.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        hostname: hostname(),
        holder: HolderFacts {
            alive: pid.is_some_and(is_alive),
            start_time: pid.and_then(start_time),
            ours: pid.is_some_and(runs_as_us),
        },
        // A link or somebody else's file was put there: a holder would have created a file of ours.
        planted: metadata.file_type().is_symlink() || !belongs_to_us(&metadata),
        body,
    };
    let holder = facts.body.as_ref().filter(|body| body.token.ends_with(OURS));
    let is_dead = holder.is_some_and(|body| {
        let lives = facts.holder.alive && body.start_time == facts.holder.start_time;
        let released = pid == Some(std::process::id()) && !held().contains(&body.token);
        body.hostname.as_deref() == Some(facts.hostname.as_str()) && (!lives || released)
    });
    if is_dead {
        return Seen::Stealable;
    }
    match judge(&facts) {
        LockVerdict::Held(_) => Seen::Held(pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string())),
        LockVerdict::Stealable(because) => {
            if because == StealBecause::Planted {
                tracing::warn!(path = %path.display(), "a planted lock is removed");
            }
            Seen::Stealable
        }
    }
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

fn steal(path: &Path) {
    let aside = path.with_file_name(format!(
        "{}.stale-{}-{}-{:08x}",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id(),
        clock::epoch_ms(),
        fastrand_u32()
    ));
    if fs::rename(path, &aside).is_ok() {
        let _ = if aside.is_dir() { fs::remove_dir_all(&aside) } else { fs::remove_file(&aside) };
    }
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

#[cfg(unix)]
fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn hostname() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

#[cfg(unix)]
pub(super) fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        // One that has ended and was not waited for can still be signalled.
        Ok(()) => !stat_of(pid.as_raw_nonzero().get().unsigned_abs())
            .is_some_and(|stat| matches!(stat.first().map(String::as_str), Some("Z" | "X"))),
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

#[cfg(not(unix))]
pub(super) fn is_alive(_: u32) -> bool {
    true
}

/// Whether a process runs under our own user.
#[cfg(unix)]
fn runs_as_us(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(format!("/proc/{pid}"))
        .map_or(true, |metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn runs_as_us(_: u32) -> bool {
    true
}

/// Field 22 of `/proc/<pid>/stat`.
fn start_time(pid: u32) -> Option<String> {
    stat_of(pid)?.get(19).cloned()
}

/// Fields 3 and later of `/proc/<pid>/stat`, counted behind the last `)` because the name may hold anything.
fn stat_of(pid: u32) -> Option<Vec<String>> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let text = String::from_utf8(read_proc(&path)?).ok()?;
    let rest = &text[text.rfind(')')? + 1..];
    Some(rest.split_ascii_whitespace().map(ToOwned::to_owned).collect())
}

/// Files of `/proc` say that they are empty, so they are read to their end.
fn read_proc(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_LOCK).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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

    #[cfg(unix)]
    #[test]
    fn t164_a_dangling_link_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join(".lock")).unwrap();
        UpstreamLock::mutation(dir.path()).unwrap();
    }

    #[test]
    fn a_lock_of_a_dead_process_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let host = hostname();
        let old = clock::epoch_ms() - 120_000;
        let body =
            format!(r#"{{"token":"x","pid":999999999,"hostname":"{host}","startTime":"1","ts":{old}}}"#);
        atomic::write(&dir.path().join(".lock"), body.as_bytes(), Mode::Keep(0o022)).unwrap();
        UpstreamLock::mutation(dir.path()).unwrap();
    }
}
