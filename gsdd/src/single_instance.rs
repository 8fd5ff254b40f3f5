//! One daemon for one user and home: whoever holds the lock file may bind, and nobody else may remove the socket.
//!
//! The lock is the operating system's and goes with the process, however it ends. A socket file that a killed daemon
//! left behind is removed only by the holder of the lock, and only after a connection to it was *refused*: a slow or
//! stopped daemon is not a dead one (field report FR-034).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use gsd_proto::client;
use gsd_proto::endpoint::Endpoint;
use gsd_proto::private_dir;
use gsd_proto::readiness::StartFailure;

/// How long a probe of a socket waits.
const PROBE: Duration = Duration::from_millis(250);

/// Proof that this process is the only daemon of its endpoint.
#[derive(Debug)]
pub struct Instance {
    /// Held for the life of the process; closing it releases the lock.
    _lock: File,
}

/// Why this process is not the daemon.
#[derive(Debug)]
pub enum NotAlone {
    /// Another one serves already.
    Serving,
    /// Something is in the way.
    Failed(StartFailure),
}

impl From<StartFailure> for NotAlone {
    fn from(failure: StartFailure) -> Self {
        Self::Failed(failure)
    }
}

/// A failure of `stage` at `path`.
#[must_use]
pub fn failure(stage: &str, path: &Path, error: &io::Error) -> StartFailure {
    StartFailure {
        stage: stage.to_owned(),
        errno: error.raw_os_error(),
        path: Some(path.to_owned()),
        message: error.to_string(),
        at: 0,
    }
}

/// Takes the lock, waiting up to `patience` for a daemon that is on its way out.
///
/// # Errors
/// [`NotAlone::Serving`] if another daemon answers on the socket.
pub fn acquire(endpoint: &Endpoint, patience: Duration) -> Result<Instance, NotAlone> {
    if endpoint.explicit {
        private_dir::check(&endpoint.dir).map_err(|error| StartFailure::from(&error))?;
    } else {
        private_dir::ensure(&endpoint.dir).map_err(|error| StartFailure::from(&error))?;
    }
    let path = endpoint.lock_file();
    let lock = open_lock(&path).map_err(|error| failure("lock", &path, &error))?;
    let Some(mut lock) = lock_within(lock, patience, || probe(&endpoint.socket) == Probe::Serving)
        .map_err(|error| failure("lock", &path, &error))?
    else {
        if probe(&endpoint.socket) == Probe::Serving {
            return Err(NotAlone::Serving);
        }
        let message = "another gsdd holds the lock and does not answer".to_owned();
        return Err(StartFailure {
            stage: "lock".to_owned(),
            path: Some(path),
            message,
            ..StartFailure::default()
        }
        .into());
    };
    // For people who look; nothing reads it.
    lock.set_len(0)
        .and_then(|()| writeln!(lock, "{}", std::process::id()))
        .map_err(|error| failure("lock", &path, &error))?;
    Ok(Instance { _lock: lock })
}

/// `None` when the lock stayed with its holder. `pointless` is asked once, before waiting.
fn lock_within(lock: File, patience: Duration, pointless: impl FnOnce() -> bool) -> io::Result<Option<File>> {
    match lock.try_lock() {
        Ok(()) => return Ok(Some(lock)),
        Err(std::fs::TryLockError::WouldBlock) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    if pointless() {
        return Ok(None);
    }
    // The system's lock has no time limit, so another thread waits for it.
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let result = lock.lock().map(|()| lock);
        drop(sender.send(result));
    });
    match receiver.recv_timeout(patience) {
        Ok(result) => result.map(Some),
        Err(_) => Ok(None),
    }
}

#[cfg(unix)]
fn open_lock(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let no_links = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_links)
        .open(path)
}

#[cfg(not(unix))]
fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Serving,
    Refused,
    Unknown,
}

fn probe(socket: &Path) -> Probe {
    match client::connect(socket, PROBE) {
        Ok(_) => Probe::Serving,
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Probe::Refused,
            _ => Probe::Unknown,
        },
    }
}

