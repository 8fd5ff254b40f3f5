//! `source.*`: what a source is, and what would be taken from it. Nothing is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `source.parse`: what a spec means.
#[derive(Debug)]
pub enum Parse {}

impl Method for Parse {
    const NAME: &'static str = "source.parse";
    const EFFECT: Effect = Effect::Read;
    type Params = ParseParams;
    type Result = ParseResult;
}

/// Parameters of [`Parse`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParseParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The source spec.
    pub spec: String,
}

/// Result of [`Parse`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParseResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// `local`, `git`, `npm`, `tarball`, `registry` or `oci`.
    pub kind: String,
    /// What it names, without kind and ref.
    pub target: String,
    /// The part behind `#` of a git source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Folder inside a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Version, range or tag of a package or entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Name of the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// Host that it is fetched from, when the spec says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The text that a ledger would record.
    pub recorded: String,
    /// Whether it names one content for ever.
    pub pinned: bool,
}

/// `source.hash`: content hash of a folder.
#[derive(Debug)]
pub enum Hash {}

impl Method for Hash {
    const NAME: &'static str = "source.hash";
    const EFFECT: Effect = Effect::Read;
    type Params = HashParams;
    type Result = HashResult;
}

/// Parameters of [`Hash`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HashParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The folder, relative to the working directory.
    pub dir: PathBuf,
}

/// Result of [`Hash`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HashResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Hash over every file and folder below it.
    pub content_hash: String,
    /// Number of files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}
