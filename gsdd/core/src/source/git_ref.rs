//! Which commit of a repository is meant.

use std::fmt;

use super::refusal::{SpecRefusal, SpecRefusalKind};

/// The part after `#`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GitRef {
    /// None: the default branch.
    None,
    /// `tag:NAME`.
    Tag(String),
    /// `branch:NAME`.
    Branch(String),
    /// `sha:ID`, or 40 or 64 hexadecimal digits alone; in lower case.
    Commit(String),
    /// A name that may be a tag or a branch, or a full `refs/…` name. The fetcher looks it up and refuses when it is
    /// both (threat T85).
    Bare(String),
}

impl GitRef {
    /// Reads the part after `#`.
    ///
    /// # Errors
    /// [`SpecRefusal`] for options, shell characters, revision expressions and shortened commits.
    pub fn parse(raw: &str) -> Result<Self, SpecRefusal> {
        if raw.is_empty() {
            return Ok(Self::None);
        }
        if raw.starts_with('-') || raw.chars().any(is_unsafe) {
            return Err(SpecRefusalKind::GitRefUnsafe.refusal());
        }
        match raw.split_once(':') {
            Some((kind, id)) if kind.eq_ignore_ascii_case("sha") => {
                if is_commit_id(id) {
                    Ok(Self::Commit(id.to_ascii_lowercase()))
                } else {
                    Err(SpecRefusalKind::AbbreviatedCommit.refusal())
                }
            }
            Some((kind, name)) if kind.eq_ignore_ascii_case("tag") => ref_name(name).map(Self::Tag),
            Some((kind, name)) if kind.eq_ignore_ascii_case("branch") => ref_name(name).map(Self::Branch),
            Some(_) => Err(SpecRefusalKind::GitRefExpression.refusal()),
            None if is_commit_id(raw) => Ok(Self::Commit(raw.to_ascii_lowercase())),
            None => ref_name(raw).map(Self::Bare),
        }
    }

    /// Whether a later fetch can only give the same content.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        matches!(self, Self::Commit(_))
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Tag(name) => write!(f, "tag:{name}"),
            Self::Branch(name) => write!(f, "branch:{name}"),
            Self::Commit(id) => write!(f, "sha:{id}"),
            Self::Bare(name) => f.write_str(name),
        }
    }
}

fn is_unsafe(c: char) -> bool {
    c.is_whitespace() || ";&|$`()<>!\"'\\%".contains(c)
}

/// Whether `raw` is a full object id.
#[must_use]
pub fn is_commit_id(raw: &str) -> bool {
    matches!(raw.len(), 40 | 64) && raw.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A name by git's own rules for refs, without the characters that make a revision expression.
fn ref_name(raw: &str) -> Result<String, SpecRefusal> {
    let expression = matches!(raw, "@" | "HEAD")
        || raw.len() > 255
        || raw.contains("..")
        || raw.ends_with('.')
        || raw.contains(['~', '^', ':', '?', '*', '[', '{'])
        || raw.chars().any(crate::text::is_hostile)
        || raw.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock"));
    if raw.starts_with('-') {
        Err(SpecRefusalKind::GitRefUnsafe.refusal())
    } else if expression {
        Err(SpecRefusalKind::GitRefExpression.refusal())
    } else {
        Ok(raw.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_qualified() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for (raw, expected) in [
            ("", GitRef::None),
            ("v1.2.0", GitRef::Bare("v1.2.0".to_owned())),
            ("feature/x", GitRef::Bare("feature/x".to_owned())),
            ("refs/heads/main", GitRef::Bare("refs/heads/main".to_owned())),
            ("tag:v1", GitRef::Tag("v1".to_owned())),
            ("branch:main", GitRef::Branch("main".to_owned())),
        ] {
            assert_eq!(GitRef::parse(raw), Ok(expected.clone()));
            assert_eq!(expected.to_string(), raw);
        }
        for raw in [id.to_owned(), format!("sha:{id}"), format!("SHA:{}", id.to_ascii_uppercase())] {
            assert_eq!(GitRef::parse(&raw), Ok(GitRef::Commit(id.to_owned())));
        }
    }

    #[test]
    fn t81_options_are_not_refs() {
        for raw in ["--upload-pack=id", "-x", "a;b", "a b", "$(id)", "tag:-x"] {
            assert_eq!(GitRef::parse(raw).unwrap_err().kind, SpecRefusalKind::GitRefUnsafe, "{raw}");
        }
    }

    #[test]
    fn t84_revision_expressions_are_not_refs() {
        let long = "n".repeat(256);
        for raw in [
            "a..b",
            "HEAD~1",
            "@{u}",
            ":/fix",
            "HEAD",
            "@",
            "a^",
            "x.lock",
            "/x",
            "x/",
            "tag:",
            "HEAD:x",
            "tag:a:b",
            "v1.",
            ".x",
            "a/.x",
            "a\u{202e}b",
            &long,
        ] {
            assert_eq!(GitRef::parse(raw).unwrap_err().kind, SpecRefusalKind::GitRefExpression, "{raw}");
        }
        assert!(GitRef::parse(&long[1..]).is_ok(), "a name has at most 255 bytes");
    }

    #[test]
    fn t87_shortened_commits_are_not_pins() {
        assert!(GitRef::parse(&"0".repeat(40)).unwrap().is_pinned());
        assert_eq!(GitRef::parse("sha:abc123").unwrap_err().kind, SpecRefusalKind::AbbreviatedCommit);
        assert!(!GitRef::parse("abc123").unwrap().is_pinned());
    }
}