/// Makes the socket's path free. Only the holder of the lock may do that, hence the argument.
///
/// # Errors
/// When something else is there, or a connection to it was not refused.
#[cfg(unix)]
pub fn clear_stale_socket(_holder: &Instance, socket: &Path) -> Result<(), StartFailure> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let found = match std::fs::symlink_metadata(socket) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failure("socket", socket, &error)),
    };
    let refuse = |message: &str| {
        Err(StartFailure {
            stage: "socket".to_owned(),
            path: Some(socket.to_owned()),
            message: message.to_owned(),
            ..StartFailure::default()
        })
    };
    if !found.file_type().is_socket() {
        return refuse("something that is not a socket is in its place");
    }
    if found.uid() != private_dir::our_uid() {
        return refuse("a socket of another user is in its place");
    }
    match probe(socket) {
        Probe::Refused => {}
        Probe::Serving => return refuse("a program that does not hold the lock listens there"),
        Probe::Unknown => return refuse("a program that does not answer may be listening there"),
    }
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failure("socket", socket, &error)),
        _ => Ok(()),
    }
}

/// Pipes of Windows vanish with their process.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn clear_stale_socket(_holder: &Instance, _socket: &Path) -> Result<(), StartFailure> {
    Ok(())
}

/// A socket file that we made, told apart from one that took its place later.
#[derive(Clone, Debug)]
pub struct OwnSocket {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl OwnSocket {
    /// Remembers the file at `path` as ours.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Whether it is still where it was made.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        identity(&self.path) == self.identity
    }

    /// Removes it, if it is still the same one.
    pub fn remove(&self) {
        if self.identity.is_some() && self.is_in_place() {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn endpoint(root: &Path) -> Endpoint {
        let surroundings =
            gsd_proto::endpoint::Surroundings { socket: Some(root.join("x.sock")), ..Default::default() };
        Endpoint::resolve(&surroundings)
    }

    #[test]
    fn p11_only_the_holder_of_the_lock_gets_it() {
        let root = tempfile::tempdir().unwrap();
        let endpoint = endpoint(root.path());
        let first = acquire(&endpoint, Duration::ZERO).unwrap();
        assert!(
            matches!(acquire(&endpoint, Duration::from_millis(10)), Err(NotAlone::Failed(f)) if f.stage == "lock")
        );
        let listener = UnixListener::bind(&endpoint.socket).unwrap();
        assert!(matches!(acquire(&endpoint, Duration::ZERO), Err(NotAlone::Serving)));
        drop((first, listener));
        acquire(&endpoint, Duration::from_secs(5)).unwrap();
    }

    #[test]
    fn p11_t172_a_refusing_socket_is_stale_and_a_serving_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let endpoint = endpoint(root.path());
        let holder = acquire(&endpoint, Duration::ZERO).unwrap();
        clear_stale_socket(&holder, &endpoint.socket).unwrap();
        let listener = UnixListener::bind(&endpoint.socket).unwrap();
        assert!(clear_stale_socket(&holder, &endpoint.socket).is_err());
        assert!(endpoint.socket.exists());
        drop(listener);
        clear_stale_socket(&holder, &endpoint.socket).unwrap();
        assert!(!endpoint.socket.exists());
    }

    #[test]
    fn t171_a_link_in_the_place_of_the_socket_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let endpoint = endpoint(root.path());
        let holder = acquire(&endpoint, Duration::ZERO).unwrap();
        let other = root.path().join("other.sock");
        drop(UnixListener::bind(&other).unwrap());
        std::os::unix::fs::symlink(&other, &endpoint.socket).unwrap();
        assert!(clear_stale_socket(&holder, &endpoint.socket).is_err());
        assert!(other.exists() && std::fs::symlink_metadata(&endpoint.socket).is_ok());
    }

    #[test]
    fn t171_a_link_in_the_place_of_the_lock_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let endpoint = endpoint(root.path());
        std::os::unix::fs::symlink(root.path().join("elsewhere"), endpoint.lock_file()).unwrap();
        assert!(matches!(acquire(&endpoint, Duration::ZERO), Err(NotAlone::Failed(_))));
        assert!(!root.path().join("elsewhere").exists());
    }

    #[test]
    fn t172_the_socket_of_a_successor_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("s");
        let first = UnixListener::bind(&path).unwrap();
        let own = OwnSocket::at(&path);
        std::fs::rename(&path, root.path().join("kept")).unwrap();
        let second = UnixListener::bind(&path).unwrap();
        own.remove();
        assert!(path.exists());
        drop((first, second));
        let own = OwnSocket::at(&path);
        own.remove();
        assert!(!path.exists());
    }
}
