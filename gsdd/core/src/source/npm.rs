//! Packages of an npm registry: names and selectors, nothing that npm would resolve to something else.

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

fn read_selector(raw: &str) -> Option<NpmSelector> {
    if !raw
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'^' | b'~' | b'*' | b'_'))
    {
        return None;
    }
    if semver::Version::parse(raw).is_ok() {
        return Some(NpmSelector::Exact(raw.to_owned()));
    }
    let core = raw.trim_start_matches(['^', '~']);
    let core = core.strip_prefix('v').unwrap_or(core);
    let has_range_shape = raw.len() - core.len() <= 2
        && !core.is_empty()
        && core.split(['-', '+']).next().is_some_and(|numbers| {
            let parts: Vec<&str> = numbers.split('.').collect();
            parts.len() <= 3
                && parts.iter().all(|part| {
                    matches!(*part, "x" | "X" | "*")
                        || (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
                })
        });
    if has_range_shape {
        return Some(NpmSelector::Range(raw.to_owned()));
    }
    let is_tag =
        raw.bytes().next().is_some_and(|b| b.is_ascii_alphabetic()) && !raw.contains(['^', '~', '*', '+']);
    is_tag.then(|| NpmSelector::Tag(raw.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("@s/c-9.9.9@latest", NpmSelector::Tag("latest".to_owned())),
        ] {
            assert_eq!(package(raw).unwrap().1, expected, "{raw}");
        }
    }

    #[test]
    fn t95_t96_only_registry_packages() {
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
            "pkg@^^^1",
            "user/repo",
            "pkg@a/b",
        ] {
            assert_eq!(package(raw).unwrap_err().kind, SpecRefusalKind::NpmNotAPackage, "{raw}");
        }
    }
}
