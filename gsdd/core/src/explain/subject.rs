//! What is asked about.

/// Kinds of things that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectKind {
    /// A capability, by id.
    Capability,
    /// A skill.
    Skill,
    /// An agent.
    Agent,
    /// A config key.
    Key,
    /// A command family.
    Family,
    /// An event of a host.
    Hook,
    /// An MCP server.
    Mcp,
    /// A point of the loop.
    Point,
}

impl SubjectKind {
    /// Every kind, in the order in which answers are given.
    pub const ALL: [Self; 8] = [
        Self::Capability,
        Self::Skill,
        Self::Agent,
        Self::Key,
        Self::Family,
        Self::Hook,
        Self::Mcp,
        Self::Point,
    ];

    /// The prefix that selects it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Capability => "capability",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Key => "key",
            Self::Family => "family",
            Self::Hook => "hook",
            Self::Mcp => "mcp",
            Self::Point => "point",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Capability => "capability",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Key => "config key",
            Self::Family => "command family",
            Self::Hook => "hook event",
            Self::Mcp => "MCP server",
            Self::Point => "loop point",
        }
    }
}

/// A name, and the kind of thing when it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind; absent: whatever has the name.
    pub kind: Option<SubjectKind>,
    /// The name.
    pub name: String,
}

impl Subject {
    /// Reads `skill:x`, or a bare name. A word before the first colon that is no kind belongs to the name.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        let kind_of = |word: &str| SubjectKind::ALL.into_iter().find(|kind| kind.word() == word);
        match raw.split_once(':').and_then(|(word, name)| Some((kind_of(word)?, name))) {
            Some((kind, name)) => Self { kind: Some(kind), name: name.to_owned() },
            None => Self { kind: None, name: raw.to_owned() },
        }
    }
}
