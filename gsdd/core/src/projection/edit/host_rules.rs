//! What a host would think of a settings file, judged as a whole.
//!
//! Several hosts drop a whole settings file, the person's own deny rules included, over one malformed entry, and say
//! nothing. So the file is judged before an edit (already broken: change nothing, say so) and after it (our entry
//! would break it: do not write). Which host has which rule is data; this module knows no host.
//!
//! Source: decision D-24, field report FR-012.

mod judge;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use judge::{judge, judge_text};

/// The rules of one host for its hooks file. What is left out is not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HookFileRules {
    /// The only members that the document may have; absent when any is fine.
    pub top_level: Option<Vec<String>>,
    /// Members that take certain values only, when they are there.
    pub fixed: Vec<ValueRule>,
    /// Path of keys to the table of events.
    pub container: Vec<String>,
    /// Whether the events hold groups with handlers (`handlers` names their member) or the handlers themselves.
    pub grouped: bool,
    /// The member of a group that holds its handlers.
    pub handlers: String,
    /// The events that the host knows; absent when it takes any name.
    pub events: Option<Vec<String>>,
    /// What the host does with an event that it does not know.
    pub unknown_event: HostEffect,
    /// The member of a group (or of an ungrouped handler) that selects tools; must be text when present.
    pub matcher: Option<String>,
    /// The member of a handler that names its type.
    pub type_member: String,
    /// The type of a handler that names none; absent when a type is required.
    pub default_type: Option<String>,
    /// The handler types that the host takes; empty when it takes any.
    pub handler_types: Vec<HandlerType>,
    /// The member with the time limit; must be a number above 0 when present.
    pub timeout: Option<String>,
    /// The only members that a group may have; absent when any is fine.
    pub group_members: Option<Vec<String>>,
    /// The only members that a handler may have; absent when any is fine.
    pub handler_members: Option<Vec<String>>,
    /// Whether the time limit must be a whole number.
    pub whole_timeout: bool,
    /// Members of a handler that take certain words only.
    pub words: Vec<WordRule>,
    /// Members anywhere in the file whose type matters.
    pub typed: Vec<TypeRule>,
    /// What the host does with a malformed entry.
    pub malformed_entry: HostEffect,
    /// What the host does with a table of events or an event of the wrong type, and with a wrong member outside.
    pub malformed_table: HostEffect,
}

impl Default for HookFileRules {
    fn default() -> Self {
        Self {
            top_level: None,
            fixed: Vec::new(),
            container: vec!["hooks".to_owned()],
            grouped: true,
            handlers: "hooks".to_owned(),
            events: None,
            unknown_event: HostEffect::IgnoresEntry,
            matcher: Some("matcher".to_owned()),
            type_member: "type".to_owned(),
            default_type: None,
            handler_types: Vec::new(),
            timeout: Some("timeout".to_owned()),
            group_members: None,
            handler_members: None,
            whole_timeout: false,
            words: Vec::new(),
            typed: Vec::new(),
            malformed_entry: HostEffect::DropsFile,
            malformed_table: HostEffect::DropsFile,
        }
    }
}

/// How a host reads the text of a file. The default is strict JSON with a byte order mark allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HostTextRules {
    /// Comments are fine.
    pub comments: bool,
    /// Trailing commas are fine.
    pub trailing_commas: bool,
    /// A byte order mark is fine.
    pub byte_order_mark: bool,
    /// A file of nothing but white space is fine.
    pub blank: bool,
    /// What the host does otherwise.
    pub effect: HostEffect,
}

impl Default for HostTextRules {
    fn default() -> Self {
        Self {
            comments: false,
            trailing_commas: false,
            byte_order_mark: true,
            blank: false,
            effect: HostEffect::DropsFile,
        }
    }
}

/// A type of handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandlerType {
    /// Its name.
    pub name: String,
    /// Members that must be there and be text.
    #[serde(default)]
    pub required: Vec<String>,
}

/// A member that takes certain words only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordRule {
    /// Its name.
    pub member: String,
    /// The words.
    pub words: Vec<String>,
}

/// A member that takes certain values only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueRule {
    /// Path of keys to it.
    pub path: Vec<String>,
    /// The values.
    pub values: Vec<Value>,
}

/// A member whose type matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeRule {
    /// Path of keys to it.
    pub path: Vec<String>,
    /// The type that it must have when it is there.
    pub is: JsonType,
}

/// A type of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JsonType {
    /// An object.
    Object,
    /// An object of texts.
    TextObject,
    /// A list.
    List,
    /// A list of texts.
    TextList,
    /// A text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
}

/// What the host does about a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostEffect {
    /// It ignores that entry.
    IgnoresEntry,
    /// It ignores the whole table of events.
    DropsSection,
    /// It ignores the whole file.
    DropsFile,
    /// It does not start.
    RefusesToStart,
}

/// A problem that the host has with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProblem {
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What the host does about it.
    pub effect: HostEffect,
}
