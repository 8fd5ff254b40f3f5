//! How far a call is, on standard error: one line that is painted over on a terminal, or with `-v` one line for each
//! phase that is done.
//!
//! Source: interface section 5.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gsd_proto::api::Progress;

use crate::args::Global;
use crate::output::{clean, say};

/// What is done sooner is not worth a line.
const FIRST_PAINT: Duration = Duration::from_millis(200);
/// At most ten paintings a second.
const PAUSE: Duration = Duration::from_millis(100);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Painted,
    Told,
    Silent,
}

fn manner(global: &Global) -> Manner {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let paints = io::stderr().is_terminal()
        && variable("CI").is_none()
        && variable("TERM").is_none_or(|terminal| terminal != "dumb");
    if global.quiet {
        Manner::Silent
    } else if paints {
        Manner::Painted
    } else if global.verbose > 0 {
        Manner::Told
    } else {
        Manner::Silent
    }
}

/// Hears what has to be said whether progress is shown or not: what is waited for.
pub(crate) fn notices() -> gsd_proto::client::ProgressListener {
    Box::new(|progress| {
        if !progress.notice.is_empty() {
            say(&clean(&progress.notice));
        }
    })
}

/// Shows the progress of one call, from its beginning to the drop of this value.
pub(crate) struct Shown {
    sender: Option<mpsc::Sender<Progress>>,
    painter: Option<JoinHandle<()>>,
}

impl Shown {
    /// `None` when nobody is to be told.
    pub(crate) fn start(global: &Global) -> Option<Self> {
        let manner = manner(global);
        if manner == Manner::Silent {
            return None;
        }
        let (sender, heard) = mpsc::channel();
        let painter = std::thread::spawn(move || match manner {
            Manner::Painted => paint(&heard, &mut io::stderr()),
            Manner::Told | Manner::Silent => tell(&heard),
        });
        Some(Self { sender: Some(sender), painter: Some(painter) })
    }

    /// Hears the progress of the call.
    pub(crate) fn listener(&self) -> gsd_proto::client::ProgressListener {
        let sender = self.sender.clone();
        Box::new(move |progress| {
            if let Some(sender) = &sender {
                drop(sender.send(progress.clone()));
            }
        })
    }
}

impl Drop for Shown {
    /// The line is gone before anything else is said.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(painter) = self.painter.take() {
            drop(painter.join());
        }
    }
}

