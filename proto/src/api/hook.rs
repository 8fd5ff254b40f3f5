//! `hook.*`: what a host is told on a tool call.
//!
//! The daemon says which scripts apply, the client runs them with the host's standard input, and the daemon makes one
//! answer of what they said. When nothing applies, the first answer is already the last.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use super::command::LaunchPlan;
use crate::Context;
use crate::method::{Effect, Method};

/// `hook.evaluate`: which scripts must run.
#[derive(Debug)]
pub enum Evaluate {}

impl Method for Evaluate {
    const NAME: &'static str = "hook.evaluate";
    const EFFECT: Effect = Effect::Read;
    type Params = EvaluateParams;
    type Result = EvaluateResult;
}

/// Parameters of [`Evaluate`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EvaluateParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id of the host.
    pub host: String,
    /// The host's name for the event.
    pub event: String,
    /// Members of the host's payload that are short texts; long ones and nested ones stay with the client.
    pub payload: BTreeMap<String, Value>,
}

/// Result of [`Evaluate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EvaluateResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What must run, in capability order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// The answer, when nothing must run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<HostReply>,
    /// To be handed back with the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// One script, verified a moment ago.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Script {
    /// Owner.
    pub capability: String,
    /// As declared.
    pub script: String,
    /// Program and arguments; the script is a private copy of the agreed bytes.
    pub argv: Vec<String>,
    /// Variables to add to the host's environment.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Content hash that was verified.
    pub content_hash: String,
}

/// What the client copies to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostReply {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status.
    pub exit: i32,
}

/// `hook.report`: makes one answer of what the scripts said.
#[derive(Debug)]
pub enum Report {}

impl Method for Report {
    const NAME: &'static str = "hook.report";
    const EFFECT: Effect = Effect::Read;
    type Params = ReportParams;
    type Result = ReportResult;
}

/// Parameters of [`Report`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReportParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id of the host.
    pub host: String,
    /// The host's name for the event.
    pub event: String,
    /// What ran, in the order of the scripts.
    pub runs: Vec<Run>,
    /// [`EvaluateResult::notices`], handed back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// How one script ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Run {
    /// Owner.
    pub capability: String,
    /// As declared.
    pub script: String,
    /// Exit status, when it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it was stopped at its time limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_started: Option<String>,
    /// Standard output, at most 1 MiB.
    pub stdout: String,
    /// Standard error, at most 64 KiB.
    pub stderr: String,
    /// Wall time in microseconds.
    pub duration_us: u64,
}

/// Result of [`Report`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReportResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The answer.
    pub reply: HostReply,
}

/// `hook.resolve`: exactly what a registration in a shared file starts, verified a moment ago.
#[derive(Debug)]
pub enum Resolve {}

impl Method for Resolve {
    const NAME: &'static str = "hook.resolve";
    const EFFECT: Effect = Effect::Read;
    type Params = ResolveParams;
    type Result = LaunchPlan;
}

/// Parameters of [`Resolve`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolveParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id of the capability.
    pub id: String,
    /// The script, as declared.
    pub script: String,
}

/// `hook.list`: every hook of every installed capability, and how it has been doing.
#[derive(Debug)]
pub enum List {}

impl Method for List {
    const NAME: &'static str = "hook.list";
    const EFFECT: Effect = Effect::Read;
    type Params = ListParams;
    type Result = ListResult;
}

/// Parameters of [`List`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// The caller's surroundings.
    pub ctx: Context,
}

/// Result of [`List`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// One row per hook and host.
    pub items: Vec<HookRow>,
}

/// One hook on one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookRow {
    /// Host, or the shared file that the hook is registered in.
    pub host: String,
    /// Event.
    pub event: String,
    /// Matcher, when it has one.
    pub matcher: Option<String>,
    /// Owner.
    pub capability: String,
    /// Script.
    pub script: String,
    /// Whether runs are counted; in a shared file the host runs the script without asking how it ended.
    pub counted: bool,
    /// Runs since the daemon started.
    pub calls: u64,
    /// Median wall time in microseconds.
    pub p50_us: u64,
    /// 99th percentile in microseconds.
    pub p99_us: u64,
    /// Runs that did not end with status 0 or 2.
    pub failures: u64,
}
