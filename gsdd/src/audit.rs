//! The audit log on the disk: `audit/audit.jsonl` in our state folder, and the files that were full before it.
//!
//! Whoever appends holds a lock, since several processes of one home may have something to say. A line that was not
//! written to its end was never acknowledged and is cut off by the next writer. Writing fails without consequences for
//! what is recorded: a full disk must not keep anybody from removing something. It is said in the daemon's status.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};

use gsdd_core::audit::{Chain, Event, Link, Summary, seal};

use crate::fs::atomic;
use crate::fs::fault::{self, Spot};
use crate::store::clock;

const CURRENT: &str = "audit.jsonl";
/// Length at which a file is put aside.
const MAX_BYTES: u64 = 5 * 1024 * 1024;
/// Files that are kept beside the current one.
const KEPT: u32 = 9;
/// Longest line; texts of events are cut far below it.
const MAX_LINE: u64 = 64 * 1024;
/// Events that may wait to be written.
const WAITING: usize = 1024;

/// The log of one home.
pub(crate) struct AuditLog {
    folder: PathBuf,
    max_bytes: u64,
    queue: OnceLock<mpsc::SyncSender<Event>>,
    problem: Mutex<Option<String>>,
}

impl AuditLog {
    /// The log below our state folder. Nothing is written before there is something to say.
    pub(crate) fn new(state: &Path) -> Self {
        Self {
            folder: state.join("audit"),
            max_bytes: MAX_BYTES,
            queue: OnceLock::new(),
            problem: Mutex::default(),
        }
    }

    /// The file that is written now.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(CURRENT)
    }

    /// Records an event, flushed.
    pub(crate) fn record(&self, event: &Event) {
        let outcome = self.append(event);
        if let Err(error) = &outcome {
            tracing::error!(%error, event = event.what.name(), "the audit log can't be written");
        }
        let problem = outcome.err().map(|error| format!("the audit log can't be written: {error}"));
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Records an event on a thread of its own: for callers that must not wait for the disk.
    pub(crate) fn record_soon(self: &std::sync::Arc<Self>, event: Event) {
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::sync_channel::<Event>(WAITING);
            let log = std::sync::Arc::downgrade(self);
            let write = move || {
                for event in receiver {
                    let Some(log) = log.upgrade() else { return };
                    log.record(&event);
                }
            };
            // Without a thread nobody takes events out, and the next one says so.
            drop(std::thread::Builder::new().name("gsdd-audit".to_owned()).spawn(write));
            sender
        });
        if queue.try_send(event).is_err() {
            let problem = "events come faster than the audit log can be written; some are missing";
            *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem.to_owned());
        }
    }

    /// Why the last event is not in the log.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn append(&self, event: &Event) -> io::Result<()> {
        atomic::private_folder(&self.folder)?;
        let lock = open(&self.folder.join("lock"))?;
        lock.lock()?;
        let mut file = open(&self.file())?;
        let mut last = last_link(&mut file)?;
        if file.metadata()?.len() >= self.max_bytes {
            self.put_aside()?;
            file = open(&self.file())?;
        }
        if last.is_none() {
            // The current file is new: it goes on where the one before it ended.
            last = match File::open(self.aside(1)) {
                Ok(mut before) => last_link(&mut before)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
        let (mut line, _) = seal(event, &clock::now(), last.as_ref());
        line.push('\n');
        file.seek(SeekFrom::End(0))?;
        fault::at(Spot::Create)?;
        fault::write_all(&mut file, line.as_bytes())?;
        fault::at(Spot::Flush)?;
        file.sync_data()
    }

    fn put_aside(&self) -> io::Result<()> {
        for n in (1..KEPT).rev() {
            let from = self.aside(n);
            if from.exists() {
                fault::at(Spot::Rename)?;
                std::fs::rename(from, self.aside(n + 1))?;
            }
        }
        fault::at(Spot::Rename)?;
        std::fs::rename(self.file(), self.aside(1))
    }

    fn aside(&self, n: u32) -> PathBuf {
        self.folder.join(format!("audit.{n}.jsonl"))
    }

    /// All files that are there, oldest first.
    fn files(&self) -> Vec<PathBuf> {
        let aside = (1..=KEPT).rev().map(|n| self.aside(n));
        aside.chain([self.file()]).filter(|path| path.exists()).collect()
    }

    /// The last `count` lines, oldest first, of those that `wanted` takes.
    ///
    /// # Errors
    /// When a file can't be read.
    pub(crate) fn tail(&self, count: usize, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let mut found = std::collections::VecDeque::new();
        self.each_line(&mut |line| {
            if wanted(line) {
                found.push_back(line.to_owned());
                if found.len() > count {
                    found.pop_front();
                }
            }
        })?;
        Ok(found.into())
    }

    /// Verifies the whole chain, and looks for the line with the digest `wanted`.
    ///
    /// # Errors
    /// When a file can't be read.
    pub(crate) fn verify(&self, wanted: Option<&str>) -> io::Result<Summary> {
        let mut chain = Chain::new(wanted);
        self.each_line(&mut |line| chain.feed(line))?;
        Ok(chain.end())
    }

    fn each_line(&self, take: &mut dyn FnMut(&str)) -> io::Result<()> {
        // Nobody puts a file aside meanwhile.
        let lock = match File::open(self.folder.join("lock")) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        lock.lock_shared()?;
        for path in self.files() {
            let mut reader = BufReader::new(File::open(path)?);
            let mut line = Vec::new();
            loop {
                line.clear();
                if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                    break;
                }
                // A line that was being written when its program ended was never acknowledged; the next one replaces it.
                if !line.ends_with(b"\n") && line.len() as u64 != MAX_LINE {
                    break;
                }
                take(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            }
        }
        Ok(())
    }
}

