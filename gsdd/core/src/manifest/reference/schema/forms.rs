//! The few forms that most members have.

use serde_json::{Map, Value, json};

use crate::ids::RESERVED_PROPERTY_NAMES;

/// A named definition.
pub(super) type Def = (&'static str, Value);

/// A path that stays below its root, on any platform.
pub(super) const INSIDE: &str =
    r"^(?![A-Za-z]:)(?![/\\])(?!\.\.([/\\]|$))(?![\s\S]*[/\\]\.\.([/\\]|$))[^\u0000]+$";

/// Text with at least one character.
pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// Text that may be empty.
pub(super) fn any_text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Text of a shape.
pub(super) fn shaped(pattern: &str, description: &str) -> Value {
    json!({"type": "string", "pattern": pattern, "description": description})
}

/// One of a list of words.
pub(super) fn word(words: &[&str], description: &str) -> Value {
    json!({"enum": words, "description": description})
}

pub(super) fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// A list whose items have one form.
pub(super) fn list(items: &Value, description: &str) -> Value {
    json!({"type": "array", "items": items, "description": description})
}

/// A list of texts that may be empty.
pub(super) fn texts(description: &str) -> Value {
    list(&json!({"type": "string"}), description)
}

/// A list of definitions.
pub(super) fn list_of(def: &str, description: &str) -> Value {
    list(&json!({"$ref": format!("#/$defs/{def}")}), description)
}

/// A definition by name.
pub(super) fn named(def: &str, description: &str) -> Value {
    json!({"$ref": format!("#/$defs/{def}"), "description": description})
}

/// An integer above 0.
pub(super) fn positive(description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": description})
}

/// A member that no rule looks at.
pub(super) fn free(description: &str) -> Value {
    json!({"description": description})
}

pub(super) fn null_or_text(description: &str) -> Value {
    json!({"type": ["string", "null"], "minLength": 1, "description": description})
}

/// None of the reserved property names.
pub(super) fn not_reserved() -> Value {
    json!({"not": {"enum": RESERVED_PROPERTY_NAMES}})
}

/// An object with named members.
pub(super) fn object(
    description: &str,
    required: &[&str],
    members: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let members: Map<String, Value> =
        members.into_iter().map(|(name, form)| (name.to_owned(), form)).collect();
    json!({"type": "object", "description": description, "required": required, "properties": members})
}

/// `form` with one more keyword.
pub(super) fn with(mut form: Value, keyword: &str, value: Value) -> Value {
    if let Some(keywords) = form.as_object_mut() {
        keywords.insert(keyword.to_owned(), value);
    }
    form
}

/// The members of `keys` must not be there, not even with null.
pub(super) fn forbidden(keys: &[&str]) -> Value {
    let members: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), Value::Bool(false))).collect();
    json!({ "properties": members })
}

/// `then` holds when the member `key` is `value`.
pub(super) fn when(key: &str, value: &str, then: &Value) -> Value {
    json!({"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then})
}
