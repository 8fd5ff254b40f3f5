//! Names that become keys and paths, as types that prove their shape.
//!
//! A value of one of these types can be joined to an install root: it has no separator, no `..`, no control
//! character and no drive form (decision D-19).

use std::fmt;
use std::sync::Arc;

/// Words that are members of every JavaScript object. Upstream reads the same files, so they never name
/// anything of ours.
pub const RESERVED_PROPERTY_NAMES: [&str; 3] = ["__proto__", "constructor", "prototype"];

/// Whether `name` is one of [`RESERVED_PROPERTY_NAMES`].
#[must_use]
pub fn is_reserved_property_name(name: &str) -> bool {
    RESERVED_PROPERTY_NAMES.contains(&name)
}

/// Id of a capability: `[a-z][a-z0-9-]*`, and not a reserved property name.
///
/// Source: ADR-1244 Context (folder `capabilities/<id>/`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapabilityId(Arc<str>);

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id starts with a lowercase letter and has only lowercase letters, digits and hyphens")]
pub struct InvalidId;

impl CapabilityId {
    /// Parses an id; the only way to obtain one.
    ///
    /// # Errors
    /// [`InvalidId`] when the text has another shape.
    pub fn parse(raw: &str) -> Result<Self, InvalidId> {
        if has_id_shape(raw) && !is_reserved_property_name(raw) {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidId)
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CapabilityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for CapabilityId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Whether `raw` matches `[a-z][a-z0-9-]*` over its whole length.
#[must_use]
pub fn has_id_shape(raw: &str) -> bool {
    let mut bytes = raw.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Prefixes that only shipped capabilities may use.
///
/// Source: ADR-1244 D5 rule 6.
pub const RESERVED_PREFIXES: [&str; 3] = ["gsd-core-", "gsd-", "anthropic-"];

/// The reserved prefix that `id` starts with, in any case; upstream compares so when it installs.
#[must_use]
pub fn reserved_prefix(id: &str) -> Option<&'static str> {
    RESERVED_PREFIXES
        .into_iter()
        .find(|prefix| id.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t53_t55_t122_ids_have_one_shape() {
        for good in ["a", "acme-lint", "a--b", "a1-", "z9"] {
            assert_eq!(CapabilityId::parse(good).unwrap().as_str(), good);
        }
        for bad in
            ["", "1a", "-a", "A", "a_b", "a/b", "..", "a.b", "a b", "é", "constructor", "__proto__", "a\n"]
        {
            assert!(CapabilityId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn t123_reserved_prefixes_ignore_case() {
        assert_eq!(reserved_prefix("gsd-x"), Some("gsd-"));
        assert_eq!(reserved_prefix("gsd-core-x"), Some("gsd-core-"));
        assert_eq!(reserved_prefix("GSD-x"), Some("gsd-"));
        assert_eq!(reserved_prefix("anthropic-"), Some("anthropic-"));
        for free in ["gsd", "gsdx", "anthropic", "my-gsd-tool", "é-gsd-"] {
            assert_eq!(reserved_prefix(free), None, "{free}");
        }
    }
}
