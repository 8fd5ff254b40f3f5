//! What the engine reads of a runtime descriptor to write into a host and to answer its hooks.
//!
//! The seed's axes say how GSD itself is installed into a host; the `projection` member, ours, says where that
//! host was seen to read skills, agents, commands, hooks and MCP servers of others, and which answer blocks.
//! Other readers of the file ignore it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::ConfigHome;
use crate::projection::edit::host_rules::HookFileRules;

/// A host, as far as projection and hook evaluation need it.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Id of the runtime capability.
    pub id: String,
    /// Title of the runtime capability.
    pub title: String,
    /// Where its configuration is.
    pub config_home: ConfigHome,
    /// Name of its folder inside a project.
    pub local_config_dir: Option<String>,
    /// What it reads; `None` when nobody has described that yet.
    pub surfaces: Option<Surfaces>,
}

impl Descriptor {
    /// Reads the manifest of a runtime capability that has passed validation.
    ///
    /// # Errors
    /// The reason, when a member that only we read has the wrong shape.
    pub fn from_manifest(manifest: &Value) -> Result<Self, String> {
        let runtime = manifest.get("runtime").ok_or("not a runtime capability")?;
        let text = |member: &str| manifest.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self {
            id: text("id"),
            title: text("title"),
            config_home: ConfigHome::deserialize(&runtime["configHome"])
                .map_err(|error| format!("runtime.configHome: {error}"))?,
            local_config_dir: runtime.get("localConfigDir").and_then(Value::as_str).map(ToOwned::to_owned),
            surfaces: match runtime.get("projection") {
                None => None,
                Some(value) => Some(
                    Surfaces::deserialize(value).map_err(|error| format!("runtime.projection: {error}"))?,
                ),
            },
        })
    }
}

/// Whether something is wired for one person or for one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WiringScope {
    /// All of the person's sessions.
    Global,
    /// Sessions in one project.
    Project,
}

/// The `projection` member: one place for each kind of thing a host reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Surfaces {
    /// Whether this host answers when a request names none.
    #[serde(default)]
    pub is_default: bool,
    /// How to tell that the person uses this host.
    #[serde(default)]
    pub detect: Detect,
    /// Skill folders.
    #[serde(default)]
    pub skills: Option<DirPlace>,
    /// Agent files.
    #[serde(default)]
    pub agents: Option<DirPlace>,
    /// Slash command files.
    #[serde(default)]
    pub commands: Option<CommandsPlace>,
    /// Lifecycle hooks.
    #[serde(default)]
    pub hooks: Option<HooksPlace>,
    /// MCP servers.
    #[serde(default)]
    pub mcp: Option<McpPlace>,
    /// How this host reads the answer of a hook.
    pub reply: ReplyRule,
}

/// Wrapper of [`ReplyDialect`], so that later members find a place.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyRule {
    /// Shape of the answer.
    pub dialect: ReplyDialect,
}

/// Shape of a hook's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyDialect {
    /// One JSON object with `hookSpecificOutput`, `decision`, `continue`, `systemMessage`; exit 0.
    HookSpecificOutput,
}

/// Signs that the person uses a host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detect {
    /// Programs on the path.
    pub binaries: Vec<String>,
    /// Paths below the home directory.
    pub paths: Vec<String>,
}

/// A folder in the host's configuration folder and in its project folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DirPlace {
    /// Below the configuration home.
    #[serde(default)]
    pub global: Option<Dir>,
    /// Below the project's folder of this host.
    #[serde(default)]
    pub local: Option<Dir>,
    /// Put in front of each name.
    #[serde(default)]
    pub prefix: String,
    /// Put behind each name.
    #[serde(default)]
    pub suffix: String,
}

/// A folder name, relative and without `..`.
#[derive(Clone, Debug, Deserialize)]
pub struct Dir {
    /// Relative path of the folder.
    pub dir: String,
}

impl DirPlace {
    /// The folder for a scope.
    #[must_use]
    pub fn dir(&self, scope: WiringScope) -> Option<&str> {
        match scope {
            WiringScope::Global => self.global.as_ref(),
            WiringScope::Project => self.local.as_ref(),
        }
        .map(|place| place.dir.as_str())
    }
}

/// Slash command files.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandsPlace {
    /// Where and how they are named.
    #[serde(flatten)]
    pub place: DirPlace,
    /// What the host replaces by what the person typed.
    #[serde(default)]
    pub arguments_placeholder: Option<String>,
}

/// How a document is read by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentDialect {
    /// JSON without comments or trailing commas.
    StrictJson,
    /// JSON with both.
    Jsonc,
}

