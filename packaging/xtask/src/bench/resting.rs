//! What the daemon costs while nobody asks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::composing::place_overlays;
use super::hooks::gsdctl;
use super::report::Row;
use crate::failure::{Doing as _, Outcome};
use crate::throwaway::Throwaway;

/// Worker threads that have nothing to do any more leave after ten seconds; that is not rest yet.
const SETTLE: Duration = Duration::from_secs(12);

/// How often it is watched; the quietest time counts, for a thread that leaves late is no habit.
const WINDOWS: u32 = 3;

/// How long it is watched each time.
const WATCH: Duration = Duration::from_secs(5);

/// Overlays of the set.
const OVERLAYS: u32 = 500;

/// Resident memory at most, in MiB.
const MEMORY: f64 = 40.0;

/// Resident memory for each overlay at most, in KiB.
const MEMORY_EACH: f64 = 20.0;

/// Measures memory and wake-ups; on systems without `/proc` nothing.
pub(super) fn measure(programs: &Path) -> Outcome<Vec<Row>> {
    if !Path::new("/proc/self/task").is_dir() {
        return Ok(Vec::new());
    }
    let (_larger, other) = asked(programs, 2 * OVERLAYS)?;
    let (_with, process) = asked(programs, OVERLAYS)?;
    std::thread::sleep(SETTLE);
    let memory = number_in(&process.join("status"), "VmRSS:")? / 1024.0;
    let twice = number_in(&other.join("status"), "VmRSS:")? / 1024.0;
    let each = (twice - memory) * 1024.0 / f64::from(OVERLAYS);
    let mut wakeups = f64::INFINITY;
    for _ in 0..WINDOWS {
        let before = switches(&process)?;
        std::thread::sleep(WATCH);
        wakeups = wakeups.min(switches(&process)? - before);
    }
    Ok(vec![
        Row {
            what: "daemon's memory with 44 + 500",
            target: format!("< {MEMORY} MiB"),
            measured: format!("{memory:.1} MiB"),
            share: memory / MEMORY,
        },
        Row {
            what: "for each overlay more, up to 1,000",
            target: format!("< {MEMORY_EACH} KiB"),
            measured: format!("{each:.1} KiB"),
            share: each / MEMORY_EACH,
        },
        Row {
            what: "wake-ups in 5 s of rest",
            target: "none".into(),
            measured: format!("{wakeups:.0}"),
            share: if wakeups > 0.0 { f64::INFINITY } else { 0.0 },
        },
    ])
}

/// A home with so many overlays, and the process of its daemon, which has been asked for them.
fn asked(programs: &Path, overlays: u32) -> Outcome<(Throwaway, PathBuf)> {
    let here = Throwaway::new(programs)?;
    place_overlays(&here, overlays as usize)?;
    let pid = gsdctl(&here, &["daemon", "start", "--json"])?["data"]["pid"]
        .as_u64()
        .doing("starting the daemon")?;
    gsdctl(&here, &["list", "--json"])?;
    gsdctl(&here, &["loop", "render", "plan:pre", "--json"])?;
    Ok((here, PathBuf::from(format!("/proc/{pid}"))))
}

/// Voluntary context switches of all threads so far.
fn switches(process: &Path) -> Outcome<f64> {
    let mut sum = 0.0;
    let tasks = process.join("task");
    for task in std::fs::read_dir(&tasks).doing(format!("reading {}", tasks.display()))? {
        let task = task.doing(format!("reading {}", tasks.display()))?;
        sum += number_in(&task.path().join("status"), "voluntary_ctxt_switches:")?;
    }
    Ok(sum)
}

/// The number behind `name` in a file of `/proc`.
pub(super) fn number_in(file: &Path, name: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(file).doing(format!("reading {}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.doing(format!("looking for {name} in {}", file.display()))
}
