//! `registry.*`: the composed registry of the caller's project.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Warning;
use crate::Context;
use crate::method::{Effect, Method, Subscription};

/// `registry.get`: the composed registry, or one view of it.
#[derive(Debug)]
pub enum Get {}

impl Method for Get {
    const NAME: &'static str = "registry.get";
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
    /// Name of a view; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Result of [`Get`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GetResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The view itself.
    pub view: Value,
}

/// `registry.list`: one row per capability, shipped or installed.
#[derive(Debug)]
pub enum List {}

impl Method for List {
    const NAME: &'static str = "registry.list";
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
    /// Only capabilities of this scope: `global` or `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// Result of [`List`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// Shipped ones in registry order, then installed ones.
    pub items: Vec<ListItem>,
}

/// One capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListItem {
    /// Id.
    pub id: String,
    /// `feature`, `runtime` or `reviewer`; absent when the manifest can't be read.
    pub role: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// `core`, `standard` or `full`.
    pub tier: Option<String>,
    /// Where it came from.
    pub source: String,
    /// `first-party`, `global` or `project`.
    pub scope: String,
    /// `active`, `inactive`, `incompatible`, `changed`, `pending` or `skipped`.
    pub status: String,
    /// Why it is not active, and what would change that.
    pub reason: Option<String>,
    /// Whether its skills are on the surface; absent when nobody can say.
    pub surfaced: Option<bool>,
    /// Title.
    pub title: Option<String>,
    /// How well it is known where it comes from: `none`, `transport`, `digest`, `pin`, `signature` or `provenance`;
    /// `first-party` for what is shipped.
    pub level: String,
    /// Folder whose changes are taken over by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked: Option<PathBuf>,
}

/// `registry.explain`: why something is active or not, and what would change that.
#[derive(Debug)]
pub enum Explain {}

impl Method for Explain {
    const NAME: &'static str = "registry.explain";
    const EFFECT: Effect = Effect::Read;
    type Params = ExplainParams;
    type Result = ExplainResult;
}

/// Parameters of [`Explain`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// A name, or `kind:name` with one of `capability`, `skill`, `agent`, `key`, `family`, `hook`, `mcp`, `point`.
    pub subject: String,
}

/// Result of [`Explain`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplainResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The answer; `ambiguous` when several things have the name.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// One answer per thing of that name, when there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meanings: Vec<Explanation>,
}

/// What is known about one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Explanation {
    /// `kind:name`, as it can be asked for.
    pub subject: String,
    /// What kind of thing it is, for people.
    pub kind: String,
    /// `active`, `inactive`, `skipped`, `empty` or `ambiguous`.
    pub verdict: String,
    /// One sentence.
    pub text: String,
    /// Rule or decision behind the verdict.
    pub rule: String,
    /// Capabilities that have to do with it.
    pub parties: Vec<Party>,
    /// What the verdict depends on.
    pub predicates: Vec<Predicate>,
    /// What would change the verdict.
    pub fixes: Vec<crate::Fix>,
}

/// A capability and its part in the matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Party {
    /// Id.
    pub id: String,
    /// `first-party`, `global` or `project`; empty when it is missing.
    pub scope: String,
    /// Its part, for example `owner`, `requires`, `gate`, `missing-gate`.
    pub part: String,
    /// `active`, `inactive`, `skipped` or `missing`.
    pub status: String,
    /// More; may be empty.
    pub note: String,
}

/// Something that a verdict depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Predicate {
    /// What it is.
    pub name: String,
    /// Its value as it is now.
    pub value: String,
    /// Where the value comes from; may be empty.
    pub origin: String,
    /// Whether it speaks for the thing being active.
    pub holds: bool,
}

/// `registry.graph`: capabilities and how they depend on each other, drawn.
#[derive(Debug)]
pub enum Graph {}

impl Method for Graph {
    const NAME: &'static str = "registry.graph";
    const EFFECT: Effect = Effect::Read;
    type Params = GraphParams;
    type Result = GraphResult;
}

/// Parameters of [`Graph`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphParams {
    /// The caller's surroundings.
    pub ctx: Context,
    /// `dot`, `mermaid` or `svg`; `dot` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// Result of [`Graph`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphResult {
    /// Generation that was read.
    pub snapshot: u64,
    /// See [`Warning`].
    pub warnings: Vec<Warning>,
    /// The format of the text.
    pub format: String,
    /// The drawing.
    pub text: String,
    /// The same without a layout.
    pub nodes: Vec<GraphNode>,
    /// Edges between the nodes.
    pub edges: Vec<GraphEdge>,
}

/// One capability of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphNode {
    /// Id.
    pub id: String,
    /// `first-party`, `global` or `project`.
    pub scope: String,
    /// Whether it was left out.
    pub skipped: bool,
}

/// One edge of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GraphEdge {
    /// Id of the capability or name of the point it starts at.
    pub from: String,
    /// Id of the capability or name of the point it ends at.
    pub to: String,
    /// `requires`, `artifact` or `gate`.
    pub kind: String,
    /// Artifact and point; may be empty.
    pub label: String,
}

/// `registry.subscribe`: tells when the registry of a project changed.
#[derive(Debug)]
pub enum Changes {}

impl Subscription for Changes {
    const SUBSCRIBE: &'static str = "registry.subscribe";
    const UNSUBSCRIBE: &'static str = "registry.unsubscribe";
    const EVENT: &'static str = "registry.changed";
    type Params = SubscribeParams;
    type Event = Changed;
}

/// Parameters of the subscription.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscribeParams {
    /// The caller's surroundings; events are about the project of its working directory.
    pub ctx: Context,
}

/// The registry of a project changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Changed {
    /// Start of the daemon that says it.
    pub instance: String,
    /// New generation.
    pub generation: u64,
    /// The project.
    pub project: PathBuf,
    /// Ids that composed now and did not before.
    pub added: Vec<String>,
    /// Ids that composed before and do not now.
    pub removed: Vec<String>,
    /// Ids that compose with other content or other state.
    pub changed: Vec<String>,
    /// Whether events were lost or this is the first one: drop what you remember and read again.
    pub reset: bool,
}
