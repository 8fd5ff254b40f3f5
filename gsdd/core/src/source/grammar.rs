//! The grammar of source specs: one strict form per kind, tried in a fixed order.

use super::git_ref::GitRef;
use super::npm;
use super::refusal::{SpecRefusal, SpecRefusalKind};
use super::spec::{MAX_SPEC_BYTES, PathStyle, SourceSpec};
use super::url::{SourceUrl, is_scheme, split_scheme};
use crate::bundle::RelPath;
use crate::ids::is_reserved_property_name;
use crate::text::is_hostile;

pub(super) fn parse(raw: &str, paths: PathStyle) -> Result<SourceSpec, SpecRefusal> {
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
        return npm::package(package).map(|(name, selector)| SourceSpec::Npm { name, selector });
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
    let names_archive = [".tgz", ".tar.gz", ".tar.zst", ".tar.xz"].iter().any(|end| path.ends_with(end));
    match fragment {
        Some(_) if names_archive => Err(SpecRefusalKind::TarballFragment.refusal()),
        None if names_archive => Ok(SourceSpec::Tarball { url: address.to_owned(), parts }),
        Some(_) => git(spec),
        None if path.ends_with(".git") || path.contains(".git//") => git(spec),
        None => Err(SpecRefusalKind::Unclassifiable.with_hint(
            "a repository ends in .git or starts with git+, an archive in .tgz, .tar.gz, .tar.zst or .tar.xz",
        )),
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
