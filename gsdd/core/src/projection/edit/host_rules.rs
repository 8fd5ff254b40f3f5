//! What a host would think of a settings file, judged as a whole.
//!
//! Several hosts drop a whole settings file, the person's own deny rules included, over one malformed entry, and say
//! nothing. So the file is judged before an edit (already broken: change nothing, say so) and after it (our entry
//! would break it: do not write). Which host has which rule is data; this module knows no host.
//!
//! Source: decision D-24, field report FR-012.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::refusal::pointer;

/// The rules of one host for its hooks file. What is left out is not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookFileRules {
    /// Path of keys to the table of events.
    pub container: Vec<String>,
    /// Whether the events hold groups with handlers (`handlers` names their member) or the handlers themselves.
    pub grouped: bool,
    /// The member of a group that holds its handlers.
    pub handlers: String,
    /// The events that the host knows; absent when it takes any name.
    pub events: Option<Vec<String>>,
    /// What the host does with an event that it does not know.
    pub unknown_event: HostEffect,
    /// The member of a group (or of an ungrouped handler) that selects tools; must be text when present.
    pub matcher: Option<String>,
    /// The member of a handler that names its type.
    pub type_member: String,
    /// The type of a handler that names none; absent when a type is required.
    pub default_type: Option<String>,
    /// The handler types that the host takes; empty when it takes any.
    pub handler_types: Vec<HandlerType>,
    /// The member with the time limit; must be a number above 0 when present.
    pub timeout: Option<String>,
    /// Whether the time limit must be a whole number.
    pub whole_timeout: bool,
    /// Members of a handler that take certain words only.
    pub words: Vec<WordRule>,
    /// Members anywhere in the file whose type matters.
    pub typed: Vec<TypeRule>,
    /// What the host does with a malformed entry.
    pub malformed_entry: HostEffect,
}

impl Default for HookFileRules {
    fn default() -> Self {
        Self {
            container: vec!["hooks".to_owned()],
            grouped: true,
            handlers: "hooks".to_owned(),
            events: None,
            unknown_event: HostEffect::IgnoresEntry,
            matcher: Some("matcher".to_owned()),
            type_member: "type".to_owned(),
            default_type: None,
            handler_types: Vec::new(),
            timeout: Some("timeout".to_owned()),
            whole_timeout: false,
            words: Vec::new(),
            typed: Vec::new(),
            malformed_entry: HostEffect::DropsFile,
        }
    }
}

/// A type of handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandlerType {
    /// Its name.
    pub name: String,
    /// Members that must be there and be text.
    #[serde(default)]
    pub required: Vec<String>,
}

/// A member that takes certain words only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordRule {
    /// Its name.
    pub member: String,
    /// The words.
    pub words: Vec<String>,
}

/// A member whose type matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeRule {
    /// Path of keys to it.
    pub path: Vec<String>,
    /// The type that it must have when it is there.
    pub is: JsonType,
}

/// A type of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JsonType {
    /// An object.
    Object,
    /// An object of texts.
    TextObject,
    /// A list.
    List,
    /// A list of texts.
    TextList,
    /// A text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
}

/// What the host does about a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostEffect {
    /// It ignores that entry.
    IgnoresEntry,
    /// It ignores the whole file.
    DropsFile,
}

/// A problem that the host has with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProblem {
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What the host does about it.
    pub effect: HostEffect,
}

/// Judges a document; no problems means that the host reads all of it.
#[must_use]
pub fn judge(document: &Value, rules: &HookFileRules) -> Vec<HostProblem> {
    let mut judge = Judge { rules, problems: Vec::new() };
    if !document.is_object() {
        judge.malformed(&[], "the document is not an object");
        return judge.problems;
    }
    for rule in &rules.typed {
        if let Some(value) = at(document, &rule.path)
            && !has_type(value, rule.is)
        {
            judge.malformed(&rule.path, type_message(rule.is));
        }
    }
    match at(document, &rules.container) {
        None => {}
        Some(Value::Object(events)) => judge.events(events),
        Some(_) => judge.malformed(&rules.container, "the table of events is not an object"),
    }
    judge.problems
}

struct Judge<'r> {
    rules: &'r HookFileRules,
    problems: Vec<HostProblem>,
}

