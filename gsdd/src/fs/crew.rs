//! Work on the disk that is handed over to other threads: the disk has most of its work done once for files that are
//! waited for together, and whoever hands it over can hash or unpack the next file meanwhile.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Pieces of work that wait. With at most [`PIECE`] bytes in each they take 4 MiB.
const WAITING: usize = 32;
/// Most bytes of a file that are held in memory to be written by a crew.
pub(super) const PIECE: usize = 128 * 1024;
/// Whether there are threads at all: where effects are counted, there is only the one that counts.
pub(super) const THREADS: bool = cfg!(not(any(test, feature = "fail-points")));

type Work<E> = Box<dyn FnOnce() -> Result<(), E> + Send>;

/// Threads that do work in any order. After the first failure they do nothing more. They end with the value.
#[derive(Debug)]
pub(super) struct Crew<E> {
    give: Option<SyncSender<Work<E>>>,
    threads: Vec<JoinHandle<Result<(), E>>>,
}

impl<E: From<io::Error> + Send + 'static> Crew<E> {
    /// A crew of so many threads.
    pub(super) fn new(threads: usize) -> Self {
        if !THREADS {
            return Self { give: None, threads: Vec::new() };
        }
        let (give, take) = mpsc::sync_channel(WAITING);
        let take = Arc::new(Mutex::new(take));
        let threads =
            (0..threads).map(|_| Arc::clone(&take)).map(|take| std::thread::spawn(move || work(&take)));
        Self { give: Some(give), threads: threads.collect() }
    }

    /// Hands work over, or does it.
    ///
    /// # Errors
    /// Of work that is done at once; what others do is answered by [`Crew::finish`].
    pub(super) fn give(&self, work: impl FnOnce() -> Result<(), E> + Send + 'static) -> Result<(), E> {
        match &self.give {
            Some(give) => give.send(Box::new(work)).map_err(|_| ended().into()),
            None => work(),
        }
    }

    /// Waits for everything that was handed over.
    ///
    /// # Errors
    /// The first failure of a thread.
    pub(super) fn finish(mut self) -> Result<(), E> {
        self.give = None;
        let mut done = Ok(());
        for thread in self.threads.drain(..) {
            done = done.and(thread.join().unwrap_or_else(|_| Err(ended().into())));
        }
        done
    }
}

impl<E> Drop for Crew<E> {
    fn drop(&mut self) {
        self.give = None;
        // Nobody removes a folder in which there is still somebody at work.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn work<E>(take: &Mutex<Receiver<Work<E>>>) -> Result<(), E> {
    let mut done = Ok(());
    loop {
        let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        // What comes after a failure is taken, so that nobody waits, and thrown away.
        match next {
            Ok(work) if done.is_ok() => done = work(),
            Ok(_) => {}
            Err(_) => return done,
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("a thread that writes files ended early")
}
