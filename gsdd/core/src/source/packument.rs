//! What an npm registry says about a package: its versions, its tags, and for each version where the archive is and
//! which digest it has.
//!
//! Both forms are read, the full one and the abbreviated one. The text is a stranger's: whatever has another shape than
//! expected is left out, and only a document that is no package at all is refused.
//!
//! Source: ADR-1244 D3 (npm adapter), decision D-15.

use std::collections::{BTreeMap, HashSet};

use semver::Version;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::choice::{Choice, Considered, Verdict};
use super::npm::NpmSelector;

/// Largest document that is read, in bytes. The largest full ones of the public registry have about a third of it.
pub const MAX_PACKUMENT_BYTES: u64 = 32 * 1024 * 1024;

/// Most versions that are read; the rest is left out.
const MAX_RELEASES: usize = 20_000;

/// The tag that is meant when none is named.
const LATEST: &str = "latest";

/// A package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packument {
    /// Tag to version, only versions that are offered.
    tags: BTreeMap<String, String>,
    /// The highest first.
    releases: Vec<Release>,
}

/// One version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// As published.
    pub version: String,
    /// URL of the archive.
    pub tarball: Option<String>,
    /// `dist.integrity`: one or several digests.
    pub integrity: Option<String>,
    /// Words of the publisher against it.
    pub deprecated: Option<String>,
    /// Whether a package manager would run scripts of it. We never do.
    pub has_install_script: bool,
    /// Number of packages that a package manager would install beside it. We install none.
    pub dependencies: usize,
    /// `engines.gsd` of its `package.json`.
    pub engines_gsd: Option<String>,
    /// URL of its provenance attestations.
    pub attestations: Option<String>,
    parsed: Version,
}

/// A document that is no package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackumentProblem {
    /// Too many bytes.
    #[error("the description of the package has more than {MAX_PACKUMENT_BYTES} bytes")]
    TooLarge,
    /// Not JSON of the expected shape.
    #[error("the registry's answer is no description of a package")]
    NotAPackage,
    /// Another package than the one that was asked for.
    #[error("the registry answered with another package")]
    OtherPackage,
}

#[derive(Deserialize)]
struct RawPackument {
    name: Option<String>,
    #[serde(default, rename = "dist-tags")]
    tags: Option<Box<RawValue>>,
    #[serde(default)]
    versions: BTreeMap<String, Box<RawValue>>,
}

/// Members of any type: one that has another type than expected counts as absent.
#[derive(Deserialize)]
struct RawRelease {
    #[serde(default)]
    dist: Value,
    #[serde(default)]
    deprecated: Value,
    #[serde(default, rename = "hasInstallScript")]
    has_install_script: Value,
    #[serde(default)]
    scripts: Value,
    #[serde(default)]
    engines: Value,
    #[serde(default)]
    dependencies: Value,
}

impl Packument {
    /// Reads the registry's answer to a question for `name`.
    ///
    /// # Errors
    /// [`PackumentProblem`] for what is no description of that package.
    pub fn read(bytes: &[u8], name: &str) -> Result<Self, PackumentProblem> {
        if bytes.len() as u64 > MAX_PACKUMENT_BYTES {
            return Err(PackumentProblem::TooLarge);
        }
        let raw: RawPackument = serde_json::from_slice(bytes).map_err(|_| PackumentProblem::NotAPackage)?;
        if raw.name.as_deref().is_some_and(|found| found != name) {
            return Err(PackumentProblem::OtherPackage);
        }
        let mut releases: Vec<Release> = raw
            .versions
            .into_iter()
            .take(MAX_RELEASES)
            .filter_map(|(version, raw)| Release::read(version, &raw))
            .collect();
        releases.sort_by(|left, right| right.parsed.cmp(&left.parsed));
        // A registry could list a hundred thousand of each.
        let offered: HashSet<&str> = releases.iter().map(|release| release.version.as_str()).collect();
        let tags: BTreeMap<String, Value> =
            raw.tags.and_then(|tags| serde_json::from_str(tags.get()).ok()).unwrap_or_default();
        let tags = tags
            .into_iter()
            .filter_map(|(tag, version)| Some((tag, version.as_str()?.to_owned())))
            .filter(|(_, version)| offered.contains(version.as_str()))
            .collect();
        Ok(Self { tags, releases })
    }

