//! The judgement over a document and over its text.

use serde_json::{Map, Value};

use super::super::refusal::pointer;
use super::super::tree::Node;
use super::super::{Dialect, is_blank, parse, split_bom};
use super::{HookFileRules, HostEffect, HostProblem, HostTextRules, JsonType};

/// Judges how a file is written; no problems means that the host can read it. A file that is no JSON of any kind has
/// the problem of its syntax.
#[must_use]
pub fn judge_text(bytes: &[u8], rules: &HostTextRules) -> Vec<HostProblem> {
    let problem = |message: String| HostProblem { pointer: String::new(), message, effect: rules.effect };
    let (bom, text) = match split_bom(bytes) {
        Ok(parts) => parts,
        Err(refusal) => return vec![problem(refusal.to_string())],
    };
    let mut problems = Vec::new();
    if !bom.is_empty() && !rules.byte_order_mark {
        problems.push(problem("the host does not take a byte order mark".to_owned()));
    }
    if is_blank(text) {
        if !rules.blank {
            problems.push(problem("the host does not take an empty file".to_owned()));
        }
        return problems;
    }
    match parse::parse(text, Dialect::Jsonc) {
        Err(refusal) => problems.push(problem(refusal.to_string())),
        Ok(document) => {
            if !rules.comments && !document.comments.is_empty() {
                problems.push(problem("the host does not take comments".to_owned()));
            }
            if !rules.trailing_commas && has_trailing_comma(&document.root) {
                problems.push(problem("the host does not take trailing commas".to_owned()));
            }
        }
    }
    problems
}

fn has_trailing_comma(node: &Node) -> bool {
    node.parts().last().is_some_and(|last| last.comma.is_some())
        || node.parts().iter().any(|part| has_trailing_comma(&part.value))
}

/// Judges a document; no problems means that the host reads all of it.
#[must_use]
pub fn judge(document: &Value, rules: &HookFileRules) -> Vec<HostProblem> {
    let mut judge = Judge { rules, problems: Vec::new() };
    let Some(members) = document.as_object() else {
        judge.outside(&[], "the document is not an object");
        return judge.problems;
    };
    judge.only(members, &[], rules.top_level.as_ref(), rules.malformed_table);
    for rule in &rules.fixed {
        if at(document, &rule.path).is_some_and(|value| !rule.values.contains(value)) {
            judge.outside(&rule.path, "the host does not take this value");
        }
    }
    for rule in &rules.typed {
        if let Some(value) = at(document, &rule.path)
            && !has_type(value, rule.is)
        {
            judge.outside(&rule.path, type_message(rule.is));
        }
    }
    match at(document, &rules.container) {
        None => {}
        Some(Value::Object(events)) => judge.events(events),
        Some(_) => judge.outside(&rules.container, "the table of events is not an object"),
    }
    judge.problems
}

struct Judge<'r> {
    rules: &'r HookFileRules,
    problems: Vec<HostProblem>,
}

impl Judge<'_> {
    fn say(&mut self, path: &[String], message: &str, effect: HostEffect) {
        self.problems.push(HostProblem { pointer: pointer(path), message: message.to_owned(), effect });
    }

    fn malformed(&mut self, path: &[String], message: &str) {
        self.say(path, message, self.rules.malformed_entry);
    }

    fn outside(&mut self, path: &[String], message: &str) {
        self.say(path, message, self.rules.malformed_table);
    }

    /// That an object has no members beyond the known ones.
    fn only(
        &mut self,
        members: &Map<String, Value>,
        path: &[String],
        known: Option<&Vec<String>>,
        effect: HostEffect,
    ) {
        let Some(known) = known else { return };
        for key in members.keys().filter(|key| !known.contains(key)) {
            self.say(&below(path, key), "the host does not know this member", effect);
        }
    }

    fn events(&mut self, events: &Map<String, Value>) {
        for (event, entries) in events {
            let path = below(&self.rules.container, event);
            if self.rules.events.as_ref().is_some_and(|known| !known.contains(event)) {
                self.say(&path, "the host does not know this event", self.rules.unknown_event);
                continue;
            }
            let Some(entries) = entries.as_array() else {
                self.outside(&path, "the entries of an event are not a list");
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
        self.only(members, path, self.rules.group_members.as_ref(), self.rules.malformed_entry);
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
        self.only(members, path, self.rules.handler_members.as_ref(), self.rules.malformed_entry);
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
