//! Starting a daemon: one client does it, the others wait for that one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gsd_proto::client::Client;
use gsd_proto::private_dir;
use gsd_proto::readiness::{Readiness, StartFailure};

use super::probe::{Attempt, attempt};
use super::{ConnectError, Options, sibling};

/// For this long after a failed start no other one is tried: it would fail the same way, and slow every command down.
const FAILURE_COOL_DOWN: Duration = Duration::from_secs(10);

/// How long to wait for a lock before looking whose it is.
const HOLDER_CHECK: Duration = Duration::from_millis(100);

/// Longest line that a starting daemon is listened to, and longest record that is read, in bytes.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// Starts a daemon, unless another client just did, and connects to it.
pub(super) fn start(options: &Options) -> Result<Client, ConnectError> {
    let endpoint = &options.endpoint;
    heed_recent_failure(options)?;
    let folder = if endpoint.explicit {
        private_dir::check(&endpoint.dir)
    } else {
        private_dir::ensure(&endpoint.dir)
    };
    folder.map_err(|error| ConnectError::StartFailed(Box::new(StartFailure::from(&error))))?;
    let deadline = Instant::now() + options.start_timeout;
    let path = endpoint.start_lock_file();
    let lock = open_lock(&path)
        .and_then(|lock| lock_until(lock, deadline))
        .map_err(|error| start_lock(&path, &error))?;
    // Whoever held the lock before us has started one.
    if let Attempt::Connected(client) = attempt(options)? {
        return Ok(client);
    }
    heed_recent_failure(options)?;
    let deadline = Instant::now() + options.start_timeout;
    spawn_and_wait(options, deadline)?;
    let connected = attempt(options)?;
    drop(lock);
    match connected {
        Attempt::Connected(client) => Ok(client),
        Attempt::Nobody => Err(ConnectError::Closed),
    }
}

/// Whether a start now would change nothing: it would fail as the last one did, or somebody has the daemon's lock.
pub(super) fn is_pointless(options: &Options) -> bool {
    if heed_recent_failure(options).is_err() {
        return true;
    }
    let held = |lock: File| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock));
    File::open(options.endpoint.lock_file()).is_ok_and(held)
}

fn heed_recent_failure(options: &Options) -> Result<(), ConnectError> {
    let failure = if options.heed_failures { recent_failure(&options.endpoint.failure_file()) } else { None };
    failure.map_or(Ok(()), |failure| Err(ConnectError::StartFailed(Box::new(failure))))
}

fn start_lock(path: &Path, error: &io::Error) -> ConnectError {
    if error.kind() == io::ErrorKind::TimedOut {
        return ConnectError::StartTimeout;
    }
    ConnectError::StartFailed(Box::new(StartFailure {
        stage: "start_lock".to_owned(),
        errno: error.raw_os_error(),
        path: Some(path.to_owned()),
        message: error.to_string(),
        at: 0,
    }))
}

/// Starts the program and waits for its one line; the pipe tells, nothing is polled.
fn spawn_and_wait(options: &Options, deadline: Instant) -> Result<(), ConnectError> {
    let mut command = sibling::command(options).map_err(|error| ConnectError::NoProgram(Box::new(error)))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let failed = |message: String| {
        ConnectError::StartFailed(Box::new(StartFailure {
            stage: "spawn".to_owned(),
            message,
            ..StartFailure::default()
        }))
    };
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let Some(stdout) = child.stdout.take() else { return Err(failed("no pipe".to_owned())) };
    match readiness_until(stdout, deadline) {
        Ok(Readiness::Ready(_)) => Ok(()),
        Ok(Readiness::Failed(failure)) => {
            // It is on its way out.
            drop(child.wait());
            Err(ConnectError::StartFailed(Box::new(failure)))
        }
        // It may still come up, for the next client.
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(ConnectError::StartTimeout),
        Err(error) => Err(failed(format!("it ended without a word ({error})"))),
    }
}

fn readiness_until(stdout: ChildStdout, deadline: Instant) -> io::Result<Readiness> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout.take(MAX_RECORD_BYTES)).read_line(&mut line);
        drop(sender.send(read.and_then(|_| serde_json::from_str(&line).map_err(io::Error::from))));
    });
    receiver
        .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// What a daemon left that could not start a moment ago.
fn recent_failure(path: &Path) -> Option<StartFailure> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_RECORD_BYTES).read_to_string(&mut text).ok()?;
    let failure: StartFailure = serde_json::from_str(&text).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    // A record from the future (the clock was set back) does not count.
    let age = now.checked_sub(failure.at)?;
    (age < FAILURE_COOL_DOWN.as_secs()).then_some(failure)
}

/// Waits until nobody holds the lock at `path`, or somebody else than `pid` does.
pub(super) fn wait_for_lock(path: &Path, pid: Option<u32>, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        let lock = match File::open(path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        // A successor may take the lock before we do; it writes its own number into the file.
        match lock_until(lock, deadline.min(Instant::now() + HOLDER_CHECK)) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::TimedOut => return Err(error),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) if pid.is_some_and(|pid| holder(path) != Some(pid)) => return Ok(()),
            Err(_) => {}
        }
    }
}

fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The system's lock has no time limit, so another thread waits for it where waiting is needed.
fn lock_until(lock: File, deadline: Instant) -> io::Result<File> {
    match lock.try_lock() {
        Ok(()) => return Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => {}
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let result = lock.lock().map(|()| lock);
        drop(sender.send(result));
    });
    receiver
        .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

#[cfg(unix)]
fn open_lock(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
