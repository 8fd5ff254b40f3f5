//! `capability.*` and `consent.*`: install, agree, remove.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method};

/// `capability.stage`: fetches and judges a bundle; nothing is active yet, and nothing was written outside of our
/// own folders.
#[derive(Debug)]
pub enum Stage {}

impl Method for Stage {
    const NAME: &'static str = "capability.stage";
    const EFFECT: Effect = Effect::Network;
    type Params = StageParams;
    type Result = StageResult;
}

/// Parameters of [`Stage`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StageParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// The source spec; empty with `update`, `grant` and `rollback`.
    pub spec: String,
    /// Stages an installed capability again, from where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// Stages an installed capability as it lies there, to be agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Stages a content of an installed capability that an update replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<String>,
    /// For a rollback: the version to go to; the one before the present one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// For an update that no person watches: refused unless it is switched on, and whenever a person would be asked.
    pub auto: bool,
    /// Whether an update may go back to an older version.
    pub allow_downgrade: bool,
    /// `global` (default) or `project`; for an update, the scope that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Hosts to wire; `None` = every host that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtimes: Option<Vec<String>>,
    /// Files below the folder of the scope that hooks and servers are registered in, one entry each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
    /// Whether the network may not be used.
    pub offline: bool,
    /// Digest that the archive has to have, `sha512-<base64>`; for sources that are archives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// Whether the folder stays linked: later changes of it are taken over without another question. For an install
    /// from a local folder in global scope.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
    /// Whether the disclosure is shown in full instead of cut to what fits before a question.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Whether it is only looked at: then nothing is made durable ahead of a commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

/// Result of [`Stage`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StageResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Names this bundle in `commit` and `discard`.
    pub ticket: String,
    /// Id.
    pub id: String,
    /// Title, cleaned.
    pub title: String,
    /// Version.
    pub version: String,
    /// Version that is installed now, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// Scope it would be installed in.
    pub scope: String,
    /// Folder that holds the scope.
    pub root: PathBuf,
    /// Source as it will be recorded.
    pub source: String,
    /// Commit that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the archive that was taken, `sha512-<base64>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// Whether the person gave that digest, now or at the install.
    pub pinned: bool,
    /// Where the archive came from in the end, without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// How well it is known where it comes from: `none`, `transport`, `digest`, `pin`, `signature` or `provenance`.
    pub level: String,
    /// The same in words.
    pub level_text: String,
    /// Who signed it; the signature was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<Signer>,
    /// What has to be accepted by itself before this takes the place of the installed one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<Stop>,
    /// Whether the same content is installed and wired already.
    pub current: bool,
    /// Whether the person has to agree first.
    pub requires_consent: bool,
    /// Why they are asked, beside the plain fact that something is executable.
    pub reasons: Vec<String>,
    /// What differs from the content that was agreed to before, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differences>,
    /// Everything that would run or instruct, cleaned, one item a line.
    pub disclosure: Vec<DisclosureLine>,
    /// The same for programs: what runs or sends data away, each an object with `kind`; texts are exact, not cleaned.
    pub executable: Vec<Value>,
    /// What instructs the agent, with `kind`, `name` and size; exact, not cleaned.
    pub instructing: Vec<Value>,
    /// What all of that adds to a model's context, in tokens, roughly.
    pub tokens: u64,
    /// Upstream's signature of the declared surfaces.
    pub signature: String,
    /// Hash of the content.
    pub content_hash: String,
    /// Digest that `--consent` takes.
    pub consent_digest: String,
    /// What would be done, in order.
    pub plan: Vec<PlanLine>,
    /// Surfaces that would be wired.
    pub wired: Vec<String>,
    /// Surfaces that would not be, and why.
    pub not_wired: Vec<NotWired>,
}

/// A publisher whose signature was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Signer {
    /// Public key of minisign.
    pub key: String,
    /// Short name of the key, for people; another key may have the same.
    pub key_id: String,
    /// What the person calls the publisher, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the key is known from: `configured`, `registry`, `agreed` or `first-seen`. With the last the signature is
    /// no proof yet.
    pub trust: String,
    /// The signed comment, cleaned.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// Something to accept by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stop {
    /// Code of the error when it is not accepted.
    pub code: String,
    /// The fact, cleaned.
    pub text: String,
    /// Flag that accepts it.
    pub flag: String,
    /// Value that the flag has to have, and [`CommitParams`] with it.
    pub value: String,
}

/// One line of a disclosure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DisclosureLine {
    /// `executable`, `instructing` or `inert`.
    pub group: String,
    /// The line.
    pub text: String,
}

