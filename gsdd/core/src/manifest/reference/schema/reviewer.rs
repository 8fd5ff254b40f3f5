//! A reviewer lane.

use serde_json::{Map, Value, json};

use super::forms::{
    Def, forbidden, free, list, named, null_or_text, object, positive, shaped, text, texts, when, with, word,
};
use crate::ids::RESERVED_PROPERTY_NAMES;
use crate::manifest::reviewer_lane::{HANDLERS, HTTP_KEYS, PROBE_KINDS, SPAWN_KEYS, TRANSPORTS};
use crate::manifest::vocabulary::FEATURE_ONLY;

/// The definitions of a reviewer.
pub(super) fn defs() -> Vec<Def> {
    vec![("reviewerCapability", capability()), ("reviewer", lane()), ("probe", probe()), ("invoke", invoke())]
}

fn capability() -> Value {
    let body = object(
        "Members of a reviewer capability.",
        &["reviewer"],
        [
            ("reviewer", named("reviewer", "The lane.")),
            ("config", named("config", "Its settings, by dotted key.")),
        ],
    );
    let mut not_here: Vec<&str> = FEATURE_ONLY.to_vec();
    not_here.push("runtime");
    with(body, "allOf", json!([forbidden(&not_here)]))
}

fn lane() -> Value {
    let slug = with(
        shaped("^[a-z0-9][a-z0-9_-]*$", "Short name of the lane."),
        "not",
        json!({"enum": RESERVED_PROPERTY_NAMES}),
    );
    let flags = json!({
        "type": "array",
        "minItems": 1,
        "uniqueItems": true,
        "items": {"type": "string", "pattern": "^--[a-z0-9][a-z0-9-]*$"},
        "description": "Flags that select the lane.",
    });
    let handlers: Vec<Value> =
        std::iter::once(Value::Null).chain(HANDLERS.iter().map(|word| json!(word))).collect();
    let body = object(
        "A program or service that gives a second opinion.",
        &[
            "slug",
            "flags",
            "transport",
            "probe",
            "invoke",
            "timeoutFloorMs",
            "emptyOutput",
            "reviewsSection",
            "evidenceClass",
            "requiresBinaries",
            "promptBudgetKey",
            "handler",
        ],
        [
            ("slug", slug),
            ("flags", flags),
            ("transport", word(TRANSPORTS, "A program that is started, or a service that is asked.")),
            ("probe", named("probe", "How to find out whether it is there.")),
            ("invoke", named("invoke", "How it is asked.")),
            ("timeoutFloorMs", positive("Least time it is given, in milliseconds.")),
            ("emptyOutput", word(&["stub-with-stderr", "handler-owned"], "What an empty answer means.")),
            (
                "reviewsSection",
                shaped(r"^[^\n\r\u2028\u2029]+$", "Heading of its part of the review: one line."),
            ),
            ("evidenceClass", word(&["source-grounded", "diff-only"], "What it can see.")),
            ("requiresBinaries", list(&text("A program."), "Programs it needs.")),
            ("promptBudgetKey", null_or_text("Config key of its budget, or null.")),
            ("handler", json!({"enum": handlers, "description": "Built-in handler, or null."})),
            ("modelConfigKey", null_or_text("Config key of its model, or null.")),
        ],
    );
    let by_transport = json!([
        {"if": transport("spawn"), "then": {"properties": {"invoke": spawn()}}},
        {"if": transport("openai-http"), "then": {"properties": {"invoke": http()}}},
    ]);
    with(with(body, "allOf", by_transport), "additionalProperties", json!(true))
}

fn transport(word: &str) -> Value {
    json!({"required": ["transport"], "properties": {"transport": {"const": word}}})
}

