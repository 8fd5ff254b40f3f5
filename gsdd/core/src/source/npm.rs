//! Packages of an npm registry: names and selectors, nothing that npm would resolve to something else.

use semver::{Version, VersionReq};

use super::refusal::{SpecRefusal, SpecRefusalKind};

/// Which version of a package is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NpmSelector {
    /// None: the tag `latest`.
    None,
    /// `1.2.3`, with prerelease or build.
    Exact(String),
    /// `^1`, `~1.2`, `1.x`, `*`.
    Range(String),
    /// A tag such as `next`.
    Tag(String),
}

impl NpmSelector {
    /// The text after `@`; empty for [`NpmSelector::None`].
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::Exact(text) | Self::Range(text) | Self::Tag(text) => text,
        }
    }

    /// The range that it stands for, in npm's reading: a bare partial version means everything that begins so.
    /// `None` for anything but [`NpmSelector::Range`].
    #[must_use]
    pub fn range(&self) -> Option<VersionReq> {
        match self {
            Self::Range(text) => npm_range(text),
            Self::None | Self::Exact(_) | Self::Tag(_) => None,
        }
    }

    /// Whether `version` is one that this selector may lead to.
    #[must_use]
    pub fn admits(&self, version: &str) -> bool {
        let Ok(version) = Version::parse(version) else { return false };
        match self {
            Self::None => true,
            Self::Tag(tag) => tag == "latest",
            Self::Exact(exact) => Version::parse(exact).is_ok_and(|exact| exact == version),
            Self::Range(text) => npm_range(text).is_some_and(|range| range.matches(&version)),
        }
    }
}

/// Reads a range of the forms that a spec may have: at most one operator, up to three numbers or wildcards, and after
/// three a prerelease or build.
fn npm_range(raw: &str) -> Option<VersionReq> {
    let core = raw.trim_start_matches(['^', '~']);
    let operator = &raw[..raw.len() - core.len()];
    let core = core.strip_prefix('v').unwrap_or(core);
    let (numbers, suffix) = core.split_at(core.find(['-', '+']).unwrap_or(core.len()));
    let is_wild = |part: &&str| matches!(*part, "x" | "X" | "*");
    let parts: Vec<&str> = numbers.split('.').collect();
    let are_read = parts.iter().all(|part| is_wild(part) || part.bytes().all(|b| b.is_ascii_digit()));
    if !are_read || operator.len() > 1 || parts.len() > 3 || (parts.len() < 3 && !suffix.is_empty()) {
        return None;
    }
    // Nothing counts that follows a wildcard.
    let given: Vec<&str> = parts.into_iter().take_while(|part| !is_wild(part)).collect();
    let (usual, suffix) = if given.len() == 3 { ("=", suffix) } else { ("~", "") };
    let operator = if operator.is_empty() { usual } else { operator };
    if given.is_empty() {
        Some(VersionReq::STAR)
    } else {
        VersionReq::parse(&format!("{operator}{}{suffix}", given.join("."))).ok()
    }
}

/// Reads what follows `npm:`.
pub(super) fn package(raw: &str) -> Result<(String, NpmSelector), SpecRefusal> {
    if raw.is_empty() {
        return Err(SpecRefusalKind::NpmEmpty.refusal());
    }
    if raw.chars().any(|c| c.is_whitespace() || ";&|$`()<>!\"'\\%".contains(c)) {
        return Err(SpecRefusalKind::NpmUnsafeCharacters.refusal());
    }
    let not_a_package = SpecRefusalKind::NpmNotAPackage.refusal();
    let (name, selector) = match raw.char_indices().skip(1).find(|(_, c)| *c == '@') {
        Some((at, _)) => (&raw[..at], Some(&raw[at + 1..])),
        None => (raw, None),
    };
    if !is_name(name) {
        return Err(not_a_package);
    }
    let selector = selector.map_or(Some(NpmSelector::None), read_selector).ok_or(not_a_package)?;
    Ok((name.to_owned(), selector))
}

fn is_name(name: &str) -> bool {
    let bare = match name.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, bare)) if is_name_part(scope) => bare,
            _ => return false,
        },
        None => name,
    };
    name.len() <= 214 && is_name_part(bare) && bare != "node_modules" && bare != "favicon.ico"
}

fn is_name_part(part: &str) -> bool {
    part.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~'))
}

pub(super) fn read_selector(raw: &str) -> Option<NpmSelector> {
    if !raw
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'^' | b'~' | b'*' | b'_'))
    {
        return None;
    }
    if Version::parse(raw).is_ok() {
        return Some(NpmSelector::Exact(raw.to_owned()));
    }
    if npm_range(raw).is_some() {
        return Some(NpmSelector::Range(raw.to_owned()));
    }
    let is_tag =
        raw.bytes().next().is_some_and(|b| b.is_ascii_alphabetic()) && !raw.contains(['^', '~', '*', '+']);
    is_tag.then(|| NpmSelector::Tag(raw.to_owned()))
}