/// Opens for reading and writing; a link in the place of the file is not followed.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

/// The link of the last whole line; what follows it is cut off. A last line that is damaged has no link, and the next
/// one begins a chain of its own, which `verify` tells.
fn last_link(file: &mut File) -> io::Result<Option<Link>> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(2 * MAX_LINE);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(2 * MAX_LINE).read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < end.len() {
        fault::at(Spot::Write)?;
        file.set_len(from + whole as u64)?;
    }
    let text = String::from_utf8_lossy(end.get(..whole).unwrap_or_default());
    Ok(text.lines().next_back().and_then(Link::of))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gsdd_core::audit::Happening;

    use super::*;

    fn event(id: &str) -> Event {
        Event { id: id.to_owned(), ..Event::new(Happening::Installed) }
    }

    fn small(folder: &Path) -> AuditLog {
        AuditLog { max_bytes: 1000, ..AuditLog::new(folder) }
    }

    #[test]
    fn rotation_keeps_the_chain_and_drops_the_oldest_file() {
        let root = tempfile::tempdir().unwrap();
        let log = small(root.path());
        for at in 0..200 {
            log.record(&event(&format!("acme-{at}")));
        }
        assert_eq!(log.problem(), None);
        let found = log.verify(None).unwrap();
        assert_eq!(found.broken, []);
        assert_eq!(found.last.as_ref().map(|link| link.seq), Some(200));
        assert!(found.first_seq > Some(1) && found.lines < 200, "{found:?}");
        assert_eq!(log.files().len(), 10);
        let tail = log.tail(2, |line| line.contains("acme-1")).unwrap();
        assert!(tail[0].contains("acme-198\"") && tail[1].contains("acme-199\""), "{tail:?}");
        // Another process goes on with the same chain.
        small(root.path()).record(&event("acme-more"));
        assert_eq!(log.verify(None).unwrap().last.map(|link| link.seq), Some(201));
        std::fs::remove_file(log.aside(3)).unwrap();
        assert_eq!(log.verify(None).unwrap().broken.len(), 1);
    }

    #[test]
    fn a_line_that_was_not_written_to_its_end_is_cut_off() {
        let root = tempfile::tempdir().unwrap();
        let log = AuditLog::new(root.path());
        log.record(&event("one"));
        log.record(&event("two"));
        let length = std::fs::metadata(log.file()).unwrap().len();
        OpenOptions::new().write(true).open(log.file()).unwrap().set_len(length - 10).unwrap();
        let found = log.verify(None).unwrap();
        assert_eq!((found.broken.len(), found.lines), (0, 1));
        log.record(&event("three"));
        let found = log.verify(None).unwrap();
        assert_eq!((found.broken.len(), found.last.map(|link| link.seq)), (0, Some(2)));
        assert_eq!(log.tail(10, |line| line.contains("\"two\"")).unwrap().len(), 0);
    }

    #[test]
    fn what_can_not_be_written_is_said_and_does_no_harm() {
        let root = tempfile::tempdir().unwrap();
        let log = AuditLog::new(&root.path().join("file/state"));
        drop(File::create(root.path().join("file")).unwrap());
        log.record(&event("one"));
        assert!(log.problem().unwrap().contains("can't be written"));
        assert_eq!(AuditLog::new(root.path()).verify(None).unwrap(), Summary::default());
    }

    #[test]
    fn events_of_the_hot_path_are_written_in_order() {
        let root = tempfile::tempdir().unwrap();
        let log = Arc::new(AuditLog::new(root.path()));
        for at in 0..50 {
            log.record_soon(event(&format!("acme-{at}")));
        }
        for _ in 0..500 {
            if log.verify(None).unwrap().lines == 50 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let found = log.verify(None).unwrap();
        assert_eq!((found.lines, found.broken.len()), (50, 0));
        assert!(log.tail(1, |_| true).unwrap()[0].contains("acme-49"));
    }

    #[cfg(unix)]
    #[test]
    fn t44_a_planted_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("audit")).unwrap();
        let victim = root.path().join("victim");
        std::os::unix::fs::symlink(&victim, root.path().join("audit").join(CURRENT)).unwrap();
        let log = AuditLog::new(root.path());
        log.record(&event("one"));
        assert!(log.problem().is_some() && !victim.exists());
    }
}
