//! The descriptor of a host.

use serde_json::{Value, json};

use super::forms::{
    Def, INSIDE, any_text, boolean, forbidden, free, list, list_of, named, object, text, texts, when, with,
    word,
};
use crate::ids::RESERVED_PROPERTY_NAMES;
use crate::manifest::host_integration::{AXES, EFFORT_SURFACES, ISOLATIONS, SUBAGENT_TOOLKITS};
use crate::manifest::vocabulary as words;

/// The definitions of a runtime capability.
pub(super) fn defs() -> Vec<Def> {
    vec![
        ("runtimeCapability", capability()),
        ("runtime", runtime()),
        ("configHome", config_home()),
        ("layoutEntry", layout_entry()),
        ("hostIntegration", host_integration()),
        ("dispatch", dispatch()),
        ("orchestratorExec", orchestrator_exec()),
    ]
}

fn capability() -> Value {
    let body = object(
        "Members of a runtime capability.",
        &["runtime"],
        [
            ("runtime", named("runtime", "The descriptor.")),
            ("reviewer", named("reviewer", "A lane, when the host can review.")),
            ("config", named("config", "Its settings, by dotted key.")),
        ],
    );
    with(body, "allOf", json!([forbidden(words::FEATURE_ONLY)]))
}

fn runtime() -> Value {
    let surfaces: Vec<&str> = words::INSTALL_SURFACES.iter().map(|surface| surface.word).collect();
    let writers: Vec<Value> = std::iter::once(Value::Null)
        .chain(words::PERMISSION_WRITERS.iter().map(|word| json!(word)))
        .collect();
    let events: Vec<&str> = words::CLAUDE_EVENTS.iter().chain(words::GEMINI_EVENTS).copied().collect();
    let layout = object(
        "What is written where.",
        &["global", "local"],
        [
            ("global", list_of("layoutEntry", "For all sessions of the person.")),
            (
                "local",
                list(
                    &json!({"allOf": [{"$ref": "#/$defs/layoutEntry"}, forbidden(&["home"])]}),
                    "For one project.",
                ),
            ),
        ],
    );
    let body = object(
        "The descriptor of a host: twelve axes, and later ones that are optional.",
        &[
            "configHome",
            "configFormat",
            "artifactLayout",
            "commandStyle",
            "hooksSurface",
            "sandboxTier",
            "supportTier",
            "installSurface",
            "writesSharedSettings",
            "permissionWriter",
            "extendedHookEvents",
        ],
        [
            ("configHome", named("configHome", "Where its configuration is.")),
            ("configFormat", word(words::CONFIG_FORMATS, "Format of its configuration.")),
            ("artifactLayout", layout),
            ("commandStyle", word(words::COMMAND_STYLES, "How commands are spelt.")),
            ("hooksSurface", word(words::HOOKS_SURFACES, "Where hooks are registered.")),
            ("hookEvents", word(words::HOOK_EVENTS, "Vocabulary of hook events.")),
            ("extensionEvents", word(words::EXTENSION_EVENTS, "Vocabulary of extension events.")),
            ("sandboxTier", word(words::SANDBOX_TIERS, "Sandbox of its agents.")),
            ("supportTier", json!({"enum": [1, 2], "description": "How well it is supported."})),
            ("installSurface", word(&surfaces, "What an installation writes.")),
            ("writesSharedSettings", boolean("Whether it writes a settings file that others use too.")),
            ("permissionWriter", json!({"enum": writers, "description": "Writer of its permission file."})),
            ("extendedHookEvents", list(&word(&events, "An event."), "Events beyond the common ones.")),
            ("localConfigDir", free("Its folder in a project, a name that begins with a dot.")),
            ("hostIntegration", named("hostIntegration", "How it embeds the loop.")),
            ("orchestratorExec", named("orchestratorExec", "How it is started for a prompt.")),
            ("harnessIsolationFlag", text("Flag for an isolated session.")),
            (
                "hostBehaviors",
                with(
                    free("What upstream's installer does for this host."),
                    "additionalProperties",
                    json!(true),
                ),
            ),
            (
                "projection",
                with(
                    free("Where the host reads skills, agents, commands, hooks and servers."),
                    "additionalProperties",
                    json!(true),
                ),
            ),
        ],
    );
    let mut rules = pairings();
    rules.push(events_of("gemini", words::GEMINI_EVENTS));
    rules.push(events_of("claude", words::CLAUDE_EVENTS));
    rules.push(local_config_dir());
    with(body, "allOf", json!(rules))
}

/// Which hook surface and which config format go with an install surface.
fn pairings() -> Vec<Value> {
    let rule = |surface: &words::InstallSurface| {
        let fits = json!({"properties": {
            "hooksSurface": {"enum": surface.hooks_surfaces},
            "configFormat": {"const": surface.config_format},
        }});
        when("installSurface", surface.word, &fits)
    };
    words::INSTALL_SURFACES.iter().map(rule).collect()
}

