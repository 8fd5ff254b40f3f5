//! `loop.*`: what is active at a point of the loop.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `loop.render`: active hooks of one point, their text, and warnings for gates that are missing.
#[derive(Debug)]
pub enum Render {}

impl Method for Render {
    const NAME: &'static str = "loop.render";
    const EFFECT: Effect = Effect::Read;
    type Params = RenderParams;
    type Result = RenderResult;
}

/// Parameters of [`Render`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The point, for example `plan:pre`.
    pub point: String,
    /// Asks only whether a hook of this capability is active here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_cap: Option<String>,
    /// Host whose install profile and surface decide; the default one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Configuration folder of that host, when it is not where it usually is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
}

/// Result of [`Render`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// `point`, `activeHooks`, `rendered` and, when there are any, `warnings`.
    pub envelope: Value,
    /// The text alone.
    pub markdown: String,
    /// Answer to `activeCap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// One line per missing gate of this point; also in the envelope.
    pub advisories: Vec<String>,
}

/// `loop.points`: the points, in order.
#[derive(Debug)]
pub enum Points {}

impl Method for Points {
    const NAME: &'static str = "loop.points";
    const EFFECT: Effect = Effect::Read;
    type Params = PointsParams;
    type Result = PointsResult;
}

/// Parameters of [`Points`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PointsParams {
    /// The caller's surroundings.
    pub ctx: Context,
}

/// Result of [`Points`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PointsResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The points, with the number of composed hooks.
    pub points: Vec<Point>,
}

/// One point of the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Point {
    /// Name.
    pub point: String,
    /// Composed steps.
    pub steps: usize,
    /// Composed contributions.
    pub contributions: usize,
    /// Composed gates.
    pub gates: usize,
    /// Gates that are missing because their capability was skipped.
    pub missing_gates: usize,
}
