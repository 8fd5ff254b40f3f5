//! `capability.json` as a JSON Schema (draft 2020-12), for completion and first checks in editors.
//!
//! The schema never refuses what the rules accept. What it cannot express is listed in
//! [`NOT_IN_SCHEMA`](super::NOT_IN_SCHEMA); a test holds both against the recorded cases.

mod envelope;
mod feature;
mod forms;
mod loop_hooks;
mod reviewer;
mod runtime;

use serde_json::{Map, Value, json};

/// Name of the schema; it is a file, so it has no address of its own.
const ID: &str = "urn:gsdd:capability-manifest:1";

/// The whole schema.
#[must_use]
pub fn schema() -> Value {
    let mut defs = Map::new();
    defs.insert("envelope".to_owned(), envelope::envelope());
    for (name, def) in feature::defs().into_iter().chain(loop_hooks::defs()) {
        defs.insert(name.to_owned(), def);
    }
    for (name, def) in runtime::defs().into_iter().chain(reviewer::defs()) {
        defs.insert(name.to_owned(), def);
    }
    let body = |role: &str, def: &str| {
        json!({
            "if": {"properties": {"role": {"const": role}}, "required": ["role"]},
            "then": {"$ref": format!("#/$defs/{def}")},
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Manifest of a capability (capability.json)",
        "description": "Generated from the rules of gsdd; see manifest-rules.md for each of them.",
        "type": "object",
        "allOf": [
            {"$ref": "#/$defs/envelope"},
            body("feature", "feature"),
            body("runtime", "runtimeCapability"),
            body("reviewer", "reviewerCapability"),
        ],
        "$defs": defs,
    })
}
