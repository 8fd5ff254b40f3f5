//! Attending to a script without a thread: its three pipes are waited for together.
//!
//! Three threads for each script cost a hook call a tenth of its time, and a child that stayed behind with the pipe
//! of the input could hold the call.

use std::io::{self, ErrorKind, Read, Write as _};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::script::{Ended, MAX_STDERR, MAX_STDOUT, STRAGGLERS};

/// First and longest pause between looks whether the script has ended while its pipes are open.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// Looks without a pause after the pipes were closed: that happens a moment before a process has ended.
const EAGER_LOOKS: u32 = 200;

/// Feeds the child, drains it, and ends it at its time limit.
pub(super) fn attend(mut child: Child, input: &[u8], limit: Duration) -> Ended {
    let deadline = Instant::now() + limit;
    let mut stdin = Feed::new(child.stdin.take(), input);
    let mut stdout = Drain::new(child.stdout.take(), MAX_STDOUT);
    let mut stderr = Drain::new(child.stderr.take(), MAX_STDERR);
    let mut status = None;
    // Set once the script has ended: whoever still holds the pipes is not waited for longer.
    let mut leave_at = None;
    let mut pause = PAUSES.0;
    while stdin.is_open() || stdout.is_open() || stderr.is_open() {
        let now = Instant::now();
        let until = leave_at.unwrap_or(deadline);
        if now >= until {
            break;
        }
        if wait(&mut stdin, &mut stdout, &mut stderr, (until - now).min(pause)) {
            continue;
        }
        pause = (pause * 2).min(PAUSES.1);
        if leave_at.is_none()
            && let Ok(Some(ended)) = child.try_wait()
        {
            status = Some(ended);
            leave_at = Some(Instant::now() + STRAGGLERS);
        }
    }
    let (status, timed_out) = match status {
        Some(status) => (Ok(status), false),
        None => end(&mut child, deadline),
    };
    Ended { status, timed_out, stdout: stdout.text(), stderr: stderr.text() }
}

/// Waits until a pipe is ready and serves the ready ones; false when none was.
fn wait(
    stdin: &mut Feed<'_>,
    stdout: &mut Drain<impl Read + AsFd>,
    stderr: &mut Drain<impl Read + AsFd>,
    limit: Duration,
) -> bool {
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    let mut waiting = Vec::with_capacity(3);
    if let Some(pipe) = &stdin.pipe {
        waiting.push(PollFd::new(pipe, PollFlags::OUT));
    }
    if let Some(pipe) = &stdout.pipe {
        waiting.push(PollFd::new(pipe, PollFlags::IN));
    }
    if let Some(pipe) = &stderr.pipe {
        waiting.push(PollFd::new(pipe, PollFlags::IN));
    }
    if !matches!(poll(&mut waiting, Some(&limit)), Ok(1..)) {
        return false;
    }
    // In the order in which they were put there.
    let ready: Vec<bool> = waiting.iter().map(|pipe| !pipe.revents().is_empty()).collect();
    let mut ready = ready.into_iter();
    let mut is_ready = |open: bool| open && ready.next() == Some(true);
    let (feed, out, err) =
        (is_ready(stdin.is_open()), is_ready(stdout.is_open()), is_ready(stderr.is_open()));
    if feed {
        stdin.write_some();
    }
    if out {
        stdout.read_some();
    }
    if err {
        stderr.read_some();
    }
    true
}

/// The status of a script whose pipes are done with, and whether it had to be killed for it.
fn end(child: &mut Child, deadline: Instant) -> (io::Result<ExitStatus>, bool) {
    let mut looks = 0;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return (Ok(status), false),
            Ok(None) => {}
            Err(error) => return (Err(error), false),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // It may have ended by itself meanwhile; then there is nothing to kill.
            let _ = child.kill();
            return (child.wait(), true);
        }
        looks += 1;
        if looks < EAGER_LOOKS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(left.min(pause));
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

/// The script's standard input with what it has not taken yet; closed when it has all, or wants no more.
struct Feed<'a> {
    pipe: Option<ChildStdin>,
    left: &'a [u8],
}

impl<'a> Feed<'a> {
    fn new(pipe: Option<ChildStdin>, input: &'a [u8]) -> Self {
        // Writing to a full pipe must not hold up reading what the script prints meanwhile.
        let pipe = pipe.filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok());
        let mut feed = Self { pipe, left: input };
        // Most inputs fit into the pipe: then there is nothing to wait for.
        feed.write_some();
        feed
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn write_some(&mut self) {
        while let Some(pipe) = &mut self.pipe
            && !self.left.is_empty()
        {
            match pipe.write(self.left) {
                Ok(0) => break,
                Ok(count) => self.left = self.left.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A script that does not read is fine.
                Err(_) => break,
            }
        }
        self.pipe = None;
    }
}

/// One of the script's outputs; what is above the limit is read and forgotten, so that the script does not block.
struct Drain<P> {
    pipe: Option<P>,
    kept: Vec<u8>,
    limit: usize,
}

impl<P: Read> Drain<P> {
    fn new(pipe: Option<P>, limit: usize) -> Self {
        Self { pipe, kept: Vec::new(), limit }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn read_some(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = [0; 16 * 1024];
        match pipe.read(&mut chunk) {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Ok(0) | Err(_) => self.pipe = None,
            Ok(count) => {
                let room = self.limit.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
