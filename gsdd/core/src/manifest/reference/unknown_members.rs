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
    let mut walk = Walk { schema, found: Vec::new() };
    walk.object(manifest, &[envelope, body], "");
    walk.found
}

struct Walk<'s> {
    schema: &'s Value,
    found: Vec<Problem>,
}

impl<'s> Walk<'s> {
    fn value(&mut self, value: &Value, form: &'s Value, pointer: &str) {
        let form = self.resolved(form);
        match value {
            Value::Object(_) => self.object(value, &[form], pointer),
            Value::Array(items) => {
                let Some(item_form) = form.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.value(item, item_form, &format!("{pointer}/{index}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, value: &Value, forms: &[&'s Value], pointer: &str) {
        let known: Vec<&'s Map<String, Value>> =
            forms.iter().filter_map(|form| form.get("properties")?.as_object()).collect();
        let others = forms.iter().find_map(|form| form.get("additionalProperties"));
        for (key, member) in value.as_object().into_iter().flatten() {
            if self.found.len() >= MAX_REPORTED {
                return;
            }
            let mut here = pointer.to_owned();
            push_token(&mut here, key);
            match known.iter().find_map(|members| members.get(key)).or(others) {
                Some(form) => self.value(member, form, &here),
                // A form without members says nothing about them.
                None if known.is_empty() => {}
                None => {
                    let rule = RuleId::ManifestWarnUnknownMember;
                    let message = format!("Nothing reads the member `{}`.", shown_up_to(key, 60));
                    self.found.push(Problem::new(rule, here, message));
                }
            }
        }
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
