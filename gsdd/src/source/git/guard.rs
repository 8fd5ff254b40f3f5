//! Watching over a run of git: its time, whether it is still wanted, and how much it says.

use std::io::Read as _;
use std::time::Duration;

use gsd_proto::{Code, WireError};

use crate::source::watch::Watch;

/// How a run of git ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Itself,
    TimedOut,
    GivenUp,
}

/// Kills the process group after `limit`, or when nobody waits any more; the channel ends the watch early.
pub(super) fn watch_over(
    pid: u32,
    limit: Duration,
    watch: Watch,
) -> Result<(tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<End>), WireError> {
    let runtime = tokio::runtime::Handle::try_current()
        .map_err(|error| WireError::new(Code::Internal, format!("git can't be watched: {error}")))?;
    let (ended, waiting) = tokio::sync::oneshot::channel();
    let guard = runtime.spawn(async move {
        let end = tokio::select! {
            _ = waiting => End::Itself,
            () = watch.cancelled() => End::GivenUp,
            () = tokio::time::sleep(limit) => End::TimedOut,
        };
        if end != End::Itself {
            kill_group(pid);
        }
        end
    });
    Ok((ended, guard))
}

#[cfg(unix)]
fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: u32) {}

pub(super) fn read_bounded(pipe: Option<impl std::io::Read>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(limit).read_to_end(&mut bytes);
    }
    bytes
}
