//! Which version is taken where a source offers several, and why not the others.
//!
//! npm packages, named registries and the tags of a repository end in this one shape, so that `source resolve` can
//! show all of them alike.
//!
//! Source: ADR-1244 D6 (graceful downgrade where versions are enumerated).

/// The outcome of choosing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The version that is taken; `None` when none may be.
    pub taken: Option<String>,
    /// Every version that was looked at, the highest first.
    pub considered: Vec<Considered>,
}

/// One version that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// As published.
    pub version: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a version. Texts are the publisher's own and not cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Taken,
    /// It would do, and another one goes first.
    Lower,
    /// The selector does not cover it.
    NotSelected,
    /// A prerelease is taken only when it is named.
    Prerelease,
    /// Its publisher advises against it, in these words.
    Deprecated(String),
    /// Its publisher took it back, in these words.
    Yanked(String),
    /// It needs another GSD; the range that it, or its publisher later, declared.
    NeedsGsd(String),
}

impl Verdict {
    /// Short stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Lower => "lower",
            Self::NotSelected => "not-selected",
            Self::Prerelease => "prerelease",
            Self::Deprecated(_) => "deprecated",
            Self::Yanked(_) => "yanked",
            Self::NeedsGsd(_) => "needs-gsd",
        }
    }

    /// One phrase for people, with the publisher's words as they are.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Taken => "taken".to_owned(),
            Self::Lower => "fits, and another one goes first".to_owned(),
            Self::NotSelected => "not what was asked for".to_owned(),
            Self::Prerelease => "a prerelease, which has to be named".to_owned(),
            Self::Deprecated(words) => with_words("deprecated", words),
            Self::Yanked(words) => with_words("yanked", words),
            Self::NeedsGsd(range) => format!("needs GSD {range}"),
        }
    }
}

fn with_words(fact: &str, words: &str) -> String {
    if words.is_empty() { fact.to_owned() } else { format!("{fact}: {words}") }
}

impl Choice {
    /// What became of `version`.
    #[must_use]
    pub fn verdict(&self, version: &str) -> Option<&Verdict> {
        self.considered.iter().find(|row| row.version == version).map(|row| &row.verdict)
    }

    /// The highest version that would have been taken but for the GSD that it needs, with that range.
    #[must_use]
    pub fn passed_over_for_gsd(&self) -> Option<(&str, &str)> {
        self.considered.iter().find_map(|row| match &row.verdict {
            Verdict::NeedsGsd(range) => Some((row.version.as_str(), range.as_str())),
            _ => None,
        })
    }
}
