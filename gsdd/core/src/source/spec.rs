//! Source specs: what a person types after `install`.
//!
//! One strict grammar per kind. Upstream sends whatever it can't place to a registry kind that does not exist; here
//! an unknown form is an error that names the form which was meant. Every spelling that upstream accepts and can
//! fetch is accepted, because ledgers contain them.
//!
//! Source: ADR-1244 D3, lifecycle formats section 2 (rule 1), threats T66, T67, T79 to T96.

use std::fmt;

use super::git_ref::GitRef;
use super::npm::{self, NpmSelector};
use super::refusal::{SpecRefusal, SpecRefusalKind};
use super::url::{SourceUrl, is_scheme, split_scheme};
use crate::bundle::RelPath;
use crate::ids::is_reserved_property_name;
use crate::text::is_hostile;

/// Longest spec, in bytes.
pub const MAX_SPEC_BYTES: usize = 4096;

/// A source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceSpec {
    /// A folder of this machine.
    Local {
        /// As typed: absolute, or starting with `./` or `../`.
        path: String,
    },
    /// A repository.
    Git {
        /// `https://…` or `ssh://…`, as typed, without `git+`, folder and ref.
        url: String,
        /// Its parts.
        parts: SourceUrl,
        /// Which commit.
        reference: GitRef,
        /// The folder inside that holds the bundle, after `//` in the URL.
        subdir: Option<RelPath>,
    },
    /// A package of an npm registry.
    Npm {
        /// With its scope.
        name: String,
        /// Which version.
        selector: NpmSelector,
    },
    /// An archive.
    Tarball {
        /// As typed.
        url: String,
        /// Its parts.
        parts: SourceUrl,
    },
    /// An entry of a named registry.
    Registry {
        /// With its scope.
        name: String,
        /// The registry; the default one when absent.
        registry: Option<String>,
        /// Version or tag.
        selector: Option<String>,
    },
    /// An artifact of an OCI registry.
    Oci {
        /// Host and port.
        host: String,
        /// Path of the repository.
        repository: String,
        /// The tag.
        tag: Option<String>,
        /// `sha256:<64 hex>`.
        digest: Option<String>,
    },
}

/// The kind of a source, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// A folder.
    Local,
    /// A repository.
    Git,
    /// A package.
    Npm,
    /// An archive.
    Tarball,
    /// A registry entry.
    Registry,
    /// An OCI artifact.
    Oci,
}

impl SourceKind {
    /// Short stable name for programs; upstream's words for the kinds that it has.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Git => "git",
            Self::Npm => "npm",
            Self::Tarball => "tarball",
            Self::Registry => "registry",
            Self::Oci => "oci",
        }
    }
}

/// Which paths are absolute; a fact about the machine, not about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStyle {
    /// `/…`.
    Posix,
    /// Also `C:\…` and `.\…`.
    Windows,
}

impl PathStyle {
    /// The style of the machine this was built for.
    pub const NATIVE: Self = if cfg!(windows) { Self::Windows } else { Self::Posix };
}

impl SourceSpec {
    /// Reads a spec on this platform. White space around it is ignored.
    ///
    /// # Errors
    /// [`SpecRefusal`] with the rule and the form that was meant.
    pub fn parse(raw: &str) -> Result<Self, SpecRefusal> {
        Self::parse_for(raw, PathStyle::NATIVE)
    }

