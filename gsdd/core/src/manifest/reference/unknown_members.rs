//! Members that nothing reads: probably misspelt.
//!
//! The schema is the list of what is read, so the two cannot drift apart. Bodies that are open by design have
//! `additionalProperties` in the schema and are left alone, as are those whose unknown members are a rule.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::schema::schema;
use crate::json::push_token;
use crate::manifest::{Problem, RuleId};
use crate::text::shown_up_to;

/// Most members that are reported.
const MAX_REPORTED: usize = 100;

/// Built once: it is a thousand times the size of an answer.
static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// The members of a manifest that nothing reads; empty when its role is not known.
#[must_use]
pub fn unknown_members(manifest: &Value) -> Vec<Problem> {
    let body = match manifest.get("role").and_then(Value::as_str) {
        Some("feature") => "feature",
        Some("runtime") => "runtimeCapability",
        Some("reviewer") => "reviewerCapability",
        _ => return Vec::new(),
    };
    let schema = &*SCHEMA;
    let definition = |name: &str| schema.get("$defs").and_then(|defs| defs.get(name));
    let (Some(envelope), Some(body)) = (definition("envelope"), definition(body)) else { return Vec::new() };
    let mut walk = Walk { schema, trail: Vec::new(), found: Vec::new() };
    walk.object(manifest, &[envelope, body]);
    walk.found
}

struct Walk<'s, 'm> {
    schema: &'s Value,
    /// The way to the value that is looked at; most values are fine, so it becomes a pointer only when one is not.
    trail: Vec<Token<'m>>,
    found: Vec<Problem>,
}

#[derive(Clone, Copy)]
enum Token<'m> {
    Key(&'m str),
    Index(usize),
}

impl<'s, 'm> Walk<'s, 'm> {
    fn value(&mut self, value: &'m Value, form: &'s Value, token: Token<'m>) {
        self.trail.push(token);
        self.inside(value, form);
        self.trail.pop();
    }

    fn inside(&mut self, value: &'m Value, form: &'s Value) {
        let form = self.resolved(form);
        match value {
            Value::Object(_) => self.object(value, &[form]),
            Value::Array(items) => {
                let Some(item_form) = form.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.value(item, item_form, Token::Index(index));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, value: &'m Value, forms: &[&'s Value]) {
        let known: Vec<&'s Map<String, Value>> =
            forms.iter().filter_map(|form| form.get("properties")?.as_object()).collect();
        let others = forms.iter().find_map(|form| form.get("additionalProperties"));
        for (key, member) in value.as_object().into_iter().flatten() {
            if self.found.len() >= MAX_REPORTED {
                return;
            }
            match known.iter().find_map(|members| members.get(key)).or(others) {
                Some(form) => self.value(member, form, Token::Key(key)),
                // A form without members says nothing about them.
                None if known.is_empty() => {}
                None => {
                    let rule = RuleId::ManifestWarnUnknownMember;
                    let message = format!("Nothing reads the member `{}`.", shown_up_to(key, 60));
                    let pointer = self.pointer(key);
                    self.found.push(Problem::new(rule, pointer, message));
                }
            }
        }
    }

    fn pointer(&self, key: &str) -> String {
        let mut pointer = String::new();
        for token in self.trail.iter().copied().chain([Token::Key(key)]) {
            match token {
                Token::Key(key) => push_token(&mut pointer, key),
                Token::Index(index) => pointer.push_str(&format!("/{index}")),
            }
        }
        pointer
    }

    fn resolved(&self, form: &'s Value) -> &'s Value {
        let reference = form.get("$ref").or_else(|| form.get("allOf")?.get(0)?.get("$ref"));
        let name = reference.and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        name.and_then(|name| self.schema.get("$defs")?.get(name)).unwrap_or(form)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(manifest: &Value, pointers: &[&str]) {
        let found = unknown_members(manifest);
        assert_eq!(found.iter().map(|problem| problem.pointer.as_str()).collect::<Vec<_>>(), pointers);
    }

    #[test]
    fn misspelt_members_are_found_at_any_depth() {
        check(
            &json!({
                "$schema": "x", "id": "a", "role": "feature", "author": {"name": "n"}, "homepage": "", "repository": "",
                "license": "MIT", "keywords": [], "gatez": [], "runtime": {},
                "engines": {"gsd": "1", "node": "22"}, "provenance": {"sourceRepo": "x", "comit": "y"},
                "steps": [{"point": "plan:pre", "fragmnt": 1, "ref": {"skill": "a", "x/y": 1}}],
                "config": {"a.b": {"type": "boolean", "defalt": true}},
                "mcpServers": {"s": {"command": "x", "other": 1}},
                "gates": [{"check": {"predicate": {"kind": "x", "comand": "y"}, "agentVerdict": {"z": 1}}}, null, 3],
            }),
            &[
                "/gatez",
                "/runtime",
                "/provenance/comit",
                "/steps/0/fragmnt",
                "/steps/0/ref/x~1y",
                "/config/a.b/defalt",
                "/gates/0/check/predicate/comand",
            ],
        );
    }

    #[test]
    fn bodies_with_rules_or_freedom_of_their_own_are_left_alone() {
        check(
            &json!({
                "role": "runtime", "commands": [],
                "reviewer": {"other": 1, "probe": {"other": 1}, "invoke": {"othr": 1}},
                "runtime": {"hostBehaviors": {"x": 1}, "projection": {"y": {"z": 1}}, "colour": 1,
                    "configHome": {"skillsHome": {"nam": 1}},
                    "artifactLayout": {"global": [{"knd": 1}], "local": [{"knd": 1}]}},
            }),
            &[
                "/commands",
                "/reviewer/invoke/othr",
                "/runtime/colour",
                "/runtime/configHome/skillsHome/nam",
                "/runtime/artifactLayout/global/0/knd",
                "/runtime/artifactLayout/local/0/knd",
            ],
        );
        check(&json!({"role": "other", "x": 1}), &[]);
        check(&json!([1]), &[]);
    }
}
