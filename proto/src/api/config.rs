//! `config.*`: the person's own configuration file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `config.list`: every key that is set, and where.
#[derive(Debug)]
pub enum List {}

impl Method for List {
    const NAME: &'static str = "config.list";
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
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`]; what in the file can't be used is among them.
    pub warnings: Vec<Warning>,
    /// The keys, sorted.
    pub items: Vec<Setting>,
}

/// One key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Setting {
    /// With dots.
    pub key: String,
    /// What it says.
    pub value: String,
    /// `user` or `default`.
    pub origin: String,
    /// The file that says it; absent for a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// `config.get`: one key.
#[derive(Debug)]
pub enum Get {}

impl Method for Get {
    const NAME: &'static str = "config.get";
    const EFFECT: Effect = Effect::Read;
    type Params = GetParams;
    type Result = GetResult;
}

/// Parameters of [`Get`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// With dots.
    pub key: String,
}

/// Result of [`Get`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The key; absent when it is not set and has no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<Setting>,
}

/// `config.set`: sets one key, and leaves every other byte of the file.
#[derive(Debug)]
pub enum Set {}

impl Method for Set {
    const NAME: &'static str = "config.set";
    const EFFECT: Effect = Effect::WriteState;
    type Params = SetParams;
    type Result = Changed;
}

/// Parameters of [`Set`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// With dots.
    pub key: String,
    /// What it shall say.
    pub value: String,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// `config.unset`: takes one key out, and leaves every other byte of the file.
#[derive(Debug)]
pub enum Unset {}

impl Method for Unset {
    const NAME: &'static str = "config.unset";
    const EFFECT: Effect = Effect::WriteState;
    type Params = UnsetParams;
    type Result = Changed;
}

/// Parameters of [`Unset`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UnsetParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// With dots.
    pub key: String,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// Result of [`Set`] and [`Unset`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Changed {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether the file is another one now, or would be.
    pub changed: bool,
    /// The key.
    pub key: String,
    /// What it said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The file.
    pub file: PathBuf,
}
