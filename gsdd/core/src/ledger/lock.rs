//! The lock file that both implementations take around a change: its text, and whether a lock that is in the way
//! may be removed.
//!
//! A lock of a verified living holder is never removed. Everything else expires. A lock file in a project can be
//! planted by whoever wrote the repository, so it never is our only exclusion.
//!
//! Source: ADR-1244 D4 (one mutation at a time), lifecycle formats section 13 (rule 10), threats T162 to T168.

use std::time::Duration;

use serde_json::{Value, json};

/// Longest lock text that is read, in bytes.
pub const MAX_LOCK_BYTES: usize = 64 * 1024;
/// A lock up to this age is always held.
pub const FRESH: Duration = Duration::from_secs(60);
/// A lock whose holder can't be checked is held up to this age.
pub const UNVERIFIABLE: Duration = Duration::from_secs(600);
/// How far in the future a modification time may lie and still count as now.
pub const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// What a lock file says about its holder. Members of a wrong type count as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockBody {
    /// `<pid>-<epoch ms>-<sequence>`; only its holder removes the lock.
    pub token: String,
    /// Process id, above 0.
    pub pid: Option<u32>,
    /// Name of the machine; absent counts as this one.
    pub hostname: Option<String>,
    /// When the process started, as an opaque text of the platform.
    pub start_time: Option<String>,
    /// When the lock was taken, in milliseconds since 1970.
    pub ts: Option<i64>,
}

impl LockBody {
    /// Reads the text of a lock file; `None` when it says nothing about a holder.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_LOCK_BYTES {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(members)) => {
                let text = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
                Some(Self {
                    token: text("token").unwrap_or_default(),
                    pid: members.get("pid").and_then(Value::as_u64).and_then(to_pid),
                    hostname: text("hostname"),
                    start_time: text("startTime"),
                    ts: members.get("ts").and_then(milliseconds),
                })
            }
            Ok(_) => None,
            Err(_) => legacy(text),
        }
    }

    /// The text of a lock file: one line of JSON without a line end.
    #[must_use]
    pub fn to_text(&self) -> String {
        let members = json!({
            "token": self.token,
            "pid": self.pid,
            "hostname": self.hostname,
            "startTime": self.start_time,
            "ts": self.ts,
        });
        members.to_string()
    }
}

fn to_pid(raw: u64) -> Option<u32> {
    u32::try_from(raw).ok().filter(|pid| *pid > 0)
}

fn milliseconds(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    value.as_i64().or_else(|| value.as_f64().map(|float| float as i64))
}

/// The older text, `<pid>-…`.
fn legacy(text: &str) -> Option<LockBody> {
    let (pid, _) = text.split_once('-')?;
    let pid = pid.parse().ok().and_then(to_pid)?;
    Some(LockBody { token: text.trim_end().to_owned(), pid: Some(pid), ..LockBody::default() })
}

/// Facts about a lock file that is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFacts {
    /// What it says; `None` when it is not a readable regular file of the allowed size.
    pub body: Option<LockBody>,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
    /// Its modification time, likewise.
    pub mtime_ms: i64,
    /// Name of this machine.
    pub hostname: String,
    /// The process that it names, looked up on this machine.
    pub holder: HolderFacts,
    /// Signs that it was put there rather than taken: a link, tracked by version control, or owned by someone else.
    pub planted: bool,
}

/// Facts about the process that a lock names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HolderFacts {
    /// It exists.
    pub alive: bool,
    /// When it started, in the form of [`LockBody::start_time`].
    pub start_time: Option<String>,
    /// It runs under our own user.
    pub ours: bool,
}

/// Whether a lock may be removed. The caller makes sure that it is still the same file before it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockVerdict {
    /// Another operation is in progress, or may be.
    Held(HeldBecause),
    /// It may be removed.
    Stealable(StealBecause),
}

/// Why a lock counts as held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBecause {
    /// It is at most a minute old.
    Fresh,
    /// Its holder was found alive.
    HolderAlive,
    /// Its holder can't be checked from here and it is at most ten minutes old.
    Unverifiable,
}

/// Why a lock may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealBecause {
    /// Its holder is gone.
    HolderGone,
    /// Its holder can't be checked and it is old.
    Expired,
    /// It was put there; say so.
    Planted,
}