    /// The version of that name.
    #[must_use]
    pub fn release(&self, version: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.version == version)
    }

    /// Names of the tags.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.keys().map(String::as_str)
    }

    /// Chooses as npm does: the version of the tag, or the one that is named; for a range the tag `latest` when it is
    /// inside, else the highest inside, and a deprecated one only when there is no other. Beyond that, a version whose
    /// `package.json` says that it needs another GSD gives way, unless it or its tag was named; `runs_here` answers for
    /// a range of GSD.
    #[must_use]
    pub fn choose(&self, selector: &NpmSelector, runs_here: impl Fn(&str) -> bool) -> Choice {
        let range = selector.range();
        let tagged = |tag: &str| self.tags.get(tag).and_then(|version| self.release(version));
        let named = match selector {
            NpmSelector::Exact(version) => self.exact(version),
            NpmSelector::Tag(tag) if tag != LATEST => tagged(tag),
            NpmSelector::Tag(_) | NpmSelector::None | NpmSelector::Range(_) => None,
        };
        let is_open = named.is_none() && !matches!(selector, NpmSelector::Exact(_));
        let is_open = is_open && !matches!(selector, NpmSelector::Tag(tag) if tag != LATEST);
        let latest = tagged(LATEST);
        let misfit = |release: &Release| release.engines_gsd.clone().filter(|range| !runs_here(range));
        let covered = |release: &Release| match &range {
            Some(range) => range.matches(&release.parsed),
            // Without a selector everything up to the tag is offered: what is above it was not released to everybody.
            None => {
                release.parsed.pre.is_empty() && latest.is_none_or(|latest| release.parsed <= latest.parsed)
            }
        };
        // npm takes `latest` for `*` even when it is a prerelease.
        let is_star =
            matches!(selector, NpmSelector::Range(range) if matches!(range.as_str(), "*" | "x" | "X"));
        let prefers = |release: &Release| {
            latest.is_some_and(|latest| {
                latest.version == release.version && (is_star || range.is_none() || covered(release))
            })
        };
        let usable = |release: &&Release| {
            is_open && (prefers(release) || covered(release)) && misfit(release).is_none()
        };
        let taken = named.or_else(|| {
            let mut all = self.releases.iter().filter(usable);
            let fresh = |release: &&Release| release.deprecated.is_none();
            // A tag is the publisher's word: `latest` counts without a range even when it is deprecated.
            all.clone()
                .find(|release| prefers(release) && (range.is_none() || fresh(release)))
                .or_else(|| all.clone().find(fresh))
                .or_else(|| all.next())
        });
        let verdict = |release: &Release| {
            if taken.is_some_and(|taken| taken.version == release.version) {
                return Verdict::Taken;
            }
            if !is_open {
                return Verdict::NotSelected;
            }
            if !(prefers(release) || covered(release)) {
                return if release.parsed.pre.is_empty() {
                    Verdict::NotSelected
                } else {
                    Verdict::Prerelease
                };
            }
            match (misfit(release), &release.deprecated) {
                (Some(range), _) => Verdict::NeedsGsd(range),
                (None, Some(words)) => Verdict::Deprecated(words.clone()),
                (None, None) => Verdict::Lower,
            }
        };
        Choice {
            taken: taken.map(|release| release.version.clone()),
            considered: self
                .releases
                .iter()
                .map(|release| Considered { version: release.version.clone(), verdict: verdict(release) })
                .collect(),
        }
    }

    /// A named version, with or without the build part, which registries strip.
    fn exact(&self, version: &str) -> Option<&Release> {
        self.release(version).or_else(|| {
            let wanted = Version::parse(version).ok()?;
            self.releases.iter().find(|release| release.parsed.cmp_precedence(&wanted).is_eq())
        })
    }
}