impl Judge<'_> {
    fn malformed(&mut self, path: &[String], message: &str) {
        let (pointer, message, effect) = (pointer(path), message.to_owned(), self.rules.malformed_entry);
        self.problems.push(HostProblem { pointer, message, effect });
    }

    fn events(&mut self, events: &Map<String, Value>) {
        for (event, entries) in events {
            let path = below(&self.rules.container, event);
            if self.rules.events.as_ref().is_some_and(|known| !known.contains(event)) {
                let (pointer, effect) = (pointer(&path), self.rules.unknown_event);
                let message = "the host does not know this event".to_owned();
                self.problems.push(HostProblem { pointer, message, effect });
                continue;
            }
            let Some(entries) = entries.as_array() else {
                self.malformed(&path, "the entries of an event are not a list");
                continue;
            };
            for (index, entry) in entries.iter().enumerate() {
                let path = below(&path, &index.to_string());
                if self.rules.grouped { self.group(entry, &path) } else { self.handler(entry, &path, true) }
            }
        }
    }

    fn group(&mut self, group: &Value, path: &[String]) {
        let Some(members) = group.as_object() else {
            self.malformed(path, "the group is not an object");
            return;
        };
        self.matcher(members, path);
        match members.get(&self.rules.handlers) {
            Some(Value::Array(handlers)) => {
                let path = below(path, &self.rules.handlers);
                for (index, handler) in handlers.iter().enumerate() {
                    self.handler(handler, &below(&path, &index.to_string()), false);
                }
            }
            Some(_) => self.malformed(&below(path, &self.rules.handlers), "the handlers are not a list"),
            None if members.contains_key(&self.rules.type_member) => {
                self.malformed(path, "the handler stands outside of a group");
            }
            None => self.malformed(path, "the group has no list of handlers"),
        }
    }

    fn matcher(&mut self, members: &Map<String, Value>, path: &[String]) {
        if let Some(name) = &self.rules.matcher
            && members.get(name).is_some_and(|matcher| !matcher.is_string())
        {
            self.malformed(&below(path, name), "the matcher is not text");
        }
    }

    fn handler(&mut self, handler: &Value, path: &[String], with_matcher: bool) {
        let Some(members) = handler.as_object() else {
            self.malformed(path, "the handler is not an object");
            return;
        };
        if with_matcher {
            self.matcher(members, path);
        }
        self.handler_type(members, path);
        if let Some(name) = &self.rules.timeout
            && let Some(timeout) = members.get(name)
        {
            let path = below(path, name);
            match timeout.as_f64() {
                Some(seconds) if seconds > 0.0 && self.rules.whole_timeout && seconds.fract() != 0.0 => {
                    self.malformed(&path, "the time limit is not a whole number");
                }
                Some(seconds) if seconds > 0.0 => {}
                Some(_) => self.malformed(&path, "the time limit is not above 0"),
                None => self.malformed(&path, "the time limit is not a number"),
            }
        }
        for rule in &self.rules.words {
            let fits = |value: &Value| {
                value.as_str().is_some_and(|word| rule.words.iter().any(|known| known == word))
            };
            if members.get(&rule.member).is_some_and(|value| !fits(value)) {
                self.malformed(&below(path, &rule.member), "the host does not know this word");
            }
        }
    }

    fn handler_type(&mut self, members: &Map<String, Value>, path: &[String]) {
        if self.rules.handler_types.is_empty() {
            return;
        }
        let declared = match (members.get(&self.rules.type_member), &self.rules.default_type) {
            (Some(Value::String(name)), _) => name.as_str(),
            (Some(_), _) => {
                self.malformed(&below(path, &self.rules.type_member), "the type of the handler is not text");
                return;
            }
            (None, Some(name)) => name.as_str(),
            (None, None) => {
                self.malformed(path, "the handler has no type");
                return;
            }
        };
        let Some(known) = self.rules.handler_types.iter().find(|known| known.name == declared) else {
            self.malformed(
                &below(path, &self.rules.type_member),
                "the host does not know this type of handler",
            );
            return;
        };
        for required in &known.required {
            match members.get(required) {
                Some(Value::String(_)) => {}
                Some(_) => self.malformed(&below(path, required), "a required member is not text"),
                None => self.malformed(path, &format!("the handler has no `{required}`")),
            }
        }
    }
}

fn at<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, key| value.as_object()?.get(key))
}

