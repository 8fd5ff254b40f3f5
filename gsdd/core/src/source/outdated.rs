//! Whether a newer version of an installed capability is offered where it came from.
//!
//! Planning says what to ask, the shell asks, and the functions here read the answer. Nothing fails: what can't be
//! told is "unknown".
//!
//! Source: ADR-1244 D3 and D6, lifecycle formats section 15.

use std::cmp::Ordering;

use semver::Version;

use super::compat::compare_cores;
use super::git_ref::GitRef;
use super::npm::NpmSelector;
use super::packument::Packument;
use super::spec::SourceSpec;

/// What has to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeekPlan {
    /// Nothing; this is the answer.
    Answered(Peek),
    /// All tags of a repository; read with [`from_git_tags`].
    GitTags {
        /// The repository.
        url: String,
    },
    /// What a name is in a repository; read with [`from_git_ref`].
    GitRef {
        /// The repository.
        url: String,
        /// The name.
        name: String,
    },
    /// Versions and tags of a package; read with [`from_npm`].
    Npm {
        /// The package.
        name: String,
        /// Which of them count.
        selector: NpmSelector,
    },
    /// The entry of a named registry; read with [`from_version`].
    Registry {
        /// The entry.
        name: String,
        /// The registry; the default one when absent.
        registry: Option<String>,
        /// Which versions count.
        selector: Option<String>,
    },
    /// The manifest in a folder; read with [`from_version`].
    Manifest {
        /// The folder, as recorded.
        path: String,
    },
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// What is known.
    pub status: PeekStatus,
    /// The version that is offered, or the pinned one.
    pub version: Option<String>,
}

/// What is known about newer versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekStatus {
    /// A version is offered.
    Found,
    /// The source names one version for ever.
    Pinned,
    /// Only the person can tell: an archive.
    Manual,
    /// Nothing.
    Unknown,
}

impl Peek {
    fn of(status: PeekStatus) -> Self {
        Self { status, version: None }
    }

    fn found(version: Option<String>) -> Self {
        match version {
            Some(version) => Self { status: PeekStatus::Found, version: Some(version) },
            None => Self::of(PeekStatus::Unknown),
        }
    }
}

/// A row of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A higher version is offered.
    Outdated,
    /// None is.
    Current,
    /// The source names one version for ever.
    Pinned,
    /// Only the person can tell.
    Manual,
    /// Nothing is known.
    Unknown,
}

impl Freshness {
    /// Short stable name for programs; upstream's words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Outdated => "outdated",
            Self::Current => "current",
            Self::Pinned => "pinned",
            Self::Manual => "manual",
            Self::Unknown => "unknown",
        }
    }
}

/// What to ask for a recorded source.
#[must_use]
pub fn plan_peek(recorded: &str) -> PeekPlan {
    let answered = |status| PeekPlan::Answered(Peek::of(status));
    match SourceSpec::parse(recorded) {
        Err(_) => answered(PeekStatus::Unknown),
        Ok(SourceSpec::Local { path }) => PeekPlan::Manifest { path },
        Ok(SourceSpec::Tarball { .. }) => answered(PeekStatus::Manual),
        Ok(SourceSpec::Registry { selector: Some(version), .. }) if Version::parse(&version).is_ok() => {
            PeekPlan::Answered(Peek { status: PeekStatus::Pinned, version: Some(version) })
        }
        Ok(SourceSpec::Registry { name, registry, selector }) => {
            PeekPlan::Registry { name, registry, selector }
        }
        Ok(SourceSpec::Oci { digest: Some(_), .. }) => answered(PeekStatus::Pinned),
        Ok(SourceSpec::Oci { .. }) => answered(PeekStatus::Unknown),
        Ok(SourceSpec::Npm { selector: NpmSelector::Exact(version), .. }) => {
            PeekPlan::Answered(Peek { status: PeekStatus::Pinned, version: Some(version) })
        }
        Ok(SourceSpec::Npm { name, selector }) => PeekPlan::Npm { name, selector },
        Ok(SourceSpec::Git { url, reference, .. }) => match reference {
            GitRef::None => PeekPlan::GitTags { url },
            GitRef::Tag(_) | GitRef::Commit(_) => answered(PeekStatus::Pinned),
            GitRef::Branch(_) => answered(PeekStatus::Unknown),
            GitRef::Bare(name) => PeekPlan::GitRef { url, name },
        },
    }
}

/// Reads a list of refs (`<id>TAB<name>` lines): the highest release among the tags.
#[must_use]
pub fn from_git_tags(refs: &str) -> Peek {
    let releases = ref_names(refs)
        .filter_map(|name| name.strip_prefix("refs/tags/"))
        .map(|tag| tag.strip_prefix('v').unwrap_or(tag))
        .filter(|tag| is_release(tag));
    Peek::found(highest(releases).map(str::to_owned))
}

