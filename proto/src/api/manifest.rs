//! `manifest.*`: judging bundles that are not installed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `manifest.validate`: everything that is wrong with one bundle, at once.
#[derive(Debug)]
pub enum Validate {}

impl Method for Validate {
    const NAME: &'static str = "manifest.validate";
    const EFFECT: Effect = Effect::Read;
    type Params = ValidateParams;
    type Result = ValidateResult;
}

/// Parameters of [`Validate`]: a folder, or a manifest by itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidateParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Folder of the bundle, or its `capability.json`; relative to the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// The manifest instead of a folder: its text, or the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
    /// Name of the folder that `manifest` would be in; its id when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir_name: Option<String>,
    /// Whether it is also judged against what is shipped and installed.
    pub merged: bool,
    /// The scope that `merged` assumes: `global` or `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the findings are wanted as a SARIF document too.
    pub sarif: bool,
}

/// Result of [`Validate`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidateResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether no rule is broken.
    pub valid: bool,
    /// The manifest that was judged, absolute; absent when it came with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Broken rules.
    pub problems: Vec<Finding>,
    /// What breaks nothing and is probably not meant.
    pub hints: Vec<Finding>,
    /// The SARIF 2.1.0 document, when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sarif: Option<Value>,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Finding {
    /// Stable id of the rule.
    pub rule: String,
    /// JSON pointer of the value; empty: the document, or a file of the bundle.
    pub pointer: String,
    /// Line from 1; 0 when it is not about a place in the manifest.
    pub line: u32,
    /// Column in characters from 1; 0 when it is not about a place in the manifest.
    pub column: u32,
    /// The fact.
    pub message: String,
    /// The remedy.
    pub fix: String,
    /// Path of another file of the bundle that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}
