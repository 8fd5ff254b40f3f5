//! `capability.outdated`: which installed capabilities have a newer version where they came from.

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `capability.outdated`: asks the source of each installed capability. One that does not answer is a row.
#[derive(Debug)]
pub enum Outdated {}

impl Method for Outdated {
    const NAME: &'static str = "capability.outdated";
    const EFFECT: Effect = Effect::Network;
    type Params = OutdatedParams;
    type Result = OutdatedResult;
}

/// Parameters of [`Outdated`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutdatedParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// `global` or `project`; both when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the network may not be used.
    pub offline: bool,
}

/// Result of [`Outdated`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutdatedResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// One row per installed capability, by id and scope.
    pub items: Vec<Row>,
}

/// One installed capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// Id.
    pub id: String,
    /// Scope.
    pub scope: String,
    /// `local`, `git`, `npm`, `tarball`, `registry` or `oci`; `unknown` for what is no source.
    pub source_kind: String,
    /// Version that is installed.
    pub current: String,
    /// Version that an update would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
    /// `outdated`, `current`, `pinned`, `manual` or `unknown`.
    pub status: String,
    /// Why nothing is known, or what else there is to say; cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