fn events_of(vocabulary: &str, events: &[&str]) -> Value {
    json!({
        "if": {
            "required": ["extendedHookEvents"],
            "properties": {"extendedHookEvents": {"type": "array", "contains": {"enum": events}}},
        },
        "then": {"required": ["hookEvents"], "properties": {"hookEvents": {"const": vocabulary}}},
    })
}

fn local_config_dir() -> Value {
    let plain = r"^\.(?!\.?([/\\]|$))[^/\\\u0000]*([/\\](?!\.{0,2}([/\\]|$))[^/\\\u0000]+)*$";
    json!({
        "if": {
            "required": ["configHome"],
            "properties": {"configHome": {
                "type": "object", "required": ["kind"], "properties": {"kind": {"const": "none"}},
            }},
        },
        "then": {"properties": {"localConfigDir": {"type": "null"}}},
        "else": {"properties": {"localConfigDir": {"type": "string", "pattern": plain}}},
    })
}

fn config_home() -> Value {
    let body = object(
        "A folder of configuration.",
        &["kind", "env"],
        [
            ("kind", word(words::CONFIG_HOME_KINDS, "How the folder is found.")),
            ("name", free("Name of the folder.")),
            ("parent", free("Folder around it.")),
            ("env", texts("Variables that name the folder.")),
            ("probe", texts("Paths that are looked for.")),
            ("probeExists", text("Path whose existence decides.")),
            ("skillsHome", named("configHome", "Folder of skills, when it is another one.")),
        ],
    );
    let confined = json!({"type": "string", "pattern": INSIDE});
    let named_home = json!({"required": ["name"], "properties": {"name": confined}});
    let nested = json!({"required": ["parent"], "properties": {"parent": confined}});
    with(
        body,
        "allOf",
        json!([
            {
                "if": {"properties": {"kind": {"const": "none"}}, "required": ["kind"]},
                "then": {"properties": {"name": {"type": "string", "minLength": 1}}},
                "else": named_home,
            },
            when("kind", "dot-home-nested", &nested),
        ]),
    )
}

fn layout_entry() -> Value {
    let converters: Vec<Value> =
        std::iter::once(Value::Null).chain(words::converters().into_iter().map(Value::from)).collect();
    object(
        "One kind of artifact and where it goes.",
        &["kind", "destSubpath", "nesting", "prefix"],
        [
            ("kind", word(words::LAYOUT_KINDS, "Kind of artifact.")),
            ("destSubpath", text("Folder below the configuration folder.")),
            ("prefix", any_text("In front of each name; may be empty.")),
            ("nesting", word(words::LAYOUT_NESTING, "Whether folders stay folders.")),
            ("recursive", boolean("Whether folders below are taken too.")),
            ("converter", json!({"enum": converters, "description": "How a file is converted."})),
            ("stage", free("Stage of the design record; nothing reads it.")),
            ("home", any_text("Folder below the home folder, instead of the configuration folder.")),
        ],
    )
}

fn without_reserved_keys(body: Value) -> Value {
    with(body, "propertyNames", json!({"not": {"enum": RESERVED_PROPERTY_NAMES}}))
}

fn host_integration() -> Value {
    let mut required: Vec<&str> = AXES.iter().map(|axis| axis.key).collect();
    required.push("dispatch");
    let mut members: Vec<(&'static str, Value)> =
        AXES.iter().map(|axis| (axis.key, word(axis.words, "How the host does it."))).collect();
    members.push(("effortSurface", word(EFFORT_SURFACES, "How effort is set.")));
    members.push(("dispatch", named("dispatch", "How it starts agents.")));
    without_reserved_keys(object("How the host embeds the loop.", &required, members))
}

fn dispatch() -> Value {
    let switch = || json!({"enum": [true, false, "undocumented"]});
    let depth = json!({"anyOf": [{"type": "integer", "minimum": -1}, {"const": "undocumented"}]});
    without_reserved_keys(object(
        "How the host starts agents.",
        &["namedDispatch", "nested", "background", "backgroundDispatch", "subagentToolkit", "maxDepth"],
        [
            ("namedDispatch", switch()),
            ("nested", switch()),
            ("background", switch()),
            ("backgroundDispatch", switch()),
            ("subagentToolkit", word(SUBAGENT_TOOLKITS, "Tools of an agent.")),
            ("maxDepth", depth),
            ("isolation", word(ISOLATIONS, "Isolation of an agent.")),
            ("builtInSubagents", free("Agents that the host brings.")),
        ],
    ))
}

fn orchestrator_exec() -> Value {
    let command = with(text("The program."), "not", json!({"enum": RESERVED_PROPERTY_NAMES}));
    let flag = json!({"type": ["string", "null"]});
    without_reserved_keys(object(
        "How the host is started for a prompt.",
        &["command"],
        [
            ("command", command),
            ("args", texts("Its arguments.")),
            ("cwdFlag", flag.clone()),
            ("promptFlag", flag),
        ],
    ))
}
