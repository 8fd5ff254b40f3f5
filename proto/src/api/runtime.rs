//! `runtime.*`: the hosts that capabilities can be wired into.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `runtime.list`: every known host, and whether the person uses it.
#[derive(Debug)]
pub enum List {}

impl Method for List {
    const NAME: &'static str = "runtime.list";
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
    /// One row per host.
    pub items: Vec<RuntimeRow>,
}

/// One host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeRow {
    /// Id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Configuration folder, resolved for the caller's environment.
    pub config_home: Option<PathBuf>,
    /// Whether it was found on this machine.
    pub detected: bool,
    /// Whether capabilities can be wired into it by this version.
    pub supported: bool,
    /// What can be wired: `skills`, `agents`, `commands`, `hooks`, `mcp`.
    pub surfaces: Vec<String>,
    /// Capabilities that are wired into it.
    pub capabilities: Vec<String>,
}
