//! The host's standard input.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

/// Most that is read; a host that sends more gets its call passed.
const MAX_INPUT: usize = 64 * 1024 * 1024;
/// Longest member that the daemon gets to see, in bytes: names and paths, never contents.
const MAX_MEMBER: usize = 4096;
/// How long a silent host is waited for: a pipe that is never closed must not hang the session.
const SILENCE: Duration = Duration::from_secs(3);

/// Reads all of standard input, or what came before the host fell silent.
#[cfg(unix)]
pub(super) fn read() -> Vec<u8> {
    use std::io::{IsTerminal as _, Read as _};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Vec::new();
    }
    let mut stdin = stdin.lock();
    let mut input = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let silence = Timespec { tv_sec: i64::try_from(SILENCE.as_secs()).unwrap_or(3), tv_nsec: 0 };
    loop {
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waiting, Some(&silence)) {
            Ok(0) => return input,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return input,
        }
        match stdin.read(&mut chunk) {
            Ok(0) => return input,
            Ok(count) => input.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return input,
        }
        if input.len() > MAX_INPUT {
            return input;
        }
    }
}

/// Reads all of standard input, or what came before the host fell silent.
#[cfg(not(unix))]
pub(super) fn read() -> Vec<u8> {
    use std::io::Read as _;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut input = Vec::new();
        let _ = std::io::stdin().take(MAX_INPUT as u64).read_to_end(&mut input);
        let _ = sender.send(input);
    });
    receiver.recv_timeout(SILENCE).unwrap_or_default()
}

/// Top-level members that are short and flat. What a tool writes or printed stays here.
pub(super) fn short_members(input: &[u8]) -> BTreeMap<String, Value> {
    let Ok(members) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(input) else {
        return BTreeMap::new();
    };
    members
        .into_iter()
        .filter(|(name, raw)| {
            name.len() <= 64 && raw.get().len() <= MAX_MEMBER && !raw.get().starts_with(['{', '['])
        })
        .filter_map(|(name, raw)| Some((name, serde_json::from_str(raw.get()).ok()?)))
        .take(64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_do_not_travel() {
        let long = "x".repeat(5000);
        let input = format!(
            r#"{{"tool_name":"Edit","tool_input":{{"content":"s"}},"prompt":"{long}","n":1,"list":[1]}}"#
        );
        let members = short_members(input.as_bytes());
        assert_eq!(members.keys().collect::<Vec<_>>(), ["n", "tool_name"]);
        assert!(short_members(b"not json").is_empty());
        assert!(short_members(b"").is_empty());
    }
}
