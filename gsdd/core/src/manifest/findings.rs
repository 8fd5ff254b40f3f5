//! Collecting findings while a manifest is examined.

use serde_json::{Map, Value};

use super::assess::Strictness;
use super::problem::Problem;
use super::rule::Origin;
use super::rule_table::RuleId;
use crate::ids::is_reserved_property_name;
use crate::json::push_token;

/// Most findings kept of one manifest; a hostile file could break a rule a million times.
const MAX_FINDINGS: usize = 200;

/// Most bytes of pointer text kept of one manifest.
const MAX_POINTER_BYTES: usize = 256 * 1024;

/// An object of the manifest.
pub(super) type Object = Map<String, Value>;

/// The place of the value being examined: a chain of tokens on the stack, written out only for a finding.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// The document.
    Root,
    /// A member of an object.
    Key(&'a At<'a>, &'a str),
    /// An item of an array.
    Item(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    pub(super) fn key(&'a self, key: &'a str) -> At<'a> {
        At::Key(self, key)
    }

    pub(super) fn item(&'a self, index: usize) -> At<'a> {
        At::Item(self, index)
    }

    fn write(&self, out: &mut String) {
        match self {
            At::Root => {}
            At::Key(parent, key) => {
                parent.write(out);
                push_token(out, key);
            }
            At::Item(parent, index) => {
                parent.write(out);
                push_token(out, &index.to_string());
            }
        }
    }
}

/// The findings about one manifest.
pub(super) struct Findings {
    strictness: Strictness,
    problems: Vec<Problem>,
    pointer_bytes: usize,
    broken: bool,
}

impl Findings {
    pub(super) fn new(strictness: Strictness) -> Self {
        Self { strictness, problems: Vec::new(), pointer_bytes: 0, broken: false }
    }

    /// Whether no rule is broken so far.
    pub(super) fn is_clean(&self) -> bool {
        !self.broken
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Records that `rule` is broken at `at`.
    pub(super) fn add(&mut self, rule: RuleId, at: &At<'_>) {
        self.add_with(rule, at, "");
    }

    /// [`Findings::add`] with a sentence after the rule's text.
    pub(super) fn add_with(&mut self, rule: RuleId, at: &At<'_>, detail: &str) {
        let row = rule.rule();
        if row.origin == Origin::Ours && self.strictness == Strictness::Shipped {
            return;
        }
        self.broken = true;
        if self.problems.len() >= MAX_FINDINGS || self.pointer_bytes > MAX_POINTER_BYTES {
            return;
        }
        let mut pointer = String::new();
        at.write(&mut pointer);
        self.pointer_bytes += pointer.len();
        let message = if detail.is_empty() { row.text.to_owned() } else { format!("{} {detail}", row.text) };
        self.problems.push(Problem::new(rule, pointer, message));
    }

    /// Records `rule` unless `holds`; answers `holds`.
    pub(super) fn check(&mut self, holds: bool, rule: RuleId, at: &At<'_>) -> bool {
        if !holds {
            self.add(rule, at);
        }
        holds
    }

    /// The text under `key`, with a finding unless it is a non-empty string.
    pub(super) fn text<'v>(
        &mut self,
        object: &'v Object,
        at: &At<'_>,
        key: &str,
        rule: RuleId,
    ) -> Option<&'v str> {
        let found = non_empty(object.get(key));
        self.check(found.is_some(), rule, &at.key(key));
        found
    }

    /// Like [`Findings::text`], without a finding when the key is absent.
    pub(super) fn optional_text(&mut self, object: &Object, at: &At<'_>, key: &str, rule: RuleId) {
        if object.contains_key(key) {
            self.text(object, at, key, rule);
        }
    }

    /// The items under `key`, with a finding unless it is an array.
    pub(super) fn array<'v>(
        &mut self,
        object: &'v Object,
        at: &At<'_>,
        key: &str,
        rule: RuleId,
    ) -> Option<&'v Vec<Value>> {
        let found = object.get(key).and_then(Value::as_array);
        self.check(found.is_some(), rule, &at.key(key));
        found
    }

    /// Like [`Findings::array`], without a finding when the key is absent.
    pub(super) fn optional_array<'v>(
        &mut self,
        object: &'v Object,
        at: &At<'_>,
        key: &str,
        rule: RuleId,
    ) -> Option<&'v Vec<Value>> {
        if object.contains_key(key) { self.array(object, at, key, rule) } else { None }
    }

    /// Examines an array whose every item must pass `holds`.
    pub(super) fn each(
        &mut self,
        items: Option<&Vec<Value>>,
        at: &At<'_>,
        rule: RuleId,
        holds: impl Fn(&Value) -> bool,
    ) {
        for (index, item) in items.into_iter().flatten().enumerate() {
            self.check(holds(item), rule, &at.item(index));
        }
    }

    /// The object under `key`, with a finding unless it is one.
    pub(super) fn object<'v>(
        &mut self,
        object: &'v Object,
        at: &At<'_>,
        key: &str,
        rule: RuleId,
    ) -> Option<&'v Object> {
        let found = object.get(key).and_then(Value::as_object);
        self.check(found.is_some(), rule, &at.key(key));
        found
    }

    /// Like [`Findings::object`], without a finding when the key is absent.
    pub(super) fn optional_object<'v>(
        &mut self,
        object: &'v Object,
        at: &At<'_>,
        key: &str,
        rule: RuleId,
    ) -> Option<&'v Object> {
        if object.contains_key(key) { self.object(object, at, key, rule) } else { None }
    }

    /// Records `rule` for each of `keys` that the object has; null counts.
    pub(super) fn forbid(&mut self, object: &Object, at: &At<'_>, keys: &[&str], rule: RuleId) {
        for key in keys.iter().filter(|key| object.contains_key(**key)) {
            self.add(rule, &at.key(key));
        }
    }

    /// Records `rule` for each own key that is a reserved property name.
    pub(super) fn forbid_reserved_keys(&mut self, object: &Object, at: &At<'_>, rule: RuleId) {
        for key in object.keys().filter(|key| is_reserved_property_name(key)) {
            self.add(rule, &at.key(key));
        }
    }

    /// Records `rule` unless the value under `key` is one of `words`.
    pub(super) fn word(&mut self, object: &Object, at: &At<'_>, key: &str, words: &[&str], rule: RuleId) {
        let found = object.get(key).and_then(Value::as_str);
        if !found.is_some_and(|word| words.contains(&word)) {
            self.add_with(rule, &at.key(key), &format!("Known words: {}.", words.join(", ")));
        }
    }

    /// Like [`Findings::word`], without a finding when the key is absent.
    pub(super) fn optional_word(
        &mut self,
        object: &Object,
        at: &At<'_>,
        key: &str,
        words: &[&str],
        rule: RuleId,
    ) {
        if object.contains_key(key) {
            self.word(object, at, key, words, rule);
        }
    }
}

/// The value as text with at least one character.
pub(super) fn non_empty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Whether a number is an integer of at least `least`; `2`, `2.0` and `20e-1` are the same.
pub(super) fn is_integer_from(value: &Value, least: f64) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0 && number >= least)
}

/// Whether the value is text with at least one character.
pub(super) fn is_text(value: &Value) -> bool {
    non_empty(Some(value)).is_some()
}