fn probe() -> Value {
    let body = object(
        "How to find out whether the lane is there.",
        &["kind"],
        [
            ("kind", word(PROBE_KINDS, "Kind of probe.")),
            ("binary", free("Program to look for.")),
            ("needle", free("Text that its help must have.")),
            ("hostConfigKey", free("Config key of the service's address.")),
            ("path", free("Path that is asked.")),
            ("timeoutMs", free("Longest wait, in milliseconds.")),
        ],
    );
    let of = |kind: &str, required: &[(&str, Value)], forbidden_keys: &[&str]| {
        let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
        let mut members: Map<String, Value> =
            required.iter().map(|(name, form)| ((*name).to_owned(), form.clone())).collect();
        members.extend(forbidden_keys.iter().map(|key| ((*key).to_owned(), json!(false))));
        when("kind", kind, &json!({"required": names, "properties": members}))
    };
    let (word, wait) = (text("Text."), positive("Milliseconds."));
    let kinds = json!([
        of("command-exists", &[("binary", word.clone())], &["needle", "hostConfigKey", "path", "timeoutMs"]),
        of(
            "command-capability",
            &[("binary", word.clone()), ("needle", word.clone()), ("timeoutMs", wait.clone())],
            &["hostConfigKey", "path"],
        ),
        of(
            "http-reachable",
            &[("hostConfigKey", word.clone()), ("path", word), ("timeoutMs", wait)],
            &["binary", "needle"],
        ),
    ]);
    let tolerated = json!({"^(__proto__|constructor|prototype)$": true});
    with(
        with(with(body, "allOf", kinds), "patternProperties", tolerated),
        "additionalProperties",
        json!(false),
    )
}

/// Every member of both transports; which ones must or must not be there depends on the lane.
fn invoke() -> Value {
    let body = object(
        "How the lane is asked.",
        &[],
        [
            ("binary", free("Program to start.")),
            (
                "args",
                free("Its arguments; `{{model}}`, `{{effort}}`, `{{output}}`, `{{prompt}}` are filled in."),
            ),
            ("promptChannel", free("How the prompt reaches it.")),
            ("outputChannel", free("Where its answer is.")),
            ("outputArg", free("Argument that names the file of its answer.")),
            ("modelArg", free("Argument that names the model, or null.")),
            ("hostConfigKey", free("Config key of the service's address.")),
            ("path", free("Path that is asked.")),
            ("modelDiscovery", free("How the model is found.")),
            ("defaultHost", free("Address when none is set.")),
            ("fallbackModel", free("Model when none is found.")),
            ("effortChannel", free("How effort is set.")),
        ],
    );
    let any = |keys: &[&str]| json!({"anyOf": keys.iter().map(|key| json!({"required": [key]})).collect::<Vec<_>>()});
    with(body, "not", json!({"allOf": [any(SPAWN_KEYS), any(HTTP_KEYS)]}))
}

fn spawn() -> Value {
    let body = object(
        "How a program is started.",
        &["binary", "args", "promptChannel", "outputChannel", "modelArg", "effortChannel"],
        [
            ("binary", text("Program to start.")),
            ("args", texts("Its arguments.")),
            (
                "promptChannel",
                word(&["stdin", "argv", "argv-file-ref", "none"], "How the prompt reaches it."),
            ),
            ("outputChannel", word(&["stdout", "file-arg"], "Where its answer is.")),
            ("modelArg", null_or_text("Argument that names the model, or null.")),
            ("effortChannel", word(&["none", "argv", "env"], "How effort is set.")),
        ],
    );
    let file =
        json!({"required": ["outputArg"], "properties": {"outputArg": {"type": "string", "minLength": 1}}});
    with(
        body,
        "allOf",
        json!([
            forbidden(HTTP_KEYS),
            when("outputChannel", "file-arg", &file),
            when("outputChannel", "stdout", &forbidden(&["outputArg"])),
        ]),
    )
}

fn http() -> Value {
    let body = object(
        "How a service is asked.",
        &["hostConfigKey", "path", "modelDiscovery", "effortChannel"],
        [
            ("hostConfigKey", text("Config key of its address.")),
            ("path", text("Path that is asked.")),
            ("modelDiscovery", word(&["none", "first-from-models-endpoint"], "How the model is found.")),
            ("effortChannel", word(&["none"], "Effort is not set.")),
        ],
    );
    with(body, "allOf", json!([forbidden(SPAWN_KEYS)]))
}