    /// Reads a spec with the paths of another platform.
    ///
    /// # Errors
    /// As [`SourceSpec::parse`].
    pub fn parse_for(raw: &str, paths: PathStyle) -> Result<Self, SpecRefusal> {
        let spec = raw.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if spec.is_empty() {
            return Err(SpecRefusalKind::Empty.refusal());
        }
        if spec.len() > MAX_SPEC_BYTES {
            return Err(SpecRefusalKind::Unclassifiable.with_hint("a source has at most 4096 bytes"));
        }
        if spec.chars().any(is_hostile) {
            return Err(SpecRefusalKind::HostileCharacter.refusal());
        }
        if let Some(local) = local(spec, paths) {
            return local;
        }
        if let Some(package) = spec.strip_prefix("npm:") {
            return npm::package(package).map(|(name, selector)| Self::Npm { name, selector });
        }
        if let Some(repository) = spec.strip_prefix("git+") {
            return git(repository);
        }
        if let Some(artifact) = spec.strip_prefix("oci://") {
            return oci(artifact);
        }
        match split_scheme(spec) {
            Some((scheme, _)) => with_scheme(spec, scheme),
            None => without_scheme(spec),
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        match self {
            Self::Local { .. } => SourceKind::Local,
            Self::Git { .. } => SourceKind::Git,
            Self::Npm { .. } => SourceKind::Npm,
            Self::Tarball { .. } => SourceKind::Tarball,
            Self::Registry { .. } => SourceKind::Registry,
            Self::Oci { .. } => SourceKind::Oci,
        }
    }

    /// What the source names, without kind and ref: upstream's `target`.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Self::Local { path } => path.clone(),
            Self::Git { url, subdir: None, .. } | Self::Tarball { url, .. } => url.clone(),
            Self::Git { url, subdir: Some(subdir), .. } => format!("{url}//{subdir}"),
            Self::Npm { name, selector } => match selector {
                NpmSelector::None => name.clone(),
                _ => format!("{name}@{}", selector.as_str()),
            },
            Self::Registry { name, registry, selector } => {
                let mut target = name.clone();
                for part in [registry, selector].into_iter().flatten() {
                    target.push('@');
                    target.push_str(part);
                }
                target
            }
            Self::Oci { host, repository, tag, digest } => {
                let mut target = format!("{host}/{repository}");
                if let Some(tag) = tag {
                    target.push(':');
                    target.push_str(tag);
                }
                if let Some(digest) = digest {
                    target.push('@');
                    target.push_str(digest);
                }
                target
            }
        }
    }

    /// The text for the ledger: it reads back as the same source, here and, for the kinds that it can fetch, upstream.
    #[must_use]
    pub fn recorded(&self) -> String {
        match self {
            Self::Local { .. } | Self::Tarball { .. } | Self::Registry { .. } => self.target(),
            Self::Npm { .. } => format!("npm:{}", self.target()),
            Self::Oci { .. } => format!("oci://{}", self.target()),
            Self::Git { reference: GitRef::None, .. } => format!("git+{}", self.target()),
            // Upstream hands the part after `#` to git as it is: a bare commit works there, `sha:` does not.
            Self::Git { reference: GitRef::Commit(id), .. } => format!("git+{}#{id}", self.target()),
            Self::Git { reference, .. } => format!("git+{}#{reference}", self.target()),
        }
    }

    /// The host that it is fetched from, in lower case; `None` for folders, npm and named registries, whose hosts
    /// are a matter of configuration.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Git { parts, .. } | Self::Tarball { parts, .. } => Some(parts.host()),
            Self::Oci { host, .. } if host.ends_with(']') => Some(host),
            Self::Oci { host, .. } => Some(host.rsplit_once(':').map_or(host, |(name, _)| name)),
            Self::Local { .. } | Self::Npm { .. } | Self::Registry { .. } => None,
        }
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.recorded())
    }
}

fn local(spec: &str, paths: PathStyle) -> Option<Result<SourceSpec, SpecRefusal>> {
    let drive = spec.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && spec.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
    let backslash = spec.starts_with(".\\") || spec.starts_with("..\\");
    if spec.starts_with("//") || spec.starts_with("\\\\") {
        return Some(Err(SpecRefusalKind::NetworkPath.refusal()));
    }
    let is_local = spec.starts_with("./") || spec.starts_with("../") || spec.starts_with('/');
    match paths {
        _ if is_local => Some(Ok(SourceSpec::Local { path: spec.to_owned() })),
        PathStyle::Windows if drive || backslash => Some(Ok(SourceSpec::Local { path: spec.to_owned() })),
        PathStyle::Posix if drive => Some(Err(SpecRefusalKind::WindowsPath.refusal())),
        PathStyle::Posix | PathStyle::Windows => None,
    }
}

/// A URL without `git+`: an archive, or a repository by its ending or its fragment.
fn with_scheme(spec: &str, scheme: &str) -> Result<SourceSpec, SpecRefusal> {
    match scheme.to_ascii_lowercase().as_str() {
        "ssh" => return git(spec),
        "http" | "git" => return Err(SpecRefusalKind::Plaintext.refusal()),
        "https" => {}
        _ => return Err(SpecRefusalKind::UnknownScheme.refusal()),
    }
    let (address, fragment) = match spec.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (spec, None),
    };
    let parts = SourceUrl::parse(address)?;
    let path = parts.path.to_ascii_lowercase();
    let names_archive =
        [".tgz", ".tar.gz"].iter().any(|end| path.ends_with(end) && path.len() > end.len() + 1);
    match fragment {
        Some(_) if names_archive => Err(SpecRefusalKind::TarballFragment.refusal()),
        None if names_archive => Ok(SourceSpec::Tarball { url: address.to_owned(), parts }),
        Some(_) => git(spec),
        None if path.ends_with(".git") || path.contains(".git//") => git(spec),
        None => Err(SpecRefusalKind::Unclassifiable
            .with_hint("a repository ends in .git or starts with git+, an archive ends in .tgz or .tar.gz")),
    }
}

