//! The answer about one thing.

use super::subject::SubjectKind;
use crate::text::shown_up_to;

/// What is known about one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What kind of thing it is.
    pub kind: SubjectKind,
    /// Its name, cleaned.
    pub name: String,
    /// Whether it works.
    pub verdict: Verdict,
    /// One sentence: what it is, whose, and the reason of the verdict.
    pub text: String,
    /// Id of the rule behind the verdict, or the name of the decision.
    pub rule: String,
    /// Capabilities that have to do with it.
    pub parties: Vec<Party>,
    /// What the verdict depends on.
    pub predicates: Vec<Predicate>,
    /// What would change the verdict.
    pub fixes: Vec<Fix>,
}

/// Whether something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is there and in use.
    Active,
    /// It is there, and switched off or not agreed to.
    Inactive,
    /// Its capability was left out.
    Skipped,
    /// Nothing is there.
    Empty,
}

impl Verdict {
    /// The word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Skipped => "skipped",
            Self::Empty => "empty",
        }
    }
}

/// A capability and its part in the matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Id, cleaned.
    pub id: String,
    /// `first-party`, `global` or `project`.
    pub scope: &'static str,
    /// Its part: `owner`, `also-declares`, `requires`, `required-by`, `step`, `contribution`, `gate`, …
    pub part: &'static str,
    /// `active`, `inactive`, `skipped` or `missing`.
    pub status: &'static str,
    /// More, cleaned; may be empty.
    pub note: String,
}

/// Something that the verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// What it is.
    pub name: String,
    /// Its value as it is now, cleaned.
    pub value: String,
    /// Where the value comes from; may be empty.
    pub origin: String,
    /// Whether it speaks for the thing being active.
    pub holds: bool,
}

impl Predicate {
    pub(super) fn new(name: &str, value: &str, origin: &str, holds: bool) -> Self {
        let clean = |text: &str| shown_up_to(text, 300);
        Self { name: clean(name), value: clean(value), origin: clean(origin), holds }
    }
}

/// What would change the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// In words.
    pub text: String,
    /// The command, when there is one.
    pub argv: Vec<String>,
}

impl Fix {
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), argv: Vec::new() }
    }

    /// A command that a skip names; its words are ids and flags of ours.
    pub(super) fn command(text: impl Into<String>, command: &str) -> Self {
        Self { text: text.into(), argv: command.split_whitespace().map(str::to_owned).collect() }
    }
}
