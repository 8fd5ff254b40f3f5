//! Facts about processes of this machine.

#[cfg(unix)]
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Cap of what is read from `/proc`, in bytes.
const MAX_PROC: u64 = 1024 * 1024;

#[cfg(unix)]
pub(super) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub(super) fn hostname() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

#[cfg(unix)]
pub(super) fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        // One that has ended and was not waited for can still be signalled.
        Ok(()) => !stat_of(pid.as_raw_nonzero().get().unsigned_abs())
            .is_some_and(|stat| matches!(stat.first().map(String::as_str), Some("Z" | "X"))),
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

#[cfg(not(unix))]
pub(super) fn is_alive(_: u32) -> bool {
    true
}

/// Whether a process runs under our own user.
#[cfg(unix)]
pub(super) fn runs_as_us(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(format!("/proc/{pid}"))
        .map_or(true, |metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
pub(super) fn runs_as_us(_: u32) -> bool {
    true
}

/// Field 22 of `/proc/<pid>/stat`.
pub(super) fn start_time(pid: u32) -> Option<String> {
    stat_of(pid)?.get(19).cloned()
}

/// Fields 3 and later of `/proc/<pid>/stat`, counted behind the last `)` because the name may hold anything.
fn stat_of(pid: u32) -> Option<Vec<String>> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let text = String::from_utf8(read_proc(&path)?).ok()?;
    let rest = &text[text.rfind(')')? + 1..];
    Some(rest.split_ascii_whitespace().map(ToOwned::to_owned).collect())
}

/// Files of `/proc` say that they are empty, so they are read to their end.
fn read_proc(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_PROC).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The process that holds the system's lock of an open file or folder, where the system tells.
#[cfg(unix)]
pub(crate) fn lock_holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let text = String::from_utf8(read_proc(Path::new("/proc/locks"))?).ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 fd:01:123456 0 EOF`; who waits has an arrow behind the number.
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words.as_slice() else { return None };
        pid.parse().ok().filter(|_| *place == wanted)
    })
}

/// The system does not tell.
#[cfg(not(unix))]
pub(crate) fn lock_holder(_: &File) -> Option<u32> {
    None
}
