//! One file of an index: the versions of one capability.

use semver::Version as Semver;
use serde_json::{Map, Value, json};

use super::super::choice::{Choice, Considered, Verdict};
use super::super::git_ref::GitRef;
use super::super::integrity::Pin;
use super::super::npm::{NpmSelector, read_selector};
use super::super::spec::{PathStyle, SourceSpec};
use super::{FORMAT, IndexName, MAX_ENTRY_BYTES, check_format};
use crate::bundle::RelPath;
use crate::json;
use crate::trust::{ContentHash, PublisherKey, PublisherSignature};
use crate::version::{EngineRange, HostVersion};

/// Most versions of one entry.
pub(super) const MAX_VERSIONS: usize = 4096;

/// How the archives of an index are named.
pub(super) const ARCHIVE_ENDINGS: [&str; 4] = [".tgz", ".tar.gz", ".tar.zst", ".tar.xz"];

/// The versions of one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the entry is called.
    pub name: IndexName,
    /// One line for people; not cleaned.
    pub title: Option<String>,
    /// Who publishes it.
    pub publisher: Option<Publisher>,
    /// Which GSD older versions run on, as the publisher says it now: version and range.
    pub compat_versions: Vec<(String, String)>,
    /// The highest first; versions that can't be read are not among them.
    pub versions: Vec<Version>,
    /// What of the file can't be used, and why; without text from the file.
    pub objections: Vec<String>,
}

/// Who publishes a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// For people; not cleaned.
    pub name: Option<String>,
    /// Public key of minisign, base64 on one line.
    pub key: Option<String>,
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// As published: a full version.
    pub version: String,
    /// Where its bytes are.
    pub origin: Origin,
    /// Digest of the archive; always there where there is an archive.
    pub integrity: Option<Pin>,
    /// Hash of the bundle.
    pub content_hash: ContentHash,
    /// The publisher's signature in the format of minisign, not verified: over the archive, or over the line of
    /// `contentHash` for another source.
    pub signature: Option<String>,
    /// `engines.gsd` of its manifest.
    pub engines_gsd: Option<String>,
    /// The publisher took it back, in these words.
    pub yanked: Option<String>,
    parsed: Semver,
}

/// Where the bytes of a version are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An archive in the index itself.
    Archive(RelPath),
    /// Another source, which names exactly one content: a commit, an exact version, an archive, a digest.
    Source(SourceSpec),
}

/// A file that is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// Too many bytes.
    #[error("the file has more than {MAX_ENTRY_BYTES} bytes")]
    TooLarge,
    /// Not JSON, or a key twice in one object.
    #[error("the file is not JSON, or has a key twice")]
    NotJson,
    /// No `format`.
    #[error("the file has no `format` and is no file of a registry index")]
    NotAnIndex,
    /// A format that a later version writes.
    #[error("the index has another format than {FORMAT}, the one that this version reads")]
    OtherFormat,
    /// Another capability.
    #[error("the file is about another capability")]
    OtherName,
}

