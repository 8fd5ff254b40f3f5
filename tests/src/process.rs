//! Processes that the world has started: found by program and home, so that nothing else is ever touched.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to one process; a process that is gone is none.
pub fn signal_process(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether the process exists and has not ended (a process that nobody waited for counts as ended).
#[must_use]
pub fn alive(pid: u32) -> bool {
    let Ok(file) = std::fs::File::open(format!("/proc/{pid}/stat")) else { return false };
    let stat = std::io::read_to_string(file).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// Process ids of the living `gsdd`s whose `HOME` is `home`.
pub(crate) fn daemons_of(home: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| is_daemon_of(pid, home) && alive(pid)).collect()
}

fn is_daemon_of(pid: u32, home: &Path) -> bool {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = exe.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.trim_end_matches(" (deleted)") != "gsdd" {
        return false;
    }
    let Ok(mut file) = std::fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    let mut environment = Vec::new();
    let wanted = format!("HOME={}", home.display());
    std::io::Read::read_to_end(&mut file, &mut environment).is_ok()
        && environment.split(|&byte| byte == 0).any(|pair| pair == wanted.as_bytes())
}
