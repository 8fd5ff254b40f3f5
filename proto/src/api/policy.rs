//! `policy.*`: the rules in effect, and what they say about a source. Nothing is asked over the network.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `policy.show`: every key in effect, with the file and line that decides it.
#[derive(Debug)]
pub enum Show {}

impl Method for Show {
    const NAME: &'static str = "policy.show";
    const EFFECT: Effect = Effect::Read;
    type Params = ShowParams;
    type Result = ShowResult;
}

/// Parameters of [`Show`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShowParams {
    /// The caller's surroundings.
    pub ctx: Context,
}

/// Result of [`Show`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShowResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`]; what can't be honoured, what is not known, and what is required and missing are among them.
    pub warnings: Vec<Warning>,
    /// The files that count, in the order in which they are asked.
    pub files: Vec<FileRow>,
    /// The keys in effect.
    pub settings: Vec<Setting>,
}

/// A policy file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileRow {
    /// `machine`, `user` or `project`.
    pub layer: String,
    /// Where it is, or would be.
    pub file: PathBuf,
    /// Whether there is such a file.
    pub exists: bool,
    /// Whether it says anything about policy.
    pub speaks: bool,
}

/// What one rule says, or the default of a key that no rule is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Setting {
    /// With dots.
    pub key: String,
    /// What it says; `null` for "no limit", and for what can't be honoured.
    pub value: Value,
    /// Whether this rule makes the difference to the others with the key.
    pub decides: bool,
    /// Where it stands; absent for a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Why it can't be honoured, and so closes what its key decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Where a rule stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Origin {
    /// `machine`, `user` or `project`.
    pub layer: String,
    /// The file.
    pub file: PathBuf,
    /// From 1; absent when it is about the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// `policy.check`: whether a source is allowed, and by which rule it is not.
#[derive(Debug)]
pub enum Check {}

impl Method for Check {
    const NAME: &'static str = "policy.check";
    const EFFECT: Effect = Effect::Read;
    type Params = CheckParams;
    type Result = CheckResult;
}

/// Parameters of [`Check`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The source spec.
    pub spec: String,
}

/// Result of [`Check`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The source as it would be recorded, without a query that may be a token.
    pub source: String,
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The rule that objects; absent when none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Objection>,
    /// Rules that can only be asked once there is something to look at.
    pub later: Vec<Objection>,
}

/// What a rule has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Objection {
    /// The key of the rule.
    pub key: String,
    /// What it wants.
    pub reason: String,
    /// Where it stands; absent for what holds without any rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}