/// What differs from the content that was agreed to before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Differences {
    /// Declared surfaces that are gone (`- …`) or new (`+ …`), cleaned.
    pub surfaces: Vec<String>,
    /// Files that run, or may be executed.
    pub executable: Vec<FileDifference>,
    /// Files that instruct the agent.
    pub instructing: Vec<FileDifference>,
    /// Other files.
    pub other: Vec<FileDifference>,
}

/// One file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileDifference {
    /// Path in the bundle, cleaned.
    pub path: String,
    /// `added`, `removed` or `changed`.
    pub change: String,
    /// The difference in unified form, at most a few hundred lines, not cleaned; absent when only the right to execute
    /// the file differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// One line of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanLine {
    /// Path that changes.
    pub path: PathBuf,
    /// What happens.
    pub text: String,
    /// For a file that is written or deleted: the difference in unified form, at most a few hundred lines. Contents
    /// of files are not cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A surface that was not wired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NotWired {
    /// The surface.
    pub surface: String,
    /// Why.
    pub reason: String,
}

/// `capability.commit`: carries out the plan of a staged bundle.
#[derive(Debug)]
pub enum Commit {}

impl Method for Commit {
    const NAME: &'static str = "capability.commit";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = CommitParams;
    type Result = Outcome;
}

/// Parameters of [`Commit`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CommitParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// From [`StageResult::ticket`].
    pub ticket: String,
    /// What the person agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// The signer that they accept in the place of the one before: its key, or `unsigned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_signer: Option<String>,
    /// The lower level that they accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_level: Option<String>,
}

/// An agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Consent {
    /// [`StageResult::consent_digest`]: an agreement to one content can't be used for another.
    pub digest: String,
    /// Whether nobody looked (`--yes`).
    pub blanket: bool,
}

/// What an operation did, and what it did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outcome {
    /// Generation after it.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// `installed`, `upgraded`, `current`, `removed`, `not_installed`, `incomplete`, `planned`.
    pub status: String,
    /// Id.
    pub id: String,
    /// Version.
    pub version: Option<String>,
    /// Scope.
    pub scope: String,
    /// Whether anything was changed.
    pub changed: bool,
    /// Surfaces that are wired now (installing) or are not any more (removing).
    pub wired: Vec<String>,
    /// Surfaces that are not wired, or could not be taken out, and why.
    pub not_wired: Vec<NotWired>,
    /// Entries that were taken out of documents of the person.
    pub stripped_edits: usize,
    /// Everything that was done, in order.
    pub changes: Vec<PlanLine>,
    /// What the agreement covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
}

/// `capability.discard`: forgets a staged bundle.
#[derive(Debug)]
pub enum Discard {}

impl Method for Discard {
    const NAME: &'static str = "capability.discard";
    const EFFECT: Effect = Effect::WriteState;
    type Params = DiscardParams;
    type Result = Done;
}

/// Parameters of [`Discard`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiscardParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// From [`StageResult::ticket`].
    pub ticket: String,
}

/// Nothing more to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Done {
    /// Generation after it.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether anything was changed.
    pub changed: bool,
}

/// `capability.remove`: takes a capability away, without a trace.
#[derive(Debug)]
pub enum Remove {}

impl Method for Remove {
    const NAME: &'static str = "capability.remove";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = RemoveParams;
    type Result = Outcome;
}

/// Parameters of [`Remove`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RemoveParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id.
    pub id: String,
    /// `global` or `project`; the scope that has it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Also delete the data it kept for the person.
    pub purge_data: bool,
    /// Also remove what requires it.
    pub cascade: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// `capability.state`: what of each composed capability is installed, on the surface, and active.
#[derive(Debug)]
pub enum State {}

impl Method for State {
    const NAME: &'static str = "capability.state";
    const EFFECT: Effect = Effect::Read;
    type Params = StateParams;
    type Result = StateResult;
}

/// Parameters of [`State`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StateParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Only this capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Host whose install profile and surface decide; the default one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Configuration folder of that host, when it is not where it usually is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
}

/// Result of [`State`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StateResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The configuration folder that was asked.
    pub runtime_config_dir: Option<PathBuf>,
    /// One object per capability, in upstream's shape.
    pub capabilities: Vec<Value>,
}

/// `capability.set`: switches a capability on or off, and its boolean configuration keys.
#[derive(Debug)]
pub enum Set {}

impl Method for Set {
    const NAME: &'static str = "capability.set";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = SetParams;
    type Result = SetResult;
}

