//! A capability that holds every rule, as types.

use std::sync::Arc;

use serde_json::Value;

use super::document::Document;
use crate::ids::CapabilityId;
use crate::registry::LoopPoint;
use crate::version::EngineRange;

/// What a capability is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Skills, agents, hooks, commands, loop hooks, config.
    Feature,
    /// The descriptor of a host CLI.
    Runtime,
    /// A reviewer lane.
    Reviewer,
}

impl Role {
    /// The word of the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Runtime => "runtime",
            Self::Reviewer => "reviewer",
        }
    }
}

/// In which profiles a capability is. The order is the rank: nothing may require a higher tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// In every profile.
    Core,
    /// In `standard` and `full`.
    Standard,
    /// In `full` only.
    Full,
}

impl Tier {
    /// Every tier, from the lowest.
    pub const ALL: [Self; 3] = [Self::Core, Self::Standard, Self::Full];

    /// The word of the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// What happens when a hook, or the check of a gate, fails to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnError {
    /// The loop goes on.
    Skip,
    /// The loop stops.
    Halt,
}

/// One manifest without a broken rule.
///
/// Source: ADR-1244 Context and D1.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Id; the name of the folder.
    pub id: CapabilityId,
    /// Role.
    pub role: Role,
    /// Version, full SemVer.
    pub version: String,
    /// Title.
    pub title: String,
    /// Description.
    pub description: String,
    /// Tier.
    pub tier: Tier,
    /// Ids that must be present.
    pub requires: Vec<String>,
    /// Range of host versions as written.
    pub engines_gsd: Option<String>,
    /// Range of host versions; absent: any.
    pub engine_range: Option<EngineRange>,
    /// For which runtimes a feature is; absent on other roles.
    pub runtime_compat: Option<RuntimeCompat>,
    /// Names of skills.
    pub skills: Vec<String>,
    /// Names of agents.
    pub agents: Vec<String>,
    /// Hook scripts.
    pub hooks: Vec<HookDecl>,
    /// Command families.
    pub commands: Vec<CommandDecl>,
    /// Steps of the loop, declared order.
    pub steps: Vec<Step>,
    /// Contributions to agents of the loop, declared order.
    pub contributions: Vec<Contribution>,
    /// Gates of the loop, declared order.
    pub gates: Vec<Gate>,
    /// Config slice: dotted key and its declaration, declared order.
    pub config: Vec<(String, ConfigSlice)>,
    /// Key of the slice that switches the whole capability.
    pub activation_key: Option<String>,
    /// Lane of a reviewer, or of a runtime that can review.
    pub reviewer: Option<ReviewerLane>,
    /// MCP servers, as written: an object by name, or a list of named items.
    pub mcp_servers: Option<Value>,
    /// The descriptor of a runtime, as written; absent on other roles.
    pub runtime: Option<Value>,
    /// The document as written.
    pub document: Document,
}

impl Manifest {
    /// Whether the capability says that it works on this host.
    #[must_use]
    pub fn supports_runtime(&self, id: &str) -> bool {
        self.runtime_compat.as_ref().is_none_or(|compat| {
            let listed = compat.supported.iter().any(|known| known == "*" || known == id);
            listed && !compat.unsupported.iter().any(|known| known == id)
        })
    }
}

/// Runtimes that a feature supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeCompat {
    /// `*`, or ids.
    pub supported: Vec<String>,
    /// Ids.
    pub unsupported: Vec<String>,
    /// Keys of `notes`.
    pub noted: Vec<String>,
}

/// A script that a host runs on an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookDecl {
    /// Event, in the words of the host.
    pub event: String,
    /// Path below the bundle.
    pub script: String,
    /// To which tools it applies; absent: to all.
    pub matcher: Option<String>,
}

/// A family of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDecl {
    /// Top-level command word.
    pub family: String,
    /// File of the bundle root with the router.
    pub module: Option<String>,
    /// Function exported by the module.
    pub router: Option<String>,
    /// Executable file of the bundle, instead of module and router.
    pub exec: Option<String>,
    /// Documented subcommands.
    pub subcommands: Vec<String>,
}