/// The selector of a text after `@`; an empty one is none.
#[cfg(test)]
pub(super) fn read_selector_or_none(raw: &str) -> Option<NpmSelector> {
    if raw.is_empty() { Some(NpmSelector::None) } else { read_selector(raw) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_versions_read_as_npm_reads_them() {
        for (range, inside, outside) in [
            ("1", "1.9.0", "2.0.0"),
            ("1.2", "1.2.9", "1.3.0"),
            ("v1.2.3", "1.2.3", "1.2.4"),
            ("1.x", "1.9.0", "2.0.0"),
            ("1.2.X", "1.2.9", "1.3.0"),
            ("^0.2.3", "0.2.9", "0.3.0"),
            ("^0", "0.9.0", "1.0.0"),
            ("^0.0.3", "0.0.3", "0.0.4"),
            ("~1", "1.9.0", "2.0.0"),
            ("~1.2.3", "1.2.9", "1.3.0"),
            ("*", "7.0.0", "8.0.0-rc.1"),
            ("^1.2.3-rc.1", "1.2.3-rc.2", "1.2.4-rc.1"),
            ("^1.2.3-rc.1", "1.9.0", "2.0.0"),
            ("^1.2.3-next.1", "1.2.3-next.2", "2.0.0"),
            ("v1.2.3-next.1", "1.2.3-next.1", "1.2.3"),
            ("^v1.2", "1.9.0", "2.0.0"),
            ("^1.x", "1.9.0", "2.0.0"),
            ("~1.2.x", "1.2.9", "1.3.0"),
            ("1.x.3", "1.0.0", "2.0.0"),
            ("x.1", "7.0.0", "8.0.0-rc.1"),
            ("latest", "1.0.0", "latest"),
            ("1.2.3", "1.2.3", "1.2.4"),
        ] {
            let selector = read_selector(range).unwrap();
            assert!(selector.admits(inside), "{range} {inside}");
            assert!(!selector.admits(outside), "{range} {outside}");
        }
        assert!(NpmSelector::None.admits("1.0.0") && !NpmSelector::Tag("next".to_owned()).admits("1.0.0"));
    }

    #[test]
    fn selectors_are_told_apart() {
        for (raw, expected) in [
            ("pkg", NpmSelector::None),
            ("pkg@1.2.3", NpmSelector::Exact("1.2.3".to_owned())),
            ("pkg@1.2.3-rc.1", NpmSelector::Exact("1.2.3-rc.1".to_owned())),
            ("@o/pkg@^1.0.0", NpmSelector::Range("^1.0.0".to_owned())),
            ("pkg@~1.2", NpmSelector::Range("~1.2".to_owned())),
            ("pkg@1.x", NpmSelector::Range("1.x".to_owned())),
            ("pkg@*", NpmSelector::Range("*".to_owned())),
            ("pkg@v1.2.3", NpmSelector::Range("v1.2.3".to_owned())),
            ("pkg@v1-beta", NpmSelector::Tag("v1-beta".to_owned())),
            (&"n".repeat(214), NpmSelector::None),
            ("@s/c-9.9.9@latest", NpmSelector::Tag("latest".to_owned())),
        ] {
            assert_eq!(package(raw).unwrap().1, expected, "{raw}");
        }
    }

    #[test]
    fn t95_t96_only_registry_packages() {
        assert_eq!(package("").unwrap_err().kind, SpecRefusalKind::NpmEmpty);
        for raw in ["a b", "a;b", "$(id)", "a\\b"] {
            assert_eq!(package(raw).unwrap_err().kind, SpecRefusalKind::NpmUnsafeCharacters, "{raw}");
        }
        for raw in [
            "../evil",
            "/abs",
            "file:../evil",
            "https://e.example/x.tgz",
            "git+https://e.example/r",
            "a@npm:b@1.0.0",
            "--registry=x",
            "pkg@1.0.0#frag",
            "@o",
            "@/p",
            ".hidden",
            "pkg@",
            "pkg@^^1",
            "pkg@~^1",
            "pkg@^^x",
            "pkg@^",
            "pkg@01.2",
            "pkg@^1.2-rc",
            "pkg@1.2.3.4",
            "pkg@*.*.*.*",
            "pkg@1..2",
            "pkg@*1",
            "pkg@99999999999999999999",
            "node_modules",
            "@o/favicon.ico",
            &"n".repeat(215),
            "user/repo",
            "pkg@a/b",
        ] {
            assert_eq!(package(raw).unwrap_err().kind, SpecRefusalKind::NpmNotAPackage, "{raw}");
        }
    }
}
