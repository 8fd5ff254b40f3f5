//! `command.*` and `mcp.*`: what would be started for a contributed command or server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `command.resolve`: exactly what runs for a command family, verified.
#[derive(Debug)]
pub enum Resolve {}

impl Method for Resolve {
    const NAME: &'static str = "command.resolve";
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
    /// The command word.
    pub family: String,
    /// Everything behind it, untouched.
    pub args: Vec<String>,
}

/// A program to start with the person's terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchPlan {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Owner.
    pub capability: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables to add.
    pub env: BTreeMap<String, String>,
    /// Working directory; the caller's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Content hash that was verified.
    pub content_hash: String,
}

/// `mcp.resolve`: exactly what runs for an MCP server that lives in a bundle, verified.
#[derive(Debug)]
pub enum McpResolve {}

impl Method for McpResolve {
    const NAME: &'static str = "mcp.resolve";
    const EFFECT: Effect = Effect::Read;
    type Params = McpResolveParams;
    type Result = LaunchPlan;
}

/// Parameters of [`McpResolve`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpResolveParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Capability.
    pub id: String,
    /// Server.
    pub server: String,
}
