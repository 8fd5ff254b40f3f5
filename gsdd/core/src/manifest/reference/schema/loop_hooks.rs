//! What a feature adds to the loop.

use serde_json::{Value, json};

use super::feature::key_of_config;
use super::forms::{Def, INSIDE, any_text, boolean, forbidden, free, named, object, text, texts, with, word};
use crate::manifest::loop_hooks::MAX_PREDICATE_COMMAND;
use crate::manifest::vocabulary::ON_ERROR;
use crate::registry::{HostContract, LoopPoint};

/// The definitions of loop hooks.
pub(super) fn defs() -> Vec<Def> {
    vec![
        ("point", point()),
        ("step", step()),
        ("reference", reference()),
        ("contribution", contribution()),
        ("gate", gate()),
        ("check", check()),
        ("predicate", predicate()),
        ("fragment", fragment()),
    ]
}

fn point() -> Value {
    word(&LoopPoint::ALL.map(LoopPoint::as_str), "Point of the loop.")
}

/// The owner of an entry is never written by its author.
fn owned(body: Value) -> Value {
    with(body, "allOf", json!([forbidden(&["capId"])]))
}

fn step() -> Value {
    owned(object(
        "Work of its own at a point of the loop.",
        &["point", "ref", "produces", "consumes", "onError"],
        [
            ("point", named("point", "Point of the loop.")),
            ("ref", named("reference", "What is run.")),
            ("produces", texts("Artifacts that it makes.")),
            ("consumes", texts("Artifacts that it needs; they decide the order.")),
            ("onError", word(ON_ERROR, "Whether the loop goes on when it fails.")),
            ("when", key_of_config()),
            ("fragment", named("fragment", "Text for the agent.")),
        ],
    ))
}

fn reference() -> Value {
    let skill = with(any_text("One of its own skills."), "not", json!({"pattern": "^gsd-"}));
    let body = object(
        "What a step runs: exactly one of the three.",
        &[],
        [
            ("skill", skill),
            ("agent", any_text("One of its own agents.")),
            ("command", any_text("A command.")),
        ],
    );
    with(body, "oneOf", json!([{"required": ["skill"]}, {"required": ["agent"]}, {"required": ["command"]}]))
}

fn contribution() -> Value {
    let contract = HostContract::builtin();
    let into = LoopPoint::ALL.map(|point| {
        let roles = json!({"properties": {"into": {"enum": contract.roles_at(point)}}});
        super::forms::when("point", point.as_str(), &roles)
    });
    let body = object(
        "Text for an agent of the loop.",
        &["point", "into", "produces", "consumes", "fragment"],
        [
            ("point", named("point", "Point of the loop.")),
            ("into", any_text("Role of the agent.")),
            ("produces", texts("Artifacts that it makes; for the order only.")),
            ("consumes", texts("Artifacts that it needs; for the order only.")),
            ("fragment", named("fragment", "The text.")),
            ("onError", word(ON_ERROR, "Whether the loop goes on when it fails.")),
            ("when", key_of_config()),
            (
                "configValues",
                with(
                    free("Alias and config key: values that the text may use."),
                    "additionalProperties",
                    json!(true),
                ),
            ),
        ],
    );
    let mut rules = vec![forbidden(&["capId"])];
    rules.extend(into);
    with(body, "allOf", json!(rules))
}

fn gate() -> Value {
    let body = object(
        "A condition that can stop the loop.",
        &["point", "check", "blocking", "onError"],
        [
            ("point", named("point", "Point of the loop.")),
            ("check", named("check", "What is checked.")),
            (
                "blocking",
                boolean("Whether a failed check stops the loop; an opinion of an agent never does."),
            ),
            ("onError", word(ON_ERROR, "What happens when the check cannot run.")),
            ("when", key_of_config()),
        ],
    );
    let advisory = json!({
        "if": {"required": ["check"], "properties": {"check": {"type": "object", "required": ["agentVerdict"]}}},
        "then": {"properties": {"blocking": {"const": false}}},
    });
    with(body, "allOf", json!([forbidden(&["capId"]), advisory]))
}

fn check() -> Value {
    let body = object(
        "Exactly one of the three.",
        &[],
        [
            ("query", text("A query of the host, by name.")),
            ("predicate", named("predicate", "A condition that is evaluated.")),
            (
                "agentVerdict",
                with(
                    free("The opinion of an agent: `ref` and `prompt`."),
                    "additionalProperties",
                    json!(true),
                ),
            ),
        ],
    );
    with(
        body,
        "oneOf",
        json!([{"required": ["query"]}, {"required": ["predicate"]}, {"required": ["agentVerdict"]}]),
    )
}

fn predicate() -> Value {
    let command = with(
        text("Shell command from the project root; 0 passes. It runs on the person's machine."),
        "maxLength",
        json!(MAX_PREDICATE_COMMAND),
    );
    let run = json!({
        "required": ["command"],
        "properties": {"command": command, "timeout": {"type": "number", "exclusiveMinimum": 0}},
    });
    let front_matter = json!({
        "required": ["artifact", "field", "equals"],
        "properties": {"artifact": text("File name or suffix."), "field": text("Field of the front matter.")},
    });
    let kinds = ["command-exit-zero", "artifact-frontmatter-equals"];
    let body = object(
        "A condition that is evaluated.",
        &["kind"],
        [
            ("kind", word(&kinds, "Kind of condition.")),
            ("command", free("Shell command.")),
            ("timeout", free("Seconds that the command may take.")),
            ("artifact", free("File name or suffix.")),
            ("field", free("Field of the front matter.")),
            ("equals", free("Value that it must have.")),
        ],
    );
    with(
        body,
        "allOf",
        json!([
            super::forms::when("kind", "command-exit-zero", &run),
            super::forms::when("kind", "artifact-frontmatter-equals", &front_matter),
        ]),
    )
}

fn fragment() -> Value {
    let body = object(
        "A text: a file of the bundle, or the text itself, which wins.",
        &[],
        [
            (
                "path",
                json!({"type": "string", "pattern": INSIDE, "description": "File of the bundle, relative, without `..`."}),
            ),
            ("inline", text("The text itself.")),
        ],
    );
    with(body, "anyOf", json!([{"required": ["path"]}, {"required": ["inline"]}]))
}
