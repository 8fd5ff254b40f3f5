//! `reviewer.*`: lanes that receive plans, and where they send them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `reviewer.list`: the composed lanes and where each sends to now.
#[derive(Debug)]
pub enum List {}

impl Method for List {
    const NAME: &'static str = "reviewer.list";
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
    /// One row per lane, by capability id.
    pub items: Vec<LaneRow>,
}

/// A lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaneRow {
    /// Capability.
    pub id: String,
    /// Name of the lane, cleaned.
    pub slug: String,
    /// `first-party`, `global` or `project`.
    pub scope: String,
    /// `spawn` or `openai-http`.
    pub transport: String,
    /// Where it sends to with the configuration as it is, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether that is this machine.
    pub local: bool,
    /// The address that was agreed to, when it is another one; then the lane does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed_address: Option<String>,
    /// Why it does not run, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

/// `reviewer.resolve`: exactly what a lane starts or where it sends to, compared with what was agreed to.
#[derive(Debug)]
pub enum Resolve {}

impl Method for Resolve {
    const NAME: &'static str = "reviewer.resolve";
    const EFFECT: Effect = Effect::Read;
    type Params = ResolveParams;
    type Result = LanePlan;
}

/// Parameters of [`Resolve`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolveParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Capability that owns the lane.
    pub id: String,
}

/// What a lane starts or where it sends to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LanePlan {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Owner.
    pub capability: String,
    /// Name of the lane.
    pub slug: String,
    /// `spawn` or `openai-http`.
    pub transport: String,
    /// Program and arguments as declared; files of the bundle are those of the private copy. Empty for a lane that sends
    /// over the network.
    pub argv: Vec<String>,
    /// Variables to add.
    pub env: BTreeMap<String, String>,
    /// How the prompt reaches the program: `stdin`, `argv`, `argv-file-ref` or `none`.
    pub prompt_channel: String,
    /// Where to send, scheme and host and base path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether that is this machine.
    pub local: bool,
    /// Path behind the address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What it is given to read.
    pub receives: Vec<String>,
    /// Content hash that was verified; empty for a shipped one.
    pub content_hash: String,
}
