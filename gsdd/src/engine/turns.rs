//! Whose turn it is: the writer's queue, and what is done when somebody else is at work.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::mpsc;
use std::time::Duration;

use gsd_proto::{Code, WireError};

use crate::patience::{PAUSE, Patience, holder_words};
use crate::store::lock_holder;

/// How long work that nobody asked for waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Work in the queue, and how long its caller waits for it to begin.
pub(super) struct Queued<W> {
    pub(super) work: W,
    pub(super) patience: Patience,
}

impl<W> Queued<W> {
    /// Work that nobody waits for, or whose caller waits as long as it takes.
    pub(super) fn own(work: W) -> Self {
        Self { work, patience: Patience::of(PATIENCE) }
    }
}

/// The next piece of work: what was put off gets its turn again and again, in between what comes in.
pub(super) fn next<W>(
    queue: &mpsc::Receiver<Queued<W>>,
    put_off: &mut VecDeque<Queued<W>>,
) -> Option<Queued<W>> {
    if put_off.is_empty() {
        return queue.recv().ok();
    }
    match queue.recv_timeout(PAUSE) {
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        incoming => incoming.ok().or_else(|| put_off.pop_front()),
    }
}

/// The outcome of work that waits for others by being put off; `None` when it was.
pub(super) fn unless_put_off<T>(work: impl FnOnce() -> T) -> Option<T> {
    let patience = Patience::current();
    patience.allow_putting_off(true);
    let outcome = work();
    (!patience.was_put_off()).then_some(outcome)
}

/// Why a file is not locked.
pub(super) enum NoLock {
    Held(WireError),
    Io(std::io::Error),
}

impl NoLock {
    pub(super) fn map_or_else(
        self,
        held: impl FnOnce(WireError) -> WireError,
        io: impl FnOnce(std::io::Error) -> WireError,
    ) -> WireError {
        match self {
            Self::Held(error) => held(error),
            Self::Io(error) => io(error),
        }
    }
}

/// Takes the system's lock of a file or folder, waiting as long as this change may.
pub(super) fn wait_for(file: &File, what: &str) -> Result<(), NoLock> {
    let patience = Patience::current();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::Error(error)) => return Err(NoLock::Io(error)),
            Err(std::fs::TryLockError::WouldBlock) => {}
        }
        let holder = lock_holder(file);
        if !patience.pause(what, holder) {
            return Err(NoLock::Held(held(what, &holder_words(holder), patience.limit())));
        }
    }
}

pub(super) fn held(what: &str, holder: &str, waited: Duration) -> WireError {
    WireError::new(Code::LockHeld, format!("{what} is not done yet; it was waited for {waited:?}"))
        .caused_by(format!("held by {holder}"))
        .with_fix("wait for it, or for longer (--timeout 5m), then run the same command again", &[])
}
