//! Closed lists of words, as the rules know them.

/// Roles of a capability.
pub(super) const ROLES: &[&str] = &["feature", "runtime", "reviewer"];
/// Tiers, from the lowest.
pub(super) const TIERS: &[&str] = &["core", "standard", "full"];
/// What happens when a hook fails.
pub(super) const ON_ERROR: &[&str] = &["skip", "halt"];
/// Kinds of values of a config slice.
pub(super) const SLICE_TYPES: &[&str] = &["boolean", "string", "number", "enum"];
/// Fields that only a feature has.
pub(super) const FEATURE_ONLY: &[&str] =
    &["skills", "agents", "steps", "contributions", "gates", "hooks", "activationKey"];

/// Kinds of config homes (ADR-1016 D1).
pub(super) const CONFIG_HOME_KINDS: &[&str] =
    &["dot-home", "dot-home-nested", "xdg", "generic-agents-root", "none"];
/// Config formats (ADR-1016 D2).
pub(super) const CONFIG_FORMATS: &[&str] = &["settings-json", "toml", "markdown", "markdown-dir", "none"];
/// Kinds of artifact layouts (ADR-1016 D3).
pub(super) const LAYOUT_KINDS: &[&str] = &["commands", "agents", "skills", "kimi-agents"];
/// Nesting of artifact layouts (ADR-1016 D3).
pub(super) const LAYOUT_NESTING: &[&str] = &["flat", "nested"];
/// Styles of commands (ADR-1016 D4).
pub(super) const COMMAND_STYLES: &[&str] = &["slash-hyphen", "shell-var"];
/// Hook surfaces (ADR-1016 D5).
pub(super) const HOOKS_SURFACES: &[&str] = &[
    "settings-json",
    "codex-hooks-json",
    "cursor-hooks-json",
    "copilot-inline",
    "cline-rules",
    "kimi-hooks-toml",
    "windsurf-hooks-json",
    "none",
];
/// Vocabularies of hook events (ADR-1016 D5).
pub(super) const HOOK_EVENTS: &[&str] = &["claude", "gemini", "opencode-subset"];
/// Vocabularies of extension events.
pub(super) const EXTENSION_EVENTS: &[&str] = &["opencode", "pi", "hermes", "kilo", "none"];
/// Sandbox tiers (ADR-1016 D6).
pub(super) const SANDBOX_TIERS: &[&str] = &["none", "codex-agent-sandbox"];
/// Writers of permission files (ADR-1016 D7a).
pub(super) const PERMISSION_WRITERS: &[&str] = &["opencode", "kilo", "antigravity"];
/// Extended events that belong to the Gemini vocabulary (ADR-1016 D7a).
pub(super) const GEMINI_EVENTS: &[&str] = &["BeforeAgent", "AfterAgent", "BeforeModel"];
/// Extended events that belong to the Claude vocabulary (ADR-1016 D7a).
pub(super) const CLAUDE_EVENTS: &[&str] =
    &["SubagentStop", "Stop", "PreCompact", "FileChanged", "SubagentStart"];

/// An install surface (ADR-1016 D7a) with what belongs to it.
pub(super) struct InstallSurface {
    /// Its word.
    pub(super) word: &'static str,
    /// Hook surfaces that go with it.
    pub(super) hooks_surfaces: &'static [&'static str],
    /// The config format that goes with it.
    pub(super) config_format: &'static str,
}

const fn surface(
    word: &'static str,
    hooks_surfaces: &'static [&'static str],
    config_format: &'static str,
) -> InstallSurface {
    InstallSurface { word, hooks_surfaces, config_format }
}

/// Install surfaces with their pairings.
pub(super) const INSTALL_SURFACES: &[InstallSurface] = &[
    surface("settings-json", &["settings-json", "none"], "settings-json"),
    surface("codex-toml", &["codex-hooks-json"], "toml"),
    surface("copilot-instructions", &["copilot-inline"], "markdown"),
    surface("cline-rules", &["cline-rules"], "markdown-dir"),
    surface("cursor-hooks-json", &["cursor-hooks-json"], "none"),
    surface("profile-marker-only", &["none", "kimi-hooks-toml", "windsurf-hooks-json"], "none"),
    surface("none", &["none"], "none"),
];

/// Names of converters, without the part that all of a group share (ADR-1016 D3).
const COMMAND_CONVERTERS: &[&str] = &[
    "AntigravitySkill",
    "AugmentSkill",
    "ClineSkill",
    "ClaudeSkill",
    "CodebuddyCommand",
    "CodebuddySkill",
    "CodexSkill",
    "CopilotSkill",
    "CursorSkill",
    "KiloSkill",
    "KimiSkill",
    "KimiCodeSkill",
    "OpencodeSkill",
    "TraeSkill",
    "WindsurfSkill",
    "WindsurfWorkflow",
    "GeminiToml",
];
const AGENT_CONVERTERS: &[&str] = &[
    "CopilotAgent",
    "AntigravityAgent",
    "CursorAgent",
    "WindsurfAgent",
    "AugmentAgent",
    "TraeAgent",
    "CodebuddyAgent",
    "ClineAgent",
    "CodexAgent",
    "QwenAgent",
];

/// Every known converter (ADR-1016 D3).
pub(super) fn converters() -> Vec<String> {
    let named = |prefix: &str, list: &[&str]| {
        list.iter().map(|name| format!("{prefix}{name}")).collect::<Vec<String>>()
    };
    let mut all = named("convertClaudeCommandTo", COMMAND_CONVERTERS);
    all.extend(named("convertClaudeAgentTo", AGENT_CONVERTERS));
    all
}

/// Whether `name` is a known converter (ADR-1016 D3).
pub(super) fn is_converter(name: &str) -> bool {
    let known =
        |prefix: &str, list: &[&str]| name.strip_prefix(prefix).is_some_and(|rest| list.contains(&rest));
    known("convertClaudeCommandTo", COMMAND_CONVERTERS) || known("convertClaudeAgentTo", AGENT_CONVERTERS)
}