/// `capability.enable`: [`Set`] with `on`.
#[derive(Debug)]
pub enum Enable {}

impl Method for Enable {
    const NAME: &'static str = "capability.enable";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = SetParams;
    type Result = SetResult;
}

/// `capability.disable`: [`Set`] with `on` = `false`.
#[derive(Debug)]
pub enum Disable {}

impl Method for Disable {
    const NAME: &'static str = "capability.disable";
    const EFFECT: Effect = Effect::WriteHost;
    type Params = SetParams;
    type Result = SetResult;
}

/// Parameters of [`Set`], [`Enable`] and [`Disable`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id of a composed capability, shipped ones included.
    pub id: String,
    /// On or off; left as it is when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
    /// Boolean configuration keys of the capability.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub gates: std::collections::BTreeMap<String, bool>,
    /// Host whose surface is meant; the default one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Configuration folder of that host, when it is not where it usually is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// Result of [`Set`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetResult {
    /// Generation after it.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Whether anything was changed.
    pub changed: bool,
    /// The capability before, in the shape of [`StateResult::capabilities`].
    pub before: Value,
    /// The capability afterwards.
    pub after: Value,
    /// All capabilities afterwards.
    pub capabilities: Vec<Value>,
    /// Wishes that did not come true although everything was written.
    pub errors: Vec<String>,
    /// Everything that was done, in order.
    pub changes: Vec<PlanLine>,
}

/// `consent.list`: what the person agreed to.
#[derive(Debug)]
pub enum ConsentList {}

impl Method for ConsentList {
    const NAME: &'static str = "consent.list";
    const EFFECT: Effect = Effect::Read;
    type Params = ConsentListParams;
    type Result = ConsentListResult;
}

/// Parameters of [`ConsentList`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentListParams {
    /// The caller's surroundings.
    pub ctx: Context,
}

/// Result of [`ConsentList`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentListResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The records of the store, in upstream's shape.
    pub records: Vec<ConsentRow>,
}

/// One agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentRow {
    /// Id.
    pub id: String,
    /// Scope: `project`, or `global` for what our own records hold.
    pub scope: String,
    /// Project, or home.
    pub project_root: String,
    /// Integrity in the ledger.
    pub integrity: String,
    /// Signature of the declared surfaces.
    pub disclosure_signature: String,
    /// Content.
    pub content_hash: String,
    /// When.
    pub consented_at: String,
    /// How well it is known where it comes from, see [`StageResult::level`].
    pub level: String,
    /// Who signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<Signer>,
    /// Folder whose later contents it covers too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked: Option<PathBuf>,
    /// Digest that was agreed to; empty for what only upstream's store records.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub consent_digest: String,
    /// How it came about: `installed`, or `first-seen` for what upstream had installed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// Whether nobody looked (`--yes`).
    pub blanket: bool,
    /// Where its reviewer lane may send to, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

/// `consent.show`: one agreement, with everything that it lets run.
#[derive(Debug)]
pub enum ConsentShow {}

impl Method for ConsentShow {
    const NAME: &'static str = "consent.show";
    const EFFECT: Effect = Effect::Read;
    type Params = ConsentShowParams;
    type Result = ConsentShowResult;
}

/// Parameters of [`ConsentShow`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentShowParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Capability.
    pub id: String,
    /// Scope; the project's before the person's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether the disclosure is shown in full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

/// Result of [`ConsentShow`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentShowResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The agreement.
    pub record: ConsentRow,
    /// When it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// What it is worth now, in words: it holds, the content changed since, it was taken back.
    pub state: String,
    /// What the agreed content would run or instruct; empty when that content is not in the store any more.
    pub disclosure: Vec<DisclosureLine>,
    /// As [`StageResult::executable`].
    pub executable: Vec<Value>,
    /// As [`StageResult::instructing`].
    pub instructing: Vec<Value>,
    /// As [`StageResult::tokens`].
    pub tokens: u64,
}

/// `consent.revoke`: takes an agreement back; the capability stays installed and inactive.
#[derive(Debug)]
pub enum ConsentRevoke {}

impl Method for ConsentRevoke {
    const NAME: &'static str = "consent.revoke";
    const EFFECT: Effect = Effect::WriteState;
    type Params = ConsentRevokeParams;
    type Result = Done;
}

/// Parameters of [`ConsentRevoke`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsentRevokeParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// Id.
    pub id: String,
    /// Project; that of the working directory when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// `project` (default) or `global`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}