fn git(raw: &str) -> Result<SourceSpec, SpecRefusal> {
    let (address, reference) = raw.split_once('#').unwrap_or((raw, ""));
    match split_scheme(address).map(|(scheme, _)| scheme.to_ascii_lowercase()).as_deref() {
        Some("https" | "ssh") => {}
        Some("http" | "git") => return Err(SpecRefusalKind::Plaintext.refusal()),
        Some(_) | None => return Err(SpecRefusalKind::GitTransport.refusal()),
    }
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let (url, subdir) = match address[after_scheme..].find("//") {
        Some(at) => (&address[..after_scheme + at], Some(&address[after_scheme + at + 2..])),
        None => (address, None),
    };
    let parts = SourceUrl::parse(url)?;
    if parts.path.len() < 2 || parts.query.is_some() {
        return Err(
            SpecRefusalKind::GitTransport.with_hint("name the repository after the host, without a query")
        );
    }
    let subdir = subdir.map(RelPath::parse).transpose().map_err(|_| SpecRefusalKind::Subdir.refusal())?;
    Ok(SourceSpec::Git { url: url.to_owned(), parts, reference: GitRef::parse(reference)?, subdir })
}

fn without_scheme(spec: &str) -> Result<SourceSpec, SpecRefusal> {
    if spec.starts_with('~') {
        return Err(SpecRefusalKind::Unclassifiable.with_hint("write the whole path, starting with /"));
    }
    if spec == "." || spec == ".." {
        return Err(
            SpecRefusalKind::Unclassifiable.with_hint("write ./ for this folder and ../ for the one above")
        );
    }
    if spec.starts_with(".\\") || spec.starts_with("..\\") {
        return Err(SpecRefusalKind::Unclassifiable.with_hint("write the path with forward slashes"));
    }
    if let Some((before, rest)) = spec.split_once(':') {
        if before.eq_ignore_ascii_case("npm") {
            return Err(SpecRefusalKind::SchemeCase.refusal());
        }
        if before.contains('@') && !rest.is_empty() {
            return Err(SpecRefusalKind::UnknownScheme
                .with_hint("write git+ssh://git@host/path instead of git@host:path"));
        }
        if is_scheme(before) {
            return Err(SpecRefusalKind::UnknownScheme.refusal());
        }
    }
    let may_be_name = spec
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'@' | b'/' | b'_' | b'-'));
    if may_be_name { registry(spec) } else { Err(SpecRefusalKind::Unclassifiable.refusal()) }
}

fn registry(spec: &str) -> Result<SourceSpec, SpecRefusal> {
    let refusal = SpecRefusalKind::RegistryName.refusal();
    let (scope, rest) = match spec.strip_prefix('@') {
        Some(scoped) => {
            let (scope, rest) = scoped.split_once('/').ok_or(refusal)?;
            (Some(scope), rest)
        }
        None => (None, spec),
    };
    let mut parts = rest.split('@');
    let bare = parts.next().unwrap_or_default();
    let (second, third) = (parts.next(), parts.next());
    let names = [scope, Some(bare), second, third];
    let ok = parts.next().is_none()
        && names.into_iter().flatten().all(|part| is_registry_word(part) && !is_reserved_property_name(part));
    if !ok {
        return Err(refusal);
    }
    // With one part after the name, a digit in front makes it a version of the default registry.
    let (registry, selector) = match (second, third) {
        (Some(version), None) if version.starts_with(|c: char| c.is_ascii_digit()) => (None, Some(version)),
        other => other,
    };
    Ok(SourceSpec::Registry {
        name: scope.map_or_else(|| bare.to_owned(), |scope| format!("@{scope}/{bare}")),
        registry: registry.map(str::to_owned),
        selector: selector.map(str::to_owned),
    })
}

fn is_registry_word(part: &str) -> bool {
    part.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && !part.contains("..")
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+'))
}