/// A file, by scope.
#[derive(Clone, Debug, Deserialize)]
pub struct ScopedFile {
    /// Relative path of the file.
    pub file: String,
}

/// Where lifecycle hooks are registered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HooksPlace {
    /// Dialect of the documents.
    pub document: DocumentDialect,
    /// File below the configuration home.
    #[serde(default)]
    pub global: Option<ScopedFile>,
    /// File below the project's folder of this host.
    #[serde(default)]
    pub local: Option<ScopedFile>,
    /// Path of the object whose members are events.
    pub container: Vec<String>,
    /// Members of a group.
    pub group: GroupRule,
    /// Members of a handler.
    pub handler: HandlerRule,
    /// Time limit that is written with each handler.
    #[serde(default)]
    pub timeout: Option<Timeout>,
    /// Every event the host knows.
    pub events: BTreeMap<String, EventRule>,
    /// What makes the host drop the whole file.
    #[serde(default)]
    pub whole_file_rule: Option<HookFileRules>,
}

impl HooksPlace {
    /// The file for a scope.
    #[must_use]
    pub fn file(&self, scope: WiringScope) -> Option<&str> {
        match scope {
            WiringScope::Global => self.global.as_ref(),
            WiringScope::Project => self.local.as_ref(),
        }
        .map(|place| place.file.as_str())
    }

    /// The host's name for an event that a capability names in the neutral vocabulary or in the host's own.
    #[must_use]
    pub fn host_event(&self, declared: &str) -> Option<&str> {
        self.events
            .get_key_value(declared)
            .or_else(|| self.events.iter().find(|(_, rule)| rule.neutral.as_deref() == Some(declared)))
            .map(|(name, _)| name.as_str())
    }
}

/// Members of a group of handlers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRule {
    /// Member that holds the handlers.
    pub handlers: String,
    /// Member that narrows the group.
    pub matcher: String,
}

/// Members of a handler.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandlerRule {
    /// Value of its `type`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A time limit in the host's unit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeout {
    /// The host's unit.
    pub unit: TimeUnit,
    /// The limit in that unit, above 0.
    pub value: u32,
}

/// Unit of a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
}

/// What is known about one event of a host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRule {
    /// Name of the event in manifests.
    #[serde(default)]
    pub neutral: Option<String>,
    /// Member of the payload that a matcher is compared with.
    #[serde(default)]
    pub matcher_on: Option<String>,
    /// Which answer blocks.
    #[serde(default)]
    pub block: BlockForm,
    /// Whether text in the answer reaches the model.
    #[serde(default)]
    pub context: bool,
    /// Whether plain text at exit 0 counts as context.
    #[serde(default)]
    pub plain_text_context: bool,
    /// Whether the answer replaces something that the host does itself: an answer without opinion would break it, so
    /// nothing is registered.
    #[serde(default)]
    pub replaces: bool,
    /// Whether the matcher of a registration is a list of files to watch, so that one registration can't serve many.
    #[serde(default)]
    pub watch: bool,
}

/// The form of an answer that was seen to block (D-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockForm {
    /// `hookSpecificOutput.permissionDecision`.
    PermissionDecision,
    /// `hookSpecificOutput.decision.behavior`.
    PermissionRequest,
    /// `decision: "block"` with a reason.
    DecisionBlock,
    /// Nothing blocks.
    #[default]
    None,
}

/// Where MCP servers are registered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpPlace {
    /// Dialect of the documents.
    pub document: DocumentDialect,
    /// File for all sessions.
    #[serde(default)]
    pub global: Option<McpTarget>,
    /// File for one project.
    #[serde(default)]
    pub local: Option<McpTarget>,
    /// Path of the object whose members are servers.
    pub container: Vec<String>,
}

impl McpPlace {
    /// The file for a scope.
    #[must_use]
    pub fn target(&self, scope: WiringScope) -> Option<&McpTarget> {
        match scope {
            WiringScope::Global => self.global.as_ref(),
            WiringScope::Project => self.local.as_ref(),
        }
    }
}

/// A file with MCP servers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTarget {
    /// Folder that the file is in.
    pub base: McpBase,
    /// Name of the file.
    pub file: String,
    /// Whether the file moves into the configuration home when a variable names one.
    #[serde(default)]
    pub in_config_home_when_env: bool,
}

/// Folder of a file with MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpBase {
    /// The configuration home.
    ConfigHome,
    /// The folder around the configuration home.
    ConfigHomeSibling,
    /// The project root.
    Project,
    /// The project's folder of this host.
    LocalConfigDir,
}
