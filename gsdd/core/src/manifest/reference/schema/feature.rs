//! The body of a feature.

use serde_json::{Value, json};

use super::envelope::ID;
use super::forms::{
    Def, any_text, forbidden, free, list, list_of, named, not_reserved, object, shaped, text, with, word,
};
use crate::manifest::vocabulary::SLICE_TYPES;

/// A path below the bundle: plain characters, not absolute, no `..`, no segment that begins with a hyphen.
const BUNDLE_PATH: &str = r"^(?!/)(?!-)(?!.*/-)(?!\.\.(/|$))(?!.*/\.\.(/|$))[A-Za-z0-9._/-]+$";
/// The part of a name's shape that a pattern can say.
const STEM: &str =
    r#"^(?![.\- ])[^/\\:*?"<>|\u0000-\u001f\u007f-\u009f]*[^/\\:*?"<>|\u0000-\u001f\u007f-\u009f. ]$"#;

/// The definitions of a feature.
pub(super) fn defs() -> Vec<Def> {
    vec![
        ("feature", feature()),
        ("stem", stem()),
        ("runtimeCompat", runtime_compat()),
        ("command", command()),
        ("hook", hook()),
        ("config", config()),
        ("slice", slice()),
    ]
}

fn feature() -> Value {
    let body = object(
        "Members of a feature.",
        &["runtimeCompat", "skills", "agents", "config", "steps", "contributions", "gates"],
        [
            ("runtimeCompat", named("runtimeCompat", "Hosts it works on.")),
            ("skills", list_of("stem", "Names of its skills; the text of each is `skills/<name>/SKILL.md`.")),
            ("agents", list_of("stem", "Names of its agents; the text of each is `agents/<name>.md`.")),
            ("commands", list_of("command", "Command families that it answers.")),
            ("hooks", list_of("hook", "Scripts that a host runs on its events.")),
            ("config", named("config", "Its settings, by dotted key.")),
            (
                "activationKey",
                with(
                    text("Key of its own `config` that switches the whole capability."),
                    "not",
                    json!({"enum": crate::ids::RESERVED_PROPERTY_NAMES}),
                ),
            ),
            ("steps", list_of("step", "Work of its own at points of the loop.")),
            ("contributions", list_of("contribution", "Text for agents of the loop.")),
            ("gates", list_of("gate", "Conditions that can stop the loop.")),
        ],
    );
    with(body, "allOf", json!([forbidden(&["reviewer"])]))
}

fn stem() -> Value {
    let form = shaped(STEM, "A name that can be the name of a file on every platform.");
    with(with(form, "maxLength", json!(128)), "allOf", json!([not_reserved()]))
}

fn runtime_compat() -> Value {
    let id = json!({"type": "string", "pattern": ID, "allOf": [not_reserved()]});
    let all = json!({"const": ["*"]});
    let supported = json!({
        "description": "Ids of hosts, or `[\"*\"]` for every host.",
        "type": "array",
        "minItems": 1,
        "anyOf": [all, {"items": id}],
    });
    let notes = json!({
        "type": "object",
        "description": "Remarks by host, or under `*`.",
        "propertyNames": {"pattern": r"^(\*|[a-z][a-z0-9-]*)$"},
        "additionalProperties": text("The remark."),
    });
    object(
        "Hosts that it works on.",
        &["supported", "unsupported"],
        [
            ("supported", supported),
            ("unsupported", list(&id, "Ids of hosts that it does not work on; `[]` when there are none.")),
            ("notes", notes),
        ],
    )
}

fn command() -> Value {
    let family = with(
        shaped("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "Top-level command word."),
        "not",
        json!({"enum": crate::ids::RESERVED_PROPERTY_NAMES}),
    );
    let module = shaped(r"^[A-Za-z0-9._-]+\.cjs$", "File at the root of the bundle that exports the router.");
    let body = object(
        "A family of commands. Its code is a module with a router, or an executable file.",
        &["family"],
        [
            ("family", family),
            ("module", free("File at the root of the bundle that exports the router.")),
            ("router", free("Function that the module exports.")),
            ("exec", free("Executable file of the bundle, instead of a module and its router.")),
            ("subcommands", list(&text("A word."), "Documented subcommands.")),
        ],
    );
    let by_exec = json!({
        "required": ["exec"],
        "properties": {"exec": shaped(BUNDLE_PATH, "Path below the bundle."), "module": false, "router": false},
    });
    let by_module = json!({
        "required": ["module", "router"],
        "properties": {"module": module, "router": text("Function that the module exports.")},
    });
    with(body, "allOf", json!([{"if": {"required": ["exec"]}, "then": by_exec, "else": by_module}]))
}

fn hook() -> Value {
    object(
        "A script that a host runs on an event.",
        &["event", "script"],
        [
            ("event", text("Event, for example `PreToolUse`.")),
            ("script", shaped(BUNDLE_PATH, "Path below the bundle.")),
            (
                "matcher",
                shaped(
                    r"^[^\u0000-\u001f\u007f]+$",
                    "To which tools it applies: a name, `A|B`, a pattern. Absent: all.",
                ),
            ),
        ],
    )
}

fn config() -> Value {
    json!({
        "type": "object",
        "description": "Settings by dotted key.",
        "propertyNames": {
            "minLength": 1,
            "maxLength": 256,
            "not": {"pattern": r"(^|\.)(__proto__|constructor|prototype)(\.|$)"},
        },
        "additionalProperties": {"$ref": "#/$defs/slice"},
    })
}

fn slice() -> Value {
    let default = |kind: &str| json!({"properties": {"default": {"type": kind}}});
    let values = json!({
        "required": ["values"],
        "properties": {
            "default": {"type": "string"},
            "values": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        },
    });
    let body = object(
        "One setting.",
        &["type", "default", "description"],
        [
            ("type", word(SLICE_TYPES, "Kind of the value.")),
            ("default", free("Value when the person sets none; of the declared kind.")),
            ("values", free("Words of an `enum`.")),
            ("description", text("What the person decides with it.")),
        ],
    );
    with(
        body,
        "allOf",
        json!([
            super::forms::when("type", "boolean", &default("boolean")),
            super::forms::when("type", "string", &default("string")),
            super::forms::when("type", "number", &default("number")),
            super::forms::when("type", "enum", &values),
        ]),
    )
}

/// Text that may be empty, for members of other bodies.
pub(super) fn key_of_config() -> Value {
    any_text("Key of its own `config` that switches it.")
}
