//! Gathers marks and passes each project on once things are quiet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Quiet time before a marked project is passed on.
const QUIET: Duration = Duration::from_millis(50);
/// Longest time that a stream of events can delay it.
const CEILING: Duration = Duration::from_millis(500);
/// How often projects are looked at that can't be watched.
const POLL: Duration = Duration::from_secs(2);

/// What the watcher tells.
pub(super) enum Mark {
    /// Something changed in a project.
    Changed(PathBuf),
    /// A project can't be watched (`true`), or can be again.
    Polled(PathBuf, bool),
}

/// Runs until the watcher is gone. Sleeps without any time-out while nothing is marked or polled.
pub(super) fn run(marks: &Receiver<Mark>, pass_on: &dyn Fn(PathBuf)) {
    let mut marked: HashMap<PathBuf, (Instant, Instant)> = HashMap::new();
    let mut polled: HashMap<PathBuf, Instant> = HashMap::new();
    loop {
        let now = Instant::now();
        let next = marked
            .values()
            .map(|(first, last)| (*last + QUIET).min(*first + CEILING))
            .chain(polled.values().copied())
            .min();
        let received = match next {
            None => marks.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => marks.recv_timeout(due.saturating_duration_since(now)),
        };
        match received {
            Ok(Mark::Changed(project)) => {
                let now = Instant::now();
                marked.entry(project).and_modify(|(_, last)| *last = now).or_insert((now, now));
            }
            Ok(Mark::Polled(project, true)) => {
                polled.entry(project).or_insert_with(|| Instant::now() + POLL);
            }
            Ok(Mark::Polled(project, false)) => {
                polled.remove(&project);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        let due: Vec<PathBuf> = marked
            .iter()
            .filter(|(_, (first, last))| now >= *last + QUIET || now >= *first + CEILING)
            .map(|(project, _)| project.clone())
            .collect();
        for project in due {
            marked.remove(&project);
            pass_on(project);
        }
        for (project, due) in &mut polled {
            if now >= *due {
                *due = now + POLL;
                pass_on(project.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_burst_is_passed_on_once() {
        let (send, marks) = mpsc::channel();
        let (passed, seen) = mpsc::channel();
        let thread = std::thread::spawn(move || run(&marks, &move |project| passed.send(project).unwrap()));
        for _ in 0..100 {
            send.send(Mark::Changed("p".into())).unwrap();
        }
        assert_eq!(seen.recv_timeout(Duration::from_secs(5)).unwrap(), PathBuf::from("p"));
        drop(send);
        thread.join().unwrap();
        assert!(seen.try_recv().is_err());
    }
}