/// Keeps one line up to date until the call is over.
fn paint(heard: &mpsc::Receiver<Progress>, terminal: &mut dyn io::Write) {
    let began = Instant::now();
    let mut latest: Option<(Progress, Instant)> = None;
    let mut painted = false;
    let mut next_paint = began + FIRST_PAINT;
    let mut waiting = false;
    loop {
        let patience =
            if waiting { next_paint.saturating_duration_since(Instant::now()) } else { PAUSE * 600 };
        match heard.recv_timeout(patience) {
            Ok(progress) if !progress.notice.is_empty() => {
                if std::mem::take(&mut painted) {
                    drop(write!(terminal, "\r\u{1b}[K"));
                }
                drop(writeln!(terminal, "{}", clean(&progress.notice)));
                drop(terminal.flush());
            }
            Ok(progress) => {
                // The rate is that of the phase.
                let since = match &latest {
                    Some((earlier, since)) if earlier.phase == progress.phase => *since,
                    _ => Instant::now(),
                };
                latest = Some((progress, since));
                waiting = true;
                if Instant::now() < next_paint {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let (true, Some((progress, since))) = (waiting, &latest) {
            drop(write!(terminal, "\r\u{1b}[K{}", line(progress, since.elapsed())));
            drop(terminal.flush());
            painted = true;
            waiting = false;
            next_paint = Instant::now() + PAUSE;
        }
    }
    if painted {
        drop(write!(terminal, "\r\u{1b}[K"));
        drop(terminal.flush());
    }
}

/// Tells of each phase when it is done.
fn tell(heard: &mpsc::Receiver<Progress>) {
    let mut under_way: Option<(Progress, Instant)> = None;
    while let Ok(progress) = heard.recv() {
        if !progress.notice.is_empty() {
            say(&clean(&progress.notice));
            continue;
        }
        let since = match under_way.take() {
            Some((earlier, since)) if earlier.phase == progress.phase => since,
            Some((earlier, since)) => {
                say(&line(&earlier, since.elapsed()));
                Instant::now()
            }
            None => Instant::now(),
        };
        under_way = Some((progress, since));
    }
    if let Some((progress, since)) = under_way {
        say(&line(&progress, since.elapsed()));
    }
}

/// `download  1.5 MiB of 3.0 MiB, 1.1 MiB/s`
fn line(progress: &Progress, taken: Duration) -> String {
    let phase = clean(&progress.phase);
    let amount = |count: u64| match progress.unit.as_str() {
        "bytes" => bytes(count),
        _ => count.to_string(),
    };
    let mut line = match progress.total {
        _ if progress.unit.is_empty() => phase,
        Some(total) if total != progress.done => {
            format!("{phase}  {} of {}", amount(progress.done), amount(total))
        }
        _ => format!("{phase}  {}", amount(progress.done)),
    };
    let unit = if progress.unit == "bytes" { String::new() } else { clean(&progress.unit) };
    if !unit.is_empty() {
        line.push(' ');
        line.push_str(&unit);
    }
    if progress.unit == "bytes" && taken >= FIRST_PAINT {
        let millis = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX).max(1);
        line.push_str(&format!(", {}/s", bytes(progress.done.saturating_mul(1000) / millis)));
    }
    line
}

fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| count >= *size) {
        Some((unit, size)) => {
            let tenths = count.saturating_mul(10) / size;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(phase: &str, done: u64, total: Option<u64>, unit: &str) -> Progress {
        Progress { phase: phase.to_owned(), done, total, unit: unit.to_owned(), ..Progress::default() }
    }

    #[test]
    fn a_line_has_the_amount_and_the_rate() {
        let second = Duration::from_secs(1);
        let of = |progress: &Progress, taken| line(progress, taken);
        assert_eq!(of(&progress("download", 512, None, "bytes"), Duration::ZERO), "download  512 B");
        let half = progress("download", 3 << 19, Some(3 << 20), "bytes");
        assert_eq!(of(&half, second), "download  1.5 MiB of 3.0 MiB, 1.5 MiB/s");
        assert_eq!(of(&progress("unpack", 7, Some(7), "files"), second), "unpack  7 files");
        assert_eq!(of(&progress("fetch", 0, None, ""), second), "fetch");
        assert_eq!(of(&progress("\u{1b}[2J", 0, None, ""), second), "\\u{1b}[2J");
    }

    fn painted(events: impl FnOnce(&mpsc::Sender<Progress>)) -> String {
        let (sender, heard) = mpsc::channel();
        let painter = std::thread::spawn(move || {
            let mut terminal = Vec::new();
            paint(&heard, &mut terminal);
            String::from_utf8(terminal).unwrap()
        });
        events(&sender);
        drop(sender);
        painter.join().unwrap()
    }

    #[test]
    fn what_is_done_soon_paints_nothing() {
        let seen = painted(|sender| sender.send(progress("download", 1, Some(2), "bytes")).unwrap());
        assert_eq!(seen, "");
    }

    #[test]
    fn the_line_is_painted_at_most_ten_times_a_second_and_cleared() {
        let began = Instant::now();
        let seen = painted(|sender| {
            for done in 0.. {
                sender.send(progress("download", done, None, "bytes")).unwrap();
                std::thread::yield_now();
                if began.elapsed() > Duration::from_millis(600) {
                    break;
                }
            }
        });
        let paintings = seen.matches("download").count() as u128;
        let at_most = (began.elapsed() - FIRST_PAINT).as_millis() / 100 + 1;
        assert!((1..=at_most).contains(&paintings), "{paintings} of {at_most}: {seen:?}");
        assert!(seen.ends_with("\r\u{1b}[K") && !seen.contains('\n'), "{seen:?}");
    }
}
