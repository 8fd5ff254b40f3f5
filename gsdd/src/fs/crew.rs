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
    /// A crew of so many threads, where there are threads at all.
    pub(super) fn new(threads: usize) -> Self {
        if THREADS { Self::of(threads) } else { Self { give: None, threads: Vec::new() } }
    }

    fn of(threads: usize) -> Self {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Gives so many pieces of work, of which `failing` fails; how many were done, and what came of it.
    fn given(pieces: usize, failing: Option<usize>) -> (usize, io::Result<()>) {
        let done = Arc::new(AtomicUsize::new(0));
        let crew: Crew<io::Error> = Crew::of(3);
        for piece in 0..pieces {
            let done = Arc::clone(&done);
            let work = move || {
                done.fetch_add(1, Ordering::Relaxed);
                if failing == Some(piece) { Err(io::Error::other("full")) } else { Ok(()) }
            };
            crew.give(work).unwrap();
        }
        let outcome = crew.finish();
        (done.load(Ordering::Relaxed), outcome)
    }

    #[test]
    fn everything_is_done_and_a_failure_of_any_piece_is_told() {
        for pieces in [0, 1, WAITING * 5] {
            let (done, outcome) = given(pieces, None);
            assert!(done == pieces && outcome.is_ok());
        }
        for failing in [0, 7, WAITING * 5 - 1] {
            // More work than may wait: nobody who gives it is left waiting for a thread that has failed.
            assert_eq!(given(WAITING * 5, Some(failing)).1.unwrap_err().to_string(), "full");
        }
    }

    #[test]
    fn a_crew_that_is_given_up_ends_its_work_first() {
        let done = Arc::new(AtomicUsize::new(0));
        let crew: Crew<io::Error> = Crew::of(2);
        for _ in 0..WAITING {
            let done = Arc::clone(&done);
            crew.give(move || {
                std::thread::sleep(std::time::Duration::from_millis(1));
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
        }
        drop(crew);
        assert_eq!(Arc::strong_count(&done), 1, "no thread is left");
        assert_eq!(done.load(Ordering::Relaxed), WAITING);
    }
}