/// Judges a lock file that is in the way.
#[must_use]
pub fn judge(facts: &LockFacts) -> LockVerdict {
    if facts.planted {
        return LockVerdict::Stealable(StealBecause::Planted);
    }
    let age = age(facts);
    let holder = facts.body.as_ref().filter(|body| names_this_machine(body, &facts.hostname));
    if let Some(holder) = holder.filter(|body| body.pid.is_some()) {
        let verified = facts.holder.alive
            && facts.holder.ours
            && holder.start_time.is_some()
            && holder.start_time == facts.holder.start_time;
        if verified {
            return LockVerdict::Held(HeldBecause::HolderAlive);
        }
        if age <= FRESH {
            return LockVerdict::Held(HeldBecause::Fresh);
        }
        // A process of another user with the right start time: not ours to call dead, not proof of a holder either.
        let unproven = facts.holder.alive
            && !facts.holder.ours
            && holder.start_time.is_some()
            && holder.start_time == facts.holder.start_time;
        if !unproven {
            return LockVerdict::Stealable(StealBecause::HolderGone);
        }
    }
    if age <= FRESH {
        LockVerdict::Held(HeldBecause::Fresh)
    } else if age <= UNVERIFIABLE {
        LockVerdict::Held(HeldBecause::Unverifiable)
    } else {
        LockVerdict::Stealable(StealBecause::Expired)
    }
}

fn names_this_machine(body: &LockBody, hostname: &str) -> bool {
    body.hostname.as_deref().is_none_or(|named| named.is_empty() || named == hostname)
}

/// By the recorded time unless that lies in the future, then by the modification time; one far in the future is
/// infinitely old.
fn age(facts: &LockFacts) -> Duration {
    let since = |then: i64| facts.now_ms.saturating_sub(then);
    let recorded = facts.body.as_ref().and_then(|body| body.ts).map(since);
    if let Some(age) = recorded.and_then(|age| u64::try_from(age).ok()) {
        return Duration::from_millis(age);
    }
    match u64::try_from(since(facts.mtime_ms)) {
        Ok(age) => Duration::from_millis(age),
        Err(_) if since(facts.mtime_ms).unsigned_abs() <= CLOCK_SKEW.as_millis() as u64 => Duration::ZERO,
        Err(_) => Duration::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> LockFacts {
        LockFacts {
            body: Some(LockBody {
                token: "1-2-3".to_owned(),
                pid: Some(1),
                hostname: None,
                start_time: Some("5".to_owned()),
                ts: Some(0),
            }),
            now_ms: 61_000,
            mtime_ms: 0,
            hostname: "here".to_owned(),
            holder: HolderFacts { alive: true, start_time: Some("5".to_owned()), ours: false },
            planted: false,
        }
    }

    #[test]
    fn the_text_is_upstreams() {
        let body = LockBody {
            token: "7-1700000000000-1".to_owned(),
            pid: Some(7),
            hostname: Some("h".to_owned()),
            start_time: None,
            ts: Some(1_700_000_000_000),
        };
        let text =
            r#"{"token":"7-1700000000000-1","pid":7,"hostname":"h","startTime":null,"ts":1700000000000}"#;
        assert_eq!(body.to_text(), text);
        assert_eq!(LockBody::parse(text.as_bytes()), Some(body));
        assert_eq!(LockBody::parse(b"4242-1-1").unwrap().pid, Some(4242));
    }

    #[test]
    fn t163_a_lock_that_names_a_process_of_another_user_expires() {
        assert_eq!(judge(&facts()), LockVerdict::Held(HeldBecause::Unverifiable));
        let later = LockFacts { now_ms: 601_000, ..facts() };
        assert_eq!(judge(&later), LockVerdict::Stealable(StealBecause::Expired));
    }

    #[test]
    fn t164_a_planted_lock_is_removed_with_a_warning() {
        let planted = LockFacts { planted: true, now_ms: 0, ..facts() };
        assert_eq!(judge(&planted), LockVerdict::Stealable(StealBecause::Planted));
    }

    #[test]
    fn t167_a_living_holder_is_never_robbed() {
        let mut held = LockFacts { now_ms: i64::MAX, ..facts() };
        held.holder.ours = true;
        assert_eq!(judge(&held), LockVerdict::Held(HeldBecause::HolderAlive));
    }
}
