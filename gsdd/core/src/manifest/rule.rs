//! What a rule is.

use std::fmt;

use super::rule_table::{RULES, RuleId};

/// One rule: a row of [`RULES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Identity in code.
    pub key: RuleId,
    /// Identity for programs and people; stable.
    pub id: &'static str,
    /// What is demanded.
    pub text: &'static str,
    /// Who demands it.
    pub source: &'static str,
    /// What to do about a finding.
    pub fix: &'static str,
    /// When the rule is examined.
    pub when: When,
    /// Whether upstream has the rule too.
    pub origin: Origin,
}

/// When a rule is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// On the text of the file.
    Text,
    /// On one manifest.
    Manifest,
    /// On one manifest that breaks no other rule, against the host contract.
    Contract,
    /// On one manifest that breaks no other rule; upstream looks only while it builds the registry.
    Compose,
    /// On a set of manifests.
    Cross,
    /// On the order of the hooks of a set.
    Order,
    /// On a candidate while it is loaded.
    Load,
    /// On a bundle that its author has judged.
    Bundle,
}

/// Who examines a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Upstream does, and so do we.
    Upstream,
    /// Only we do; shipped capabilities of another base are not held to it.
    Ours,
}

impl RuleId {
    /// The row of [`RULES`].
    #[must_use]
    pub fn rule(self) -> &'static Rule {
        RULES.get(self as usize).unwrap_or(&FALLBACK)
    }

    /// The stable id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.rule().id
    }
}

/// Never reached: the table has one row per variant (a test holds it).
const FALLBACK: Rule = Rule {
    key: RuleId::ManifestObject,
    id: "manifest.object",
    text: "",
    source: "",
    fix: "",
    when: When::Manifest,
    origin: Origin::Upstream,
};

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The rule with a stable id.
#[must_use]
pub fn rule_by_id(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
