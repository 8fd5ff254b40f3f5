//! `ledger.*`: what is recorded, whether it is still true, and bringing it in order.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use super::capability::PlanLine;
use crate::Context;
use crate::code::Fix;
use crate::method::{Effect, Method};

/// `ledger.list`: everything that the ledgers and our own records hold.
#[derive(Debug)]
pub enum LedgerList {}

impl Method for LedgerList {
    const NAME: &'static str = "ledger.list";
    const EFFECT: Effect = Effect::Read;
    type Params = LedgerParams;
    type Result = LedgerListResult;
}

/// Parameters of [`LedgerList`] and [`LedgerVerify`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// `global` or `project`; both when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// Result of [`LedgerList`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerListResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// One row per entry.
    pub entries: Vec<LedgerRow>,
}

/// One entry of a ledger, with what we know of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerRow {
    /// Id.
    pub id: String,
    /// `global` or `project`.
    pub scope: String,
    /// The ledger file.
    pub ledger: PathBuf,
    /// The entry as it is in the file.
    pub entry: Value,
    /// Content that was agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// When that was, ISO-8601 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed_at: Option<String>,
    /// Commit that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Folder whose changes are taken over by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked: Option<PathBuf>,
    /// Files of hosts that hold something of it.
    pub wired_into: Vec<PathBuf>,
    /// Versions that a rollback can go to, the latest first.
    pub past: Vec<PastRow>,
}

/// A content that a rollback can go to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PastRow {
    /// Version.
    pub version: String,
    /// Content.
    pub content_hash: String,
    /// When it was agreed to, ISO-8601 UTC.
    pub agreed_at: String,
}

/// `ledger.verify`: compares every recorded file with its digest and every fragment in a host with the plan.
#[derive(Debug)]
pub enum LedgerVerify {}

impl Method for LedgerVerify {
    const NAME: &'static str = "ledger.verify";
    const EFFECT: Effect = Effect::Read;
    type Params = LedgerParams;
    type Result = LedgerVerifyResult;
}

/// Result of [`LedgerVerify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerVerifyResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Capabilities that were looked at.
    pub checked: usize,
    /// What is not as recorded, and what is worth knowing.
    pub findings: Vec<LedgerFinding>,
}

/// Something that is not as recorded, or worth knowing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerFinding {
    /// `global` or `project`.
    pub scope: String,
    /// Capability, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `difference`, or `note` for what is in order.
    pub severity: String,
    /// Short stable name of what was found.
    pub kind: String,
    /// In words, cleaned.
    pub message: String,
    /// File or folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Difference in unified form between what is there and what should be, not cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What can be done.
    pub fix: Vec<Fix>,
}

/// `ledger.reconcile`: settles what was begun and not finished, and takes registrations of what is gone out of hosts.
#[derive(Debug)]
pub enum LedgerReconcile {}

impl Method for LedgerReconcile {
    const NAME: &'static str = "ledger.reconcile";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = LedgerReconcileParams;
    type Result = LedgerReconcileResult;
}

/// Parameters of [`LedgerReconcile`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerReconcileParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// `global` or `project`; both when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// Result of [`LedgerReconcile`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerReconcileResult {
    /// Generation after it.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether anything was changed.
    pub changed: bool,
    /// What was done, or would be.
    pub actions: Vec<ReconcileAction>,
    /// What is left for the person.
    pub findings: Vec<LedgerFinding>,
}

/// One thing that was done, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReconcileAction {
    /// `global` or `project`; empty for what concerns none.
    pub scope: String,
    /// Capability, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `interrupted`, `install-taken-back`, `update-taken-back`, `swept`, `unwired`, `registered` or `tidied`.
    pub kind: String,
    /// In words, cleaned.
    pub text: String,
    /// What is deleted, for `swept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Every step, in order.
    pub changes: Vec<PlanLine>,
}