impl Entry {
    /// Reads the file of `name`.
    ///
    /// # Errors
    /// [`EntryProblem`] when the file as a whole is of no use; versions that can't be read are objections.
    pub fn read(bytes: &[u8], name: &IndexName) -> Result<Self, EntryProblem> {
        if bytes.len() as u64 > MAX_ENTRY_BYTES {
            return Err(EntryProblem::TooLarge);
        }
        let document = json::parse_strict(bytes).map_err(|_| EntryProblem::NotJson)?;
        check_format(&document)?;
        if document.get("name").and_then(Value::as_str) != Some(&name.to_string()) {
            return Err(EntryProblem::OtherName);
        }
        let mut objections = Vec::new();
        let text = |key: &str, objections: &mut Vec<String>| match document.get(key) {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                objections.push(format!("`{key}` is not a text"));
                None
            }
        };
        let title = text("title", &mut objections);
        let publisher = document.get("publisher").and_then(|raw| publisher(raw, &mut objections));
        let compat_versions = compat_versions(document.get("compatVersions"), &mut objections);
        let mut versions: Vec<Version> = Vec::new();
        match document.get("versions") {
            Some(Value::Array(rows)) => {
                if rows.len() > MAX_VERSIONS {
                    objections.push(format!("only the first {MAX_VERSIONS} versions are read"));
                }
                for (at, row) in rows.iter().take(MAX_VERSIONS).enumerate() {
                    match version(row) {
                        Ok(one) if versions.iter().any(|other| other.version == one.version) => {
                            objections.push(format!("/versions/{at}: the version stands twice"));
                        }
                        Ok(one) => versions.push(one),
                        Err(why) => objections.push(format!("/versions/{at}: {why}")),
                    }
                }
            }
            _ => objections.push("`versions` is not a list".to_owned()),
        }
        versions.sort_by(|left, right| right.parsed.cmp(&left.parsed));
        Ok(Self { name: name.clone(), title, publisher, compat_versions, versions, objections })
    }

    /// The version of that name.
    #[must_use]
    pub fn version(&self, version: &str) -> Option<&Version> {
        self.versions.iter().find(|row| row.version == version)
    }

    /// Chooses for a host: the version that is named, else the highest one that the selector covers, that was not taken
    /// back, that is no prerelease, and that runs here. A version runs here when its `engines.gsd` says so, and
    /// `compatVersions`, the publisher's later word, does not say otherwise.
    #[must_use]
    pub fn choose(&self, selector: Option<&str>, host: HostVersion) -> Choice {
        let selector = selector.map_or(Some(NpmSelector::None), read_selector);
        let named = match &selector {
            Some(NpmSelector::Exact(version)) => Some(version.as_str()),
            _ => None,
        };
        let mut taken = None;
        let mut considered = Vec::new();
        for row in &self.versions {
            let verdict = if let Some(words) = &row.yanked {
                Verdict::Yanked(words.clone())
            } else if let Some(named) = named {
                if row.version == named { Verdict::Taken } else { Verdict::NotSelected }
            } else if !selector.as_ref().is_some_and(|selector| selector.admits(&row.version)) {
                Verdict::NotSelected
            } else if !row.parsed.pre.is_empty() {
                Verdict::Prerelease
            } else if let Some(range) = self.misfit(row, host) {
                Verdict::NeedsGsd(range)
            } else if taken.is_some() {
                Verdict::Lower
            } else {
                Verdict::Taken
            };
            if verdict == Verdict::Taken {
                taken = Some(row.version.clone());
            }
            considered.push(Considered { version: row.version.clone(), verdict });
        }
        Choice { taken, considered }
    }

    /// The range that `row` needs and this host does not satisfy.
    fn misfit(&self, row: &Version, host: HostVersion) -> Option<String> {
        let own = row
            .engines_gsd
            .as_ref()
            .filter(|range| !EngineRange::parse(range).is_ok_and(|range| range.satisfies(host)));
        let later = || {
            let (_, range) = self.compat_versions.iter().find(|(version, _)| *version == row.version)?;
            (!EngineRange::parse_compat(range).is_ok_and(|range| range.satisfies(host))).then_some(range)
        };
        own.or_else(later).cloned()
    }

    /// The document of the entry; it reads back as the same entry.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut document = Map::new();
        let mut put = |key: &str, value: Value| drop(document.insert(key.to_owned(), value));
        put("format", json!(FORMAT));
        put("name", json!(self.name.to_string()));
        if let Some(title) = &self.title {
            put("title", json!(title));
        }
        if let Some(publisher) = &self.publisher {
            let pairs = [("name", &publisher.name), ("key", &publisher.key)];
            let pairs =
                pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value.as_ref()?))));
            put("publisher", Value::Object(pairs.collect()));
        }
        if !self.compat_versions.is_empty() {
            let pairs = self.compat_versions.iter().map(|(version, range)| (version.clone(), json!(range)));
            put("compatVersions", Value::Object(pairs.collect()));
        }
        put("versions", self.versions.iter().map(Version::to_json).collect());
        Value::Object(document)
    }
}

impl Version {
    /// A version from its parts; `None` when `version` is no full version.
    #[must_use]
    pub fn new(
        version: &str,
        origin: Origin,
        integrity: Option<Pin>,
        content_hash: ContentHash,
    ) -> Option<Self> {
        let parsed = Semver::parse(version).ok()?;
        let version = version.to_owned();
        Some(Self {
            version,
            origin,
            integrity,
            content_hash,
            signature: None,
            engines_gsd: None,
            yanked: None,
            parsed,
        })
    }

    /// The same version with its `engines.gsd`.
    #[must_use]
    pub fn for_gsd(self, range: Option<&str>) -> Self {
        Self { engines_gsd: range.map(str::to_owned), ..self }
    }

    fn to_json(&self) -> Value {
        let mut row = Map::new();
        let mut put = |key: &str, value: Value| drop(row.insert(key.to_owned(), value));
        put("version", json!(self.version));
        match &self.origin {
            Origin::Archive(path) => put("archive", json!(path.as_str())),
            Origin::Source(spec) => put("source", json!(spec.recorded())),
        }
        if let Some(integrity) = &self.integrity {
            put("integrity", json!(integrity.as_str()));
        }
        put("contentHash", json!(self.content_hash.as_str()));
        if let Some(signature) = &self.signature {
            put("signature", json!(signature));
        }
        if let Some(range) = &self.engines_gsd {
            put("engines", json!({"gsd": range}));
        }
        match self.yanked.as_deref() {
            None => {}
            Some("") => put("yanked", json!(true)),
            Some(words) => put("yanked", json!(words)),
        }
        Value::Object(row)
    }
}