/// The tag of a release in a list of refs: the version itself, or with a `v` in front.
#[must_use]
pub fn tag_of<'r>(refs: &'r str, version: &str) -> Option<&'r str> {
    let version = version.strip_prefix('v').unwrap_or(version);
    // What is no version could be anything, and the name goes to git.
    Version::parse(version).ok()?;
    ref_names(refs)
        .filter_map(|name| name.strip_prefix("refs/tags/"))
        .find(|tag| tag.strip_prefix('v').unwrap_or(tag) == version)
}

/// Reads a list of refs: a name that only tags have is pinned, anything else can't be compared.
#[must_use]
pub fn from_git_ref(refs: &str) -> Peek {
    let (mut tags, mut others) = (false, false);
    for name in ref_names(refs) {
        if name.starts_with("refs/tags/") {
            tags = true;
        } else {
            others = true;
        }
    }
    Peek::of(if tags && !others { PeekStatus::Pinned } else { PeekStatus::Unknown })
}

/// Reads what a registry says about a package: the version that an update would take.
#[must_use]
pub fn from_npm(selector: &NpmSelector, packument: &Packument, runs_here: impl Fn(&str) -> bool) -> Peek {
    match selector {
        NpmSelector::Exact(version) => Peek { status: PeekStatus::Pinned, version: Some(version.clone()) },
        NpmSelector::None | NpmSelector::Tag(_) | NpmSelector::Range(_) => {
            Peek::found(packument.choose(selector, runs_here).taken)
        }
    }
}

/// Reads a version of a manifest or registry entry.
#[must_use]
pub fn from_version(version: Option<&str>) -> Peek {
    Peek::found(version.filter(|version| !version.is_empty()).map(str::to_owned))
}

/// Compares the answer with what is installed.
#[must_use]
pub fn freshness(peek: &Peek, installed: &str) -> Freshness {
    match (peek.status, &peek.version) {
        (PeekStatus::Found, Some(offered)) if compare_cores(offered, installed) == Ordering::Greater => {
            Freshness::Outdated
        }
        (PeekStatus::Found, Some(_)) => Freshness::Current,
        (PeekStatus::Pinned, _) => Freshness::Pinned,
        (PeekStatus::Manual, _) => Freshness::Manual,
        (PeekStatus::Unknown | PeekStatus::Found, _) => Freshness::Unknown,
    }
}

fn ref_names(refs: &str) -> impl Iterator<Item = &str> {
    refs.lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, name)| name.trim())
        .filter(|n| !n.ends_with("^{}"))
}

fn is_release(tag: &str) -> bool {
    let mut parts = tag.split('.');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    number(parts.next()) && number(parts.next()) && number(parts.next()) && parts.next().is_none()
}

fn highest<'v>(versions: impl Iterator<Item = &'v str>) -> Option<&'v str> {
    versions.reduce(|best, next| if compare_cores(next, best) == Ordering::Greater { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_compare_cores() {
        for (peek, word) in [
            (from_version(Some("1.10.0")), "outdated"),
            (from_version(Some("1.9.0-rc.1")), "current"),
            (from_version(Some("")), "unknown"),
            (from_version(None), "unknown"),
            (Peek::of(PeekStatus::Pinned), "pinned"),
            (Peek::of(PeekStatus::Manual), "manual"),
        ] {
            assert_eq!(freshness(&peek, "1.9.0").name(), word, "{peek:?}");
        }
    }

    #[test]
    fn a_registry_is_asked_unless_one_version_is_named() {
        let asked = |selector: Option<&str>| PeekPlan::Registry {
            name: "cap".to_owned(),
            registry: Some("corp".to_owned()),
            selector: selector.map(str::to_owned),
        };
        let pinned = Peek { status: PeekStatus::Pinned, version: Some("1.0.0".to_owned()) };
        for (recorded, plan) in [
            ("cap@corp", asked(None)),
            ("cap@corp@1.x", asked(Some("1.x"))),
            ("cap@corp@1.0.0", PeekPlan::Answered(pinned)),
        ] {
            assert_eq!(plan_peek(recorded), plan, "{recorded}");
        }
    }

    #[test]
    fn the_tag_of_a_release_is_found() {
        let refs = "a\trefs/tags/v1.0.0\nb\trefs/tags/v1.0.0^{}\nc\trefs/tags/2.0.0\nd\trefs/heads/3.0.0\ne\trefs/tags/next\n";
        for (version, tag) in [
            ("1.0.0", Some("v1.0.0")),
            ("v1.0.0", Some("v1.0.0")),
            ("2.0.0", Some("2.0.0")),
            ("3.0.0", None),
            ("next", None),
        ] {
            assert_eq!(tag_of(refs, version), tag, "{version}");
        }
    }
}