fn below(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

fn has_type(value: &Value, wanted: JsonType) -> bool {
    match wanted {
        JsonType::Object => value.is_object(),
        JsonType::TextObject => {
            value.as_object().is_some_and(|members| members.values().all(Value::is_string))
        }
        JsonType::List => value.is_array(),
        JsonType::TextList => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        JsonType::Text => value.is_string(),
        JsonType::Number => value.is_number(),
        JsonType::Boolean => value.is_boolean(),
    }
}

fn type_message(wanted: JsonType) -> &'static str {
    match wanted {
        JsonType::Object => "it must be an object",
        JsonType::TextObject => "it must be an object of texts",
        JsonType::List => "it must be a list",
        JsonType::TextList => "it must be a list of texts",
        JsonType::Text => "it must be text",
        JsonType::Number => "it must be a number",
        JsonType::Boolean => "it must be true or false",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules() -> HookFileRules {
        serde_json::from_value(json!({
            "events": ["Before", "After"],
            "handler_types": [{"name": "command", "required": ["command"]}, {"name": "http", "required": ["url"]}],
            "words": [{"member": "shell", "words": ["bash", "powershell"]}],
            "typed": [
                {"path": ["env"], "is": "text-object"},
                {"path": ["permissions", "allow"], "is": "text-list"},
            ],
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(document: &Value, expected: &[(&str, HostEffect)]) {
        let found = judge(document, &rules());
        let found: Vec<_> = found.iter().map(|problem| (problem.pointer.as_str(), problem.effect)).collect();
        assert_eq!(found, expected, "{document}");
    }

    fn with_handler(handler: &Value) -> Value {
        json!({"hooks": {"Before": [{"hooks": [handler]}]}})
    }

    #[test]
    fn a_sound_file_has_no_problems() {
        check(&json!({}), &[]);
        check(
            &json!({
                "env": {"A": "b"}, "permissions": {"allow": ["x"], "deny": 5}, "other": null,
                "hooks": {"Before": [{"matcher": "", "_mark": 1, "hooks": [
                    {"type": "command", "command": "x", "timeout": 0.5, "shell": "bash", "extra": {}},
                    {"type": "http", "url": "u"},
                ]}], "After": []},
            }),
            &[],
        );
    }

    #[test]
    fn one_malformed_entry_drops_the_file() {
        let drops = |pointer: &'static str| [(pointer, HostEffect::DropsFile)];
        let handler = "/hooks/Before/0/hooks/0";
        check(&json!([]), &drops(""));
        check(&json!({"env": {"A": 1}}), &drops("/env"));
        check(&json!({"permissions": {"allow": "x"}}), &drops("/permissions/allow"));
        check(&json!({"hooks": []}), &drops("/hooks"));
        check(&json!({"hooks": {"Before": {}}}), &drops("/hooks/Before"));
        check(
            &json!({"hooks": {"Before": [{"type": "command", "command": "x"}]}}),
            &drops("/hooks/Before/0"),
        );
        check(&json!({"hooks": {"Before": [{"matcher": "x"}]}}), &drops("/hooks/Before/0"));
        for matcher in [json!(null), json!(1), json!([])] {
            check(
                &json!({"hooks": {"Before": [{"matcher": matcher, "hooks": []}]}}),
                &drops("/hooks/Before/0/matcher"),
            );
        }
        for timeout in [json!(0), json!(-1), json!("5"), json!(null)] {
            let document = with_handler(&json!({"type": "command", "command": "x", "timeout": timeout}));
            check(&document, &drops("/hooks/Before/0/hooks/0/timeout"));
        }
        check(&with_handler(&json!({"type": "command"})), &drops(handler));
        check(
            &with_handler(&json!({"type": "command", "command": 5})),
            &drops("/hooks/Before/0/hooks/0/command"),
        );
        check(&with_handler(&json!({"type": "later"})), &drops("/hooks/Before/0/hooks/0/type"));
        check(&with_handler(&json!({"command": "x"})), &drops(handler));
        check(
            &with_handler(&json!({"type": "command", "command": "x", "shell": "fish"})),
            &drops("/hooks/Before/0/hooks/0/shell"),
        );
    }

    #[test]
    fn an_unknown_event_costs_itself_only() {
        check(&json!({"hooks": {"AfterHighTide": 5}}), &[("/hooks/AfterHighTide", HostEffect::IgnoresEntry)]);
    }
}