fn publisher(raw: &Value, objections: &mut Vec<String>) -> Option<Publisher> {
    let Value::Object(raw) = raw else {
        objections.push("`publisher` is not an object".to_owned());
        return None;
    };
    let name = raw.get("name").and_then(Value::as_str).map(str::to_owned);
    if raw.get("name").is_some_and(|name| !name.is_string()) {
        objections.push("/publisher/name is not a text".to_owned());
    }
    let key = raw
        .get("key")
        .and_then(Value::as_str)
        .filter(|key| PublisherKey::parse(key).is_ok())
        .map(str::to_owned);
    if raw.contains_key("key") && key.is_none() {
        objections.push("/publisher/key is no public key of minisign".to_owned());
    }
    Some(Publisher { name, key })
}

fn compat_versions(raw: Option<&Value>, objections: &mut Vec<String>) -> Vec<(String, String)> {
    match raw {
        None => Vec::new(),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .filter_map(|(version, range)| match range.as_str() {
                Some(range) => Some((version.clone(), range.to_owned())),
                None => {
                    objections.push("a range of `compatVersions` is not a text".to_owned());
                    None
                }
            })
            .collect(),
        Some(_) => {
            objections.push("`compatVersions` is not an object".to_owned());
            Vec::new()
        }
    }
}

fn version(row: &Value) -> Result<Version, &'static str> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let name =
        text("version").filter(|name| Semver::parse(name).is_ok()).ok_or("`version` is no full version")?;
    let origin = match (row.get("archive"), row.get("source")) {
        (Some(Value::String(path)), None) => {
            let path = RelPath::parse(path).map_err(|_| "`archive` is no path inside the index")?;
            if !names_archive(path.as_str()) {
                return Err("`archive` has no ending of an archive");
            }
            Origin::Archive(path)
        }
        (None, Some(Value::String(source))) => Origin::Source(pinned(source)?),
        _ => return Err("either `archive` or `source` is needed, as a text"),
    };
    let integrity = match row.get("integrity") {
        None => None,
        Some(Value::String(list)) => Some(Pin::parse(list).map_err(|_| "`integrity` is no sha512 digest")?),
        Some(_) => return Err("`integrity` is not a text"),
    };
    match &origin {
        Origin::Source(SourceSpec::Git { .. }) if integrity.is_some() => {
            return Err("a repository has no archive that `integrity` could be about");
        }
        Origin::Source(SourceSpec::Git { .. } | SourceSpec::Oci { .. }) => {}
        Origin::Source(_) | Origin::Archive(_) if integrity.is_none() => {
            return Err("an archive needs `integrity`");
        }
        Origin::Source(_) | Origin::Archive(_) => {}
    }
    let content_hash = text("contentHash")
        .and_then(|hash| ContentHash::parse(hash).ok())
        .ok_or("`contentHash` is no content hash")?;
    let signature = match row.get("signature") {
        None => None,
        Some(Value::String(text)) if PublisherSignature::read(text.as_bytes()).is_ok() => Some(text.clone()),
        // Left out, not taken as unsigned.
        Some(_) => return Err("`signature` is no signature of minisign"),
    };
    let engines_gsd = match row.get("engines") {
        None => None,
        Some(Value::Object(engines)) => match engines.get("gsd") {
            None => None,
            Some(Value::String(range)) if EngineRange::parse(range).is_ok() => Some(range.clone()),
            Some(_) => return Err("`engines.gsd` is no range"),
        },
        Some(_) => return Err("`engines` is not an object"),
    };
    let yanked = match row.get("yanked") {
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(String::new()),
        Some(Value::String(words)) => Some(words.clone()),
        Some(_) => return Err("`yanked` is neither true, false nor a reason"),
    };
    let made = Version::new(name, origin, integrity, content_hash).ok_or("`version` is no full version")?;
    Ok(Version { signature, engines_gsd, yanked, ..made })
}

fn names_archive(path: &str) -> bool {
    ARCHIVE_ENDINGS.iter().any(|end| path.ends_with(end) && path.len() > end.len())
}

/// A source that can only ever give one content.
fn pinned(source: &str) -> Result<SourceSpec, &'static str> {
    let spec = SourceSpec::parse_for(source, PathStyle::Posix).map_err(|_| "`source` is no source")?;
    let is_pinned = match &spec {
        SourceSpec::Git { reference, .. } => matches!(reference, GitRef::Commit(_)),
        SourceSpec::Npm { selector, .. } => matches!(selector, NpmSelector::Exact(_)),
        SourceSpec::Tarball { .. } => true,
        SourceSpec::Oci { digest, .. } => digest.is_some(),
        // A registry can't send people to their own disks, nor on to further registries.
        SourceSpec::Local { .. } | SourceSpec::Registry { .. } => {
            return Err("`source` is of a kind that an index can't name");
        }
    };
    if is_pinned { Ok(spec) } else { Err("`source` is not pinned to a commit, an exact version or a digest") }
}

#[cfg(test)]
mod tests;
