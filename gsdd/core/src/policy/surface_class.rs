//! The kinds of things of a capability that run.

use crate::trust::Disclosure;

/// One of the five executable classes of a disclosure (decision D-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SurfaceClass {
    /// Scripts that a host runs on its events.
    Hooks,
    /// Servers that a host starts or talks to.
    McpServers,
    /// Command families with code behind them.
    Commands,
    /// A reviewer that receives plans.
    ReviewerLanes,
    /// Gates whose check is a shell command.
    GateCommands,
}

impl SurfaceClass {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::Hooks, Self::McpServers, Self::Commands, Self::ReviewerLanes, Self::GateCommands];

    /// The word of a policy file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::McpServers => "mcp_servers",
            Self::Commands => "commands",
            Self::ReviewerLanes => "reviewer_lanes",
            Self::GateCommands => "gate_commands",
        }
    }

    /// In a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::McpServers => "MCP servers",
            Self::Commands => "commands",
            Self::ReviewerLanes => "reviewer lanes",
            Self::GateCommands => "gates that run a command",
        }
    }

    /// The class of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == word)
    }

    /// Whether a capability with this disclosure has any.
    #[must_use]
    pub fn is_in(self, disclosure: &Disclosure) -> bool {
        match self {
            Self::Hooks => !disclosure.hooks.is_empty(),
            Self::McpServers => !disclosure.servers.is_empty(),
            Self::Commands => !disclosure.modules.is_empty(),
            Self::ReviewerLanes => disclosure.lane.is_some(),
            Self::GateCommands => !disclosure.gate_commands.is_empty(),
        }
    }
}
