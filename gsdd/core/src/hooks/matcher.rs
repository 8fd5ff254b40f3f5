//! Whether a hook's matcher fits the name of a tool.

use regex_lite::{Regex, RegexBuilder};

/// A matcher, compiled once.
///
/// Letters, digits, `_`, `|`, `,` and blanks only: a list of exact names. Anything else: an unanchored regular
/// expression. Empty, `*` or absent: everything. A pattern that does not compile matches nothing, as in the hosts.
#[derive(Clone, Debug)]
pub struct Matcher(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Everything,
    Names(Vec<Box<str>>),
    Pattern(Box<Regex>),
    Nothing,
}

impl Matcher {
    /// Compiles `raw`; total.
    #[must_use]
    pub fn new(raw: Option<&str>) -> Self {
        let raw = raw.unwrap_or_default();
        if raw.is_empty() || raw == "*" {
            return Self(Kind::Everything);
        }
        if raw.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | ',' | ' ')) {
            let names = raw.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty()).map(Into::into);
            return Self(Kind::Names(names.collect()));
        }
        match RegexBuilder::new(raw).size_limit(256 * 1024).build() {
            Ok(pattern) => Self(Kind::Pattern(Box::new(pattern))),
            Err(_) => Self(Kind::Nothing),
        }
    }

    /// Whether the hook applies; `None` = the event carries no name to compare with.
    #[must_use]
    pub fn matches(&self, name: Option<&str>) -> bool {
        let Some(name) = name else { return true };
        match &self.0 {
            Kind::Everything => true,
            Kind::Names(names) => names.iter().any(|known| **known == *name),
            Kind::Pattern(pattern) => pattern.is_match(name),
            Kind::Nothing => false,
        }
    }

    /// Whether the matcher can never fit anything, because its pattern does not compile.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(self.0, Kind::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(matcher: &str, name: &str, expected: bool) {
        assert_eq!(Matcher::new(Some(matcher)).matches(Some(name)), expected, "{matcher} ~ {name}");
    }

    #[test]
    fn plain_words_are_exact_names() {
        check("Bash|Read", "Bash", true);
        check("Bash, Read", "Read", true);
        check("Ba", "Bash", false);
        check("bash", "Bash", false);
        check("", "Bash", true);
        check("*", "Bash", true);
    }

    #[test]
    fn anything_else_is_a_pattern() {
        check("^Ba", "Bash", true);
        check("ash$", "Bash", true);
        check("[BR]", "Read", true);
        check("mcp__.*", "mcp__notes__add", true);
        check("!Bash", "Bash", false);
        check("(", "Bash", false);
        check("*Bash", "Bash", false);
        assert!(Matcher::new(Some("(")).is_broken());
    }

    #[test]
    fn events_without_a_name_are_never_filtered() {
        assert!(Matcher::new(Some("Bash")).matches(None));
    }
}
