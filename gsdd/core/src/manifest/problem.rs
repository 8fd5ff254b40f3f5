//! A finding as it is shown.

use super::rule_table::RuleId;

/// One broken rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule.
    pub rule: RuleId,
    /// JSON pointer of the value, as far as it exists; holds keys as written, so it is cleaned before it is shown.
    pub pointer: String,
    /// Line of the value in the file, from 1; 0 when the file is not at hand.
    pub line: u32,
    /// Column of the value in characters, from 1; 0 when the file is not at hand.
    pub column: u32,
    /// The fact; text from the manifest is quoted and cleaned.
    pub message: String,
    /// The remedy.
    pub fix: String,
}

impl Problem {
    /// A finding that is not about a place in a file.
    pub(crate) fn new(rule: RuleId, pointer: String, message: String) -> Self {
        Self { rule, pointer, line: 0, column: 0, message, fix: rule.rule().fix.to_owned() }
    }
}