fn oci(raw: &str) -> Result<SourceSpec, SpecRefusal> {
    let refusal = SpecRefusalKind::OciReference.refusal();
    let (place, repository) = raw.split_once('/').ok_or(refusal)?;
    let parts = SourceUrl::parse(&format!("oci://{place}"))?;
    let (repository, digest) = match repository.split_once('@') {
        Some((repository, digest)) => (repository, Some(digest)),
        None => (repository, None),
    };
    let (repository, tag) = match repository.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (repository, None),
    };
    let word = |part: &str| {
        part.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'))
    };
    let repository_ok = repository.len() <= 255 && repository.split('/').all(word);
    let tag_ok = tag.is_none_or(|tag| {
        tag.len() <= 128
            && tag.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
            && tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    });
    let digest_ok = digest.is_none_or(|digest| {
        digest.strip_prefix("sha256:").is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
        })
    });
    if !(repository_ok && tag_ok && digest_ok && (tag.is_some() || digest.is_some())) {
        return Err(refusal);
    }
    Ok(SourceSpec::Oci {
        host: parts.port.map_or_else(|| parts.host.clone(), |port| format!("{}:{port}", parts.host)),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn recorded(raw: &str, expected: &str) {
        let spec = SourceSpec::parse_for(raw, PathStyle::Posix).unwrap();
        assert_eq!(spec.recorded(), expected, "{raw}");
        assert_eq!(SourceSpec::parse_for(expected, PathStyle::Posix), Ok(spec), "{raw}");
    }

    #[track_caller]
    fn refused(raw: &str, kind: SpecRefusalKind) {
        assert_eq!(SourceSpec::parse_for(raw, PathStyle::Posix).unwrap_err().kind, kind, "{raw}");
    }

    #[test]
    fn what_is_recorded_reads_back() {
        recorded("  ./padded ", "./padded");
        recorded("https://h.example/r.git#tag:v1", "git+https://h.example/r.git#tag:v1");
        recorded("https://h.example/r.git//caps/acme#main", "git+https://h.example/r.git//caps/acme#main");
        recorded("ssh://git@h.example/r", "git+ssh://git@h.example/r");
        recorded("npm:@o/p@^1", "npm:@o/p@^1");
        recorded("my-cap@1.0.0", "my-cap@1.0.0");
        recorded("@o/my-cap@corp@1.0.0", "@o/my-cap@corp@1.0.0");
        let digest = format!("oci://ghcr.example:5000/o/cap:v1@sha256:{}", "0".repeat(64));
        recorded(&digest, &digest);
    }

    #[test]
    fn a_folder_inside_a_repository_stays_inside() {
        refused("git+https://h.example/r.git//../x", SpecRefusalKind::Subdir);
        refused("git+https://h.example/r.git//.git", SpecRefusalKind::Subdir);
    }

    #[test]
    fn oci_references_are_complete() {
        for raw in [
            "oci://h.example/cap",
            "oci://h.example/Cap:v1",
            "oci://h.example/cap@sha256:0",
            "oci://h.example/../cap:v1",
        ] {
            refused(raw, SpecRefusalKind::OciReference);
        }
        refused("oci://u:p@h.example/cap:v1", SpecRefusalKind::Credentials);
        let spec = SourceSpec::parse("oci://[::1]:5000/cap:v1").unwrap();
        assert_eq!(spec.host(), Some("[::1]"));
    }

    #[test]
    fn windows_paths_are_local_on_windows_only() {
        let spec = SourceSpec::parse_for("C:\\caps\\cap", PathStyle::Windows).unwrap();
        assert_eq!(spec.kind(), SourceKind::Local);
        refused("C:\\caps\\cap", SpecRefusalKind::WindowsPath);
        refused("\\\\srv\\share", SpecRefusalKind::NetworkPath);
    }

    proptest! {
        /// Any text is either refused with a hint or reads back from what is recorded.
        #[test]
        fn parsing_is_total(raw in "(npm:|git\\+|https://|ssh://|oci://|\\./|@)?[a-zA-Z0-9@:/.#_+^~* -]{0,40}") {
            match SourceSpec::parse_for(&raw, PathStyle::Posix) {
                Ok(spec) => prop_assert_eq!(SourceSpec::parse_for(&spec.recorded(), PathStyle::Posix), Ok(spec)),
                Err(refusal) => prop_assert!(!refusal.hint.is_empty()),
            }
        }

        /// No text makes the reader panic.
        #[test]
        fn arbitrary_text_is_answered(raw in any::<String>()) {
            prop_assert!(SourceSpec::parse(&raw).is_ok() || SourceSpec::parse(&raw).is_err());
        }
    }
}