/// Text for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// File of the bundle.
    pub path: Option<String>,
    /// The text itself; wins over the file.
    pub inline: Option<Arc<str>>,
}

/// An independent unit of work at a loop point.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where.
    pub point: LoopPoint,
    /// What is run.
    pub reference: StepRef,
    /// Artifacts it makes.
    pub produces: Vec<String>,
    /// Artifacts it needs.
    pub consumes: Vec<String>,
    /// When it fails.
    pub on_error: OnError,
    /// Key of the own slice that switches it.
    pub when: Option<String>,
    /// Text for the agent.
    pub fragment: Option<Fragment>,
    /// Position in the manifest's list.
    pub index: usize,
}

/// What a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepRef {
    /// An own skill.
    Skill(String),
    /// An own agent.
    Agent(String),
    /// A command.
    Command(String),
}

/// A fragment for an agent of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// Where.
    pub point: LoopPoint,
    /// Role of the agent.
    pub into: String,
    /// The text.
    pub fragment: Fragment,
    /// Artifacts it makes; only for the order.
    pub produces: Vec<String>,
    /// Artifacts it needs; only for the order.
    pub consumes: Vec<String>,
    /// When it fails; absent: the host's choice.
    pub on_error: Option<OnError>,
    /// Key of the own slice that switches it.
    pub when: Option<String>,
    /// Alias and dotted config key whose value the renderer adds.
    pub config_values: Vec<(String, String)>,
    /// Position in the manifest's list.
    pub index: usize,
}

/// A condition that can stop the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Where.
    pub point: LoopPoint,
    /// What is checked.
    pub check: GateCheck,
    /// Whether a failed check stops the loop.
    pub blocking: bool,
    /// When the check cannot run.
    pub on_error: OnError,
    /// Key of the own slice that switches it.
    pub when: Option<String>,
    /// Position in the manifest's list.
    pub index: usize,
}

/// What a gate checks.
#[derive(Clone, Debug, PartialEq)]
pub enum GateCheck {
    /// A query of the host, by name.
    Query(String),
    /// A condition that is evaluated.
    Predicate(Predicate),
    /// The opinion of an agent; never blocks.
    AgentVerdict(Value),
}

/// A condition of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// A shell command from the project root exits with 0: an executable surface.
    CommandExitZero {
        /// The command, with placeholders.
        command: String,
        /// Deadline in seconds; absent: the host's default.
        timeout_seconds: Option<f64>,
    },
    /// A field of a file's front matter has a value.
    ArtifactFrontmatterEquals {
        /// File name or suffix.
        artifact: String,
        /// Field.
        field: String,
        /// Value.
        equals: Value,
    },
    /// A kind that nothing evaluates; only shipped capabilities can have one.
    Unknown(Value),
}

/// Kind of a config value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SliceType {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// Number.
    Number,
    /// One of a list of words.
    Enum,
}

impl SliceType {
    /// The word of the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::String => "string",
            Self::Number => "number",
            Self::Enum => "enum",
        }
    }
}

/// Declaration of one config key.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigSlice {
    /// Kind.
    pub kind: SliceType,
    /// Value when none is set.
    pub default: Value,
    /// Words of an enum.
    pub values: Vec<String>,
    /// Description.
    pub description: String,
}

impl ConfigSlice {
    /// Whether `value` has the declared type.
    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        match self.kind {
            SliceType::Boolean => value.is_boolean(),
            SliceType::Number => value.is_number(),
            SliceType::String => value.is_string(),
            SliceType::Enum => {
                value.as_str().is_some_and(|text| self.values.iter().any(|known| known == text))
            }
        }
    }
}

/// What must be unique about a reviewer lane; the rest is in [`Manifest::document`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewerLane {
    /// Slug.
    pub slug: String,
    /// Command-line flags that select it.
    pub flags: Vec<String>,
    /// Heading of its part of the review.
    pub section: String,
}