impl Release {
    fn read(version: String, raw: &RawValue) -> Option<Self> {
        let parsed = Version::parse(&version).ok()?;
        let raw: RawRelease = serde_json::from_str(raw.get()).ok()?;
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let scripted = ["preinstall", "install", "postinstall"]
            .iter()
            .any(|stage| raw.scripts.get(stage).is_some_and(Value::is_string));
        Some(Self {
            tarball: raw.dist.get("tarball").and_then(text),
            integrity: raw.dist.get("integrity").and_then(text),
            deprecated: match &raw.deprecated {
                Value::Bool(true) => Some(String::new()),
                other => text(other),
            },
            has_install_script: raw.has_install_script == Value::Bool(true) || scripted,
            dependencies: raw.dependencies.as_object().map_or(0, serde_json::Map::len),
            engines_gsd: raw.engines.get("gsd").and_then(text),
            attestations: raw.dist.pointer("/attestations/url").and_then(text),
            version,
            parsed,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn packument(latest: &str, versions: &[(&str, Value)]) -> Packument {
        let versions: BTreeMap<&str, &Value> =
            versions.iter().map(|(version, body)| (*version, body)).collect();
        let document =
            json!({"name": "p", "dist-tags": {"latest": latest, "next": "2.0.0-rc.1"}, "versions": versions});
        Packument::read(document.to_string().as_bytes(), "p").unwrap()
    }

    fn plain(latest: &str, versions: &[&str]) -> Packument {
        let versions: Vec<_> = versions.iter().map(|version| (*version, json!({}))).collect();
        packument(latest, &versions)
    }

    #[track_caller]
    fn taken(packument: &Packument, selector: &NpmSelector, expected: Option<&str>) {
        let runs_here = |range: &str| range != ">=9";
        assert_eq!(packument.choose(selector, runs_here).taken.as_deref(), expected, "{selector:?}");
    }

    fn range(text: &str) -> NpmSelector {
        NpmSelector::Range(text.to_owned())
    }

    #[test]
    fn ranges_are_chosen_from_as_npm_does() {
        let all = plain("1.1.0", &["1.0.0", "1.1.0", "1.2.0", "1.10.0", "2.0.0-rc.1"]);
        // The tag wins over higher versions, as long as it is inside.
        taken(&all, &range("^1"), Some("1.1.0"));
        taken(&all, &range("*"), Some("1.1.0"));
        taken(&all, &range("^1.2"), Some("1.10.0"));
        taken(&all, &range("1.0.x"), Some("1.0.0"));
        taken(&all, &range("^2"), None);
        taken(&all, &range("^2.0.0-rc.0"), Some("2.0.0-rc.1"));
        taken(&all, &range("^v1.2"), Some("1.10.0"));
        taken(&all, &range("^3.0.0-next.1"), None);
        taken(&all, &NpmSelector::None, Some("1.1.0"));
        taken(&all, &NpmSelector::Tag("next".to_owned()), Some("2.0.0-rc.1"));
        taken(&all, &NpmSelector::Tag("gone".to_owned()), None);
        taken(&all, &NpmSelector::Exact("1.2.0".to_owned()), Some("1.2.0"));
        taken(&all, &NpmSelector::Exact("1.2.0+build".to_owned()), Some("1.2.0"));
        taken(&all, &NpmSelector::Exact("3.0.0".to_owned()), None);
        let choice = all.choose(&NpmSelector::None, |_| true);
        let verdicts: Vec<&str> = choice.considered.iter().map(|row| row.verdict.name()).collect();
        assert_eq!(verdicts, ["prerelease", "not-selected", "not-selected", "taken", "lower"]);
        let only = plain("1.0.0-rc.1", &["1.0.0-rc.1"]);
        taken(&only, &range("*"), Some("1.0.0-rc.1"));
        taken(&only, &NpmSelector::None, Some("1.0.0-rc.1"));
    }

    #[test]
    fn deprecated_versions_go_last() {
        let old = json!({"deprecated": "use 1.0.0"});
        let all = packument("1.1.0", &[("1.0.0", json!({})), ("1.1.0", old.clone())]);
        taken(&all, &range("^1"), Some("1.0.0"));
        taken(&all, &NpmSelector::None, Some("1.1.0"));
        taken(&packument("1.1.0", &[("1.0.0", old.clone()), ("1.1.0", old)]), &range("^1"), Some("1.1.0"));
        let choice = all.choose(&range("^1"), |_| true);
        assert_eq!(choice.verdict("1.1.0").unwrap().reason(), "deprecated: use 1.0.0");
        // `""` and `false` are how a deprecation is taken back.
        let back = packument("1.1.0", &[("1.0.0", json!({})), ("1.1.0", json!({"deprecated": ""}))]);
        taken(&back, &range("^1"), Some("1.1.0"));
    }

    #[test]
    fn a_version_for_another_gsd_gives_way_and_is_named() {
        let newer = json!({"engines": {"gsd": ">=9"}});
        let all = packument("2.0.0", &[("1.0.0", json!({})), ("1.5.0", json!({})), ("2.0.0", newer)]);
        taken(&all, &NpmSelector::None, Some("1.5.0"));
        taken(&all, &range("*"), Some("1.5.0"));
        taken(&all, &NpmSelector::Tag("latest".to_owned()), Some("1.5.0"));
        let choice = all.choose(&NpmSelector::None, |_| false);
        assert_eq!(choice.passed_over_for_gsd(), Some(("2.0.0", ">=9")));
        // Whoever names a version gets it, and the gate at install says why it does not run.
        taken(&all, &NpmSelector::Exact("2.0.0".to_owned()), Some("2.0.0"));
    }

    #[test]
    fn members_of_other_types_are_left_out() {
        let document = json!({
            "name": "p", "dist-tags": {"latest": "1.0.0", "bad": 5, "ghost": "9.9.9"},
            "versions": {
                "1.0.0": {"dist": {"tarball": "https://h.example/p.tgz", "integrity": 5, "attestations": {"url": "https://h.example/a"}},
                          "engines": ["x"], "scripts": {"postinstall": "node evil.js"}},
                "1.0.1": "text", "not a version": {}, "2.0.0": {"dist": [], "hasInstallScript": "yes"},
            }
        });
        let read = Packument::read(document.to_string().as_bytes(), "p").unwrap();
        assert_eq!(read.tags().collect::<Vec<_>>(), ["latest"]);
        let release = read.release("1.0.0").unwrap();
        assert_eq!((release.integrity.as_deref(), release.has_install_script), (None, true));
        assert_eq!(release.attestations.as_deref(), Some("https://h.example/a"));
        assert!(
            read.release("1.0.1").is_none()
                && read.release("2.0.0").is_some_and(|two| !two.has_install_script)
        );
    }

    #[test]
    fn what_is_no_package_is_refused() {
        let other = json!({"name": "other", "versions": {}}).to_string();
        assert_eq!(Packument::read(other.as_bytes(), "p"), Err(PackumentProblem::OtherPackage));
        for text in ["", "[]", "null", "{\"versions\":[]}", "<html>"] {
            assert_eq!(Packument::read(text.as_bytes(), "p"), Err(PackumentProblem::NotAPackage), "{text}");
        }
        let large = vec![0; 33_554_433];
        assert_eq!(Packument::read(&large, "p"), Err(PackumentProblem::TooLarge));
        assert_eq!(Packument::read(&large[1..], "p"), Err(PackumentProblem::NotAPackage));
        assert_eq!(Packument::read(b"{}", "p").map(|read| read.releases.len()), Ok(0));
    }

    proptest! {
        /// Whatever a registry answers, reading and choosing ends, and a version that is taken was offered.
        #[test]
        fn arbitrary_documents_are_answered(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            versions in prop::collection::btree_map("[0-9]{1,2}\\.[0-9]\\.[0-9](-rc)?|x", "\\{\\}|5|\\{\"dist\":[0-9\\[\\]]{1,3}\\}|\\{\"engines\":\\{\"gsd\":\"1\"\\}\\}", 0..6),
            tag in "[0-9]{1,2}\\.[0-9]\\.[0-9]",
            selector in "\\*|[~^]?[0-9](\\.[0-9x])?|latest|[0-9]\\.[0-9]\\.[0-9]|",
        ) {
            let _ = Packument::read(&bytes, "p");
            let versions: Vec<String> = versions.iter().map(|(name, body)| format!("\"{name}\":{body}")).collect();
            let text = format!("{{\"dist-tags\":{{\"latest\":\"{tag}\"}},\"versions\":{{{}}}}}", versions.join(","));
            if let (Ok(read), Some(selector)) =
                (Packument::read(text.as_bytes(), "p"), crate::source::npm::read_selector_or_none(&selector))
            {
                let choice = read.choose(&selector, |_| false);
                prop_assert_eq!(choice.considered.len(), read.releases.len());
                if let Some(taken) = choice.taken {
                    prop_assert!(read.release(&taken).is_some());
                    prop_assert_eq!(choice.considered.iter().filter(|row| row.verdict == Verdict::Taken).count(), 1);
                }
            }
        }
    }
}
