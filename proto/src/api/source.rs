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

/// `source.resolve`: what would be taken from a source, and why; nothing is fetched but what it takes to choose.
#[derive(Debug)]
pub enum Resolve {}

impl Method for Resolve {
    const NAME: &'static str = "source.resolve";
    const EFFECT: Effect = Effect::Network;
    type Params = ResolveParams;
    type Result = ResolveResult;
}

/// Parameters of [`Resolve`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolveParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The source spec.
    pub spec: String,
    /// `global` (default) or `project`: whether the `.npmrc` of the project counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the network may not be used.
    pub offline: bool,
}

/// Result of [`Resolve`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolveResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Kind of the source.
    pub kind: String,
    /// The source as it would be recorded.
    pub source: String,
    /// What would be taken; absent when nothing may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<Candidate>,
    /// Every version that was looked at, the highest first; empty where a source has only one.
    pub considered: Vec<Considered>,
    /// Title, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Who publishes it, as the registry says; cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// Public key of the publisher, as the registry says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher_key: Option<String>,
}

/// One content of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Candidate {
    /// Version, where the source says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A source that names exactly this content, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<String>,
    /// Commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where the archive is, without what may be a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Digest that the archive has to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// Hash that the content has to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// Where the registry offers a provenance attestation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestation: Option<String>,
}

/// A version that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Considered {
    /// As published.
    pub version: String,
    /// `taken`, `lower`, `not-selected`, `prerelease`, `deprecated`, `yanked` or `needs-gsd`.
    pub verdict: String,
    /// The same for people, with the publisher's words, cleaned.
    pub reason: String,
}

/// `source.inspect`: a bundle is fetched, disclosed, and thrown away.
#[derive(Debug)]
pub enum Inspect {}

impl Method for Inspect {
    const NAME: &'static str = "source.inspect";
    const EFFECT: Effect = Effect::Network;
    type Params = InspectParams;
    type Result = InspectResult;
}

/// Parameters of [`Inspect`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InspectParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// A folder, a source spec, or the id of an installed capability.
    pub what: String,
    /// Scope of the installed capability; the one that has it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the network may not be used.
    pub offline: bool,
    /// Whether the disclosure is shown in full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

/// Result of [`Inspect`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InspectResult {
    /// Generation at that moment.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Id that the manifest declares, cleaned.
    pub id: String,
    /// Version that it declares, cleaned.
    pub version: String,
    /// Title that it declares, cleaned.
    pub title: String,
    /// Where it was taken from.
    pub source: String,
    /// Version that a registry resolved the source to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// Commit that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// Where the registry offers a provenance attestation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestation: Option<String>,
    /// Whether the manifest breaks no rule.
    pub valid: bool,
    /// The rules that it breaks, one line each.
    pub problems: Vec<String>,
    /// Hash of the content.
    pub content_hash: String,
    /// Upstream's signature of the declared surfaces.
    pub signature: String,
    /// Digest that `--consent` would take.
    pub consent_digest: String,
    /// Everything that would run or instruct, cleaned, one item a line.
    pub disclosure: Vec<super::capability::DisclosureLine>,
    /// The same for programs: what runs or sends data away, each an object with `kind`; texts are exact, not cleaned.
    pub executable: Vec<serde_json::Value>,
    /// What instructs the agent, with `kind`, `name` and size; exact, not cleaned.
    pub instructing: Vec<serde_json::Value>,
    /// What all of that adds to a model's context, in tokens, roughly.
    pub tokens: u64,
    /// Number of files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}
