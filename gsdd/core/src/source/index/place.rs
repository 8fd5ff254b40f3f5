//! Where a named registry is, as the person's configuration says it.

use std::fmt;

use super::super::refusal::SpecRefusal;
use super::super::spec::{PathStyle, SourceSpec};
use super::super::url::SourceUrl;

/// Where an index is.
#[derive(Clone, PartialEq, Eq)]
pub enum RegistryPlace {
    /// A folder that a web server hands out.
    Web {
        /// With a slash at its end.
        base: String,
        /// Its parts.
        parts: SourceUrl,
    },
    /// A repository, or a folder in it; always a [`SourceSpec::Git`].
    Repository(SourceSpec),
    /// A folder of this machine, absolute.
    Folder(String),
}

/// Why a text is no place of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceProblem {
    /// The text itself is refused.
    #[error(transparent)]
    Spec(#[from] SpecRefusal),
    /// A relative path would mean another folder from everywhere.
    #[error("a registry on this machine is named by its absolute path")]
    Relative,
    /// Something that is no folder of files.
    #[error("a registry is an https folder, a git repository or a folder of this machine")]
    OtherKind,
}

impl RegistryPlace {
    /// Reads a place.
    ///
    /// # Errors
    /// [`PlaceProblem`].
    pub fn parse(raw: &str) -> Result<Self, PlaceProblem> {
        Self::parse_for(raw, PathStyle::NATIVE)
    }

    /// Reads a place with the paths of another platform.
    ///
    /// # Errors
    /// As [`RegistryPlace::parse`].
    pub fn parse_for(raw: &str, paths: PathStyle) -> Result<Self, PlaceProblem> {
        let text = raw.trim();
        match SourceSpec::parse_for(text, paths) {
            Ok(spec @ SourceSpec::Git { .. }) => return Ok(Self::Repository(spec)),
            Ok(SourceSpec::Local { path }) if path.starts_with('.') => return Err(PlaceProblem::Relative),
            Ok(SourceSpec::Local { path }) => return Ok(Self::Folder(path)),
            Ok(_) => return Err(PlaceProblem::OtherKind),
            // A plain https URL is no source, and is a folder here.
            Err(_) if text.starts_with("https://") => {}
            Err(refusal) => return Err(refusal.into()),
        }
        let parts = SourceUrl::parse(text)?;
        if parts.query.is_some() || parts.path.contains("..") {
            return Err(PlaceProblem::OtherKind);
        }
        let slash = if text.ends_with('/') { "" } else { "/" };
        Ok(Self::Web { base: format!("{text}{slash}"), parts })
    }

    /// The host that is contacted, in lower case; `None` for a folder of this machine.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Web { parts, .. } => Some(parts.host()),
            Self::Repository(spec) => spec.host(),
            Self::Folder(_) => None,
        }
    }
}

impl fmt::Display for RegistryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Web { base, .. } => f.write_str(&crate::text::shown(base)),
            Self::Repository(spec) => write!(f, "{spec}"),
            Self::Folder(path) => f.write_str(&crate::text::shown(path)),
        }
    }
}

impl fmt::Debug for RegistryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegistryPlace({self})")
    }
}

/// Whether `raw` can be the name of a registry: what stands after the `@` of a source.
#[must_use]
pub fn is_registry_name(raw: &str) -> bool {
    raw.len() <= 64
        && raw.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && raw.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        && !crate::ids::is_reserved_property_name(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_each_kind() {
        let place = |raw: &str| RegistryPlace::parse_for(raw, PathStyle::Posix).unwrap();
        assert_eq!(place("https://caps.corp.example/index").to_string(), "https://caps.corp.example/index/");
        assert_eq!(place("https://caps.corp.example:8443/").host(), Some("caps.corp.example"));
        assert!(matches!(place("https://h.example/index.git#branch:main"), RegistryPlace::Repository(_)));
        assert!(matches!(place("git+ssh://git@h.example/index//sub"), RegistryPlace::Repository(_)));
        assert_eq!(place("/srv/caps").host(), None);
        assert_eq!(format!("{:?}", place("/srv/caps")), "RegistryPlace(/srv/caps)");
    }

    #[test]
    fn t66_t67_places_follow_the_rules_of_sources() {
        for raw in [
            "",
            "./caps",
            "../caps",
            "http://h.example/",
            "https://u:p@h.example/",
            "https://h.example/?t=1",
            "https://h.example/#x",
            "npm:x",
            "https://h.example/../x",
            "https://h.example/x.tgz",
            "name@corp",
            "file:///srv",
            "ftp://h.example/",
            "https://h.example/ x",
        ] {
            assert!(RegistryPlace::parse_for(raw, PathStyle::Posix).is_err(), "{raw}");
        }
    }

    #[test]
    fn registries_have_plain_names() {
        assert!(["corp", "Corp-2", "a_b"].into_iter().all(is_registry_name));
        assert!(!["", "1corp", "a.b", "a b", "-a", "constructor"].into_iter().any(is_registry_name));
        let longest = "n".repeat(64);
        assert!(is_registry_name(&longest) && !is_registry_name(&format!("{longest}n")));
    }
}
