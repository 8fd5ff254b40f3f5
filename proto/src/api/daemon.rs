//! `daemon.*`: who is there, how it is doing, end it.
//!
//! These methods are answered whatever protocol number the caller speaks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::method::{Effect, Method};
use crate::{Context, PROTOCOL, PROTOCOL_MIN};

/// `daemon.hello`: agrees on a protocol number.
#[derive(Debug)]
pub enum Hello {}

impl Method for Hello {
    const NAME: &'static str = "daemon.hello";
    const EFFECT: Effect = Effect::Read;
    type Params = HelloParams;
    type Result = HelloResult;
}

/// Protocol numbers that one side speaks, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolRange {
    /// Oldest.
    pub min: u32,
    /// Newest.
    pub max: u32,
}

impl ProtocolRange {
    /// What this build speaks.
    pub const OURS: Self = Self { min: PROTOCOL_MIN, max: PROTOCOL };

    /// The newest number in both ranges.
    #[must_use]
    pub fn common(self, other: Self) -> Option<u32> {
        let (low, high) = (self.min.max(other.min), self.max.min(other.max));
        (low <= high).then_some(high)
    }
}

/// Parameters of [`Hello`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelloParams {
    /// The caller's surroundings.
    #[serde(default)]
    pub ctx: Context,
    /// Name of the client program.
    #[serde(default)]
    pub client: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Its build.
    #[serde(default)]
    pub build: String,
    /// What it speaks.
    pub protocol: ProtocolRange,
    /// Methods it cannot do without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
}

/// Result of [`Hello`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelloResult {
    /// The number both speak.
    pub protocol: u32,
    /// Name of the server program.
    pub server: String,
    /// Its version.
    pub version: String,
    /// Its build.
    pub build: String,
    /// Its process id.
    pub pid: u32,
    /// Differs for each start of the daemon: a client that sees another one drops what it remembers.
    pub instance: String,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// The home it serves (`GSD_HOME` or the user's).
    pub home: PathBuf,
    /// Names of the methods it answers.
    pub methods: Vec<String>,
    /// Number of the current generation of the registry; 0 before the first.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
}

/// `daemon.status`: how it is doing.
#[derive(Debug)]
pub enum Status {}

impl Method for Status {
    const NAME: &'static str = "daemon.status";
    const EFFECT: Effect = Effect::Read;
    type Params = StatusParams;
    type Result = StatusResult;
}

/// Parameters of [`Status`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusParams {
    /// The caller's surroundings.
    pub ctx: Context,
}

/// Result of [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusResult {
    /// Process id.
    pub pid: u32,
    /// Where it listens; absent when it serves one client over its pipes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Version of the daemon.
    pub version: String,
    /// Its build.
    pub build: String,
    /// Protocol numbers it speaks.
    pub protocol: Option<ProtocolRange>,
    /// See [`HelloResult::instance`].
    pub instance: String,
    /// The home it serves.
    pub home: PathBuf,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Open connections, this one included.
    pub clients: u64,
    /// Calls being served, this one included.
    pub in_flight: u64,
    /// Resident memory in bytes; 0 where it cannot be told.
    pub memory_bytes: u64,
    /// Time spent per method since the start.
    pub latencies: BTreeMap<String, Latency>,
    /// State of the file watches, one line per root.
    pub watches: Vec<Watch>,
    /// Folder of the logs.
    pub log: PathBuf,
    /// Generation of the registry.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
}

/// How one method has been answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Latency {
    /// Number of calls.
    pub count: u64,
    /// Median in microseconds.
    pub p50_us: u64,
    /// 99th percentile in microseconds.
    pub p99_us: u64,
}

/// One watched root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Watch {
    /// The root.
    pub root: PathBuf,
    /// `watching`, `polling` or `missing`.
    pub state: String,
    /// Why it is not `watching`, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `daemon.shutdown`: asks the daemon to end.
#[derive(Debug)]
pub enum Shutdown {}

impl Method for Shutdown {
    const NAME: &'static str = "daemon.shutdown";
    const EFFECT: Effect = Effect::WriteState;
    type Params = ShutdownParams;
    type Result = ShutdownResult;
}

/// When to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// Stop accepting, finish the calls in flight, end.
    #[default]
    Now,
    /// The same, once no other client is connected.
    Idle,
}

/// Parameters of [`Shutdown`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShutdownParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// When.
    pub when: When,
}

/// Result of [`Shutdown`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShutdownResult {
    /// Process that is ending.
    pub pid: u32,
    /// Calls that are still being served, without this one.
    pub in_flight: u64,
    /// Generation of the registry.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
}

/// `daemon.logs`: the last lines of the log, or those after a position.
#[derive(Debug)]
pub enum Logs {}

impl Method for Logs {
    const NAME: &'static str = "daemon.logs";
    const EFFECT: Effect = Effect::Read;
    type Params = LogsParams;
    type Result = LogsResult;
}

/// Parameters of [`Logs`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogsParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// How many lines from the end; 0 means 100. Ignored with `after`.
    pub lines: u32,
    /// Continue where an earlier answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<LogPosition>,
}

/// A place in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogPosition {
    /// Identity of the file (changes when the log rotates).
    pub file: u64,
    /// Offset in bytes.
    pub offset: u64,
}

/// Result of [`Logs`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogsResult {
    /// The file that is being written.
    pub path: PathBuf,
    /// Whole lines, oldest first, each a JSON object.
    pub lines: Vec<String>,
    /// Where to continue.
    pub next: LogPosition,
    /// Generation of the registry.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_number_wins() {
        let range = |min, max| ProtocolRange { min, max };
        assert_eq!(range(1, 3).common(range(2, 9)), Some(3));
        assert_eq!(range(1, 1).common(range(1, 1)), Some(1));
        assert_eq!(range(1, 1).common(range(2, 3)), None);
        assert_eq!(range(999, 999).common(ProtocolRange::OURS), None);
    }
}
