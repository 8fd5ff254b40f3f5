//! `audit.*`: what changed what can run, and whether the record of it is whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `audit.tail`: the last events.
#[derive(Debug)]
pub enum Tail {}

impl Method for Tail {
    const NAME: &'static str = "audit.tail";
    const EFFECT: Effect = Effect::Read;
    type Params = TailParams;
    type Result = TailResult;
}

/// Parameters of [`Tail`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TailParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// How many events; 20 when it is 0.
    pub count: usize,
    /// Those of one capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Those of one kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// Result of [`Tail`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TailResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The events, oldest first, as they stand in the log.
    pub items: Vec<Value>,
}

/// `audit.verify`: whether every line is bound to the one before it.
#[derive(Debug)]
pub enum Verify {}

impl Method for Verify {
    const NAME: &'static str = "audit.verify";
    const EFFECT: Effect = Effect::Read;
    type Params = VerifyParams;
    type Result = VerifyResult;
}

/// Parameters of [`Verify`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VerifyParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Digest of a line that was noted down earlier: it has to be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// Result of [`Verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VerifyResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether the chain holds, and the digest that was asked for is in it.
    pub whole: bool,
    /// Lines.
    pub lines: u64,
    /// Number of the oldest line; above 1 where older ones went with their file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<u64>,
    /// Number of the last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// Digest of the last line: whoever notes it down can prove later that nothing was cut off the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Where the chain does not hold; at most 20.
    pub broken: Vec<Break>,
    /// Whether the digest that was asked for is missing.
    pub head_missing: bool,
    /// The file that is written now.
    pub file: std::path::PathBuf,
}

/// A place where the chain does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Break {
    /// Line over all files, from 1.
    pub line: u64,
    /// The number that it should have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seq: Option<u64>,
    /// Why.
    pub reason: String,
}
