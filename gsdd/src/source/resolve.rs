//! What would be taken from a source, and why, without taking it.

use std::cmp::Ordering;

use gsd_proto::{Code, WireError};
use gsdd_core::policy::{Objection, Sought};
use gsdd_core::source::address::{HTTPS_PORT, judge_host_text};
use gsdd_core::source::choice::{Choice, Verdict};
use gsdd_core::source::compat::compare_cores;
use gsdd_core::source::network::HostRefusal;
use gsdd_core::source::outdated::{self, Peek, PeekPlan, PeekStatus, plan_peek};
use gsdd_core::source::{GitRef, NpmSelector, SourceSpec};
use gsdd_core::text::shown;
use serde_json::Value;

use super::{Caller, git, local, npm, oci, printable, registry};
use crate::policy::source_refused;

/// What would be taken.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// The versions that were looked at; empty where a source has only one.
    pub(crate) choice: Choice,
    /// `None` when nothing may be taken.
    pub(crate) taken: Option<Taken>,
    pub(crate) title: Option<String>,
    pub(crate) publisher: Option<String>,
    pub(crate) publisher_key: Option<String>,
}

/// One content of a source.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) version: Option<String>,
    /// A source that names exactly this content.
    pub(crate) exact: Option<SourceSpec>,
    pub(crate) commit: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) integrity: Option<String>,
    pub(crate) content_hash: Option<String>,
    pub(crate) attestation: Option<String>,
}

/// Resolves `spec`. Blocks.
///
/// # Errors
/// When the source can't be asked, or the policy does not allow it.
pub(crate) fn resolve(spec: &SourceSpec, caller: &Caller<'_>) -> Result<Resolved, WireError> {
    judge(spec, caller)?;
    let one = |taken: Taken| Resolved { taken: Some(taken), ..Resolved::default() };
    match spec {
        SourceSpec::Local { path } => {
            let manifest = local::manifest(path, caller)?;
            let version = manifest.get("version").and_then(Value::as_str).map(str::to_owned);
            Ok(one(Taken { version, exact: Some(spec.clone()), ..Taken::default() }))
        }
        SourceSpec::Git { url, parts, reference, subdir } => {
            let commit = git::commit_of(url, parts, reference, caller)?;
            let exact = SourceSpec::Git {
                url: url.clone(),
                parts: parts.clone(),
                reference: GitRef::Commit(commit.clone()),
                subdir: subdir.clone(),
            };
            Ok(one(Taken { exact: Some(exact), commit: Some(commit), ..Taken::default() }))
        }
        SourceSpec::Npm { name, selector } => npm::resolve(name, selector, caller),
        SourceSpec::Registry { name, registry, selector } => {
            registry::resolve(name, registry.as_deref(), selector.as_deref(), caller)
        }
        SourceSpec::Tarball { url, .. } => Ok(one(Taken { url: Some(printable(url)), ..Taken::default() })),
        SourceSpec::Oci { host, repository, tag, digest } => {
            let (named, given) = (tag.as_deref(), digest.as_deref());
            let found = oci::digest_of(host, repository, named, given, &spec.recorded(), caller)?;
            let exact = SourceSpec::Oci {
                host: host.clone(),
                repository: repository.clone(),
                tag: None,
                digest: Some(found),
            };
            Ok(one(Taken { exact: Some(exact), ..Taken::default() }))
        }
    }
}

/// The source of exactly `version`, where `spec` leads to several and would accept that one.
///
/// # Errors
/// When the source can't be asked.
pub(crate) fn exactly(
    spec: &SourceSpec,
    version: &str,
    caller: &Caller<'_>,
) -> Result<Option<SourceSpec>, WireError> {
    match spec {
        SourceSpec::Git { url, parts, reference: GitRef::None, subdir } => {
            let refs = git::refs(url, parts, &["refs/tags/*"], caller)?;
            Ok(outdated::tag_of(&refs, version).map(|tag| SourceSpec::Git {
                url: url.clone(),
                parts: parts.clone(),
                reference: GitRef::Tag(tag.to_owned()),
                subdir: subdir.clone(),
            }))
        }
        SourceSpec::Npm { name, selector }
            if !matches!(selector, NpmSelector::Exact(_)) && selector.admits(version) =>
        {
            let exact = NpmSelector::Exact(version.to_owned());
            let found = npm::resolve(name, &exact, caller)?.taken.is_some();
            Ok(found.then(|| SourceSpec::Npm { name: name.clone(), selector: exact }))
        }
        SourceSpec::Registry { name, registry, selector: None } => {
            let found = registry::resolve(name, registry.as_deref(), Some(version), caller)?.taken.is_some();
            Ok(found.then(|| SourceSpec::Registry {
                name: name.clone(),
                registry: registry.clone(),
                selector: Some(version.to_owned()),
            }))
        }
        SourceSpec::Git { .. }
        | SourceSpec::Npm { .. }
        | SourceSpec::Registry { .. }
        | SourceSpec::Local { .. }
        | SourceSpec::Tarball { .. }
        | SourceSpec::Oci { .. } => Ok(None),
    }
}

/// Which version an update of a recorded source would take.
///
/// # Errors
/// When the source can't be asked; the caller makes a row of it.
pub(crate) fn peek(recorded: &str, caller: &Caller<'_>) -> Result<Peek, WireError> {
    judge_record(recorded, caller)?;
    match (plan_peek(recorded), SourceSpec::parse(recorded)) {
        (PeekPlan::Answered(peek), _) => Ok(peek),
        (PeekPlan::GitTags { .. }, Ok(SourceSpec::Git { url, parts, .. })) => {
            Ok(outdated::from_git_tags(&git::refs(&url, &parts, &["refs/tags/*"], caller)?))
        }
        (PeekPlan::GitRef { name, .. }, Ok(SourceSpec::Git { url, parts, .. })) => {
            Ok(outdated::from_git_ref(&git::refs(&url, &parts, &[&name], caller)?))
        }
        (PeekPlan::Npm { name, selector }, _) => {
            let packument = npm::packument(&name, caller)?;
            Ok(outdated::from_npm(&selector, &packument, |range| caller.runs(range)))
        }
        (PeekPlan::Registry { name, registry, selector }, _) => {
            let resolved = registry::resolve(&name, registry.as_deref(), selector.as_deref(), caller)?;
            let version = resolved.taken.and_then(|taken| taken.version);
            Ok(outdated::from_version(version.as_deref()))
        }
        (PeekPlan::Manifest { path }, _) => {
            let manifest = local::manifest(&path, caller)?;
            Ok(outdated::from_version(manifest.get("version").and_then(Value::as_str)))
        }
        (PeekPlan::GitTags { .. } | PeekPlan::GitRef { .. }, _) => {
            Ok(Peek { status: PeekStatus::Unknown, version: None })
        }
    }
}

/// Says it when the newest version was passed over because of the GSD that it needs.
pub(super) fn note_passed_over(name: &str, choice: &Choice, caller: &Caller<'_>) {
    let Some(taken) = &choice.taken else { return };
    if let Some((version, range)) = choice.passed_over_for_gsd()
        && compare_cores(version, taken) == Ordering::Greater
    {
        caller.note(format!(
            "{} {} needs GSD {}, this is GSD {}; {} is taken instead",
            shown(name),
            shown(version),
            shown(range),
            caller.gsd,
            shown(taken)
        ));
    }
}

/// The answer when none of the offered versions may be taken.
pub(super) fn nothing_to_take(name: &str, choice: &Choice) -> WireError {
    let fits_elsewhere = choice.considered.iter().any(|row| matches!(row.verdict, Verdict::NeedsGsd(_)));
    let code = if fits_elsewhere { Code::CompatEngines } else { Code::NotFound };
    let mut error = WireError::new(code, format!("{} has no version to take", shown(name)));
    for row in choice.considered.iter().filter(|row| row.verdict != Verdict::NotSelected).take(10) {
        error = error.caused_by(format!("{}: {}", shown(&row.version), shown(&row.verdict.reason())));
    }
    if choice.considered.is_empty() {
        error = error.caused_by("none is published");
    } else if error.cause.is_empty() {
        let offered: Vec<String> = choice.considered.iter().take(5).map(|row| shown(&row.version)).collect();
        error = error.caused_by(format!("the newest ones are {}", offered.join(", ")));
    }
    error
}

/// Whether the policy allows a source.
///
/// # Errors
/// When it does not, or when the source is a registry that nobody configured.
pub(crate) fn judge(spec: &SourceSpec, caller: &Caller<'_>) -> Result<(), WireError> {
    match objection(spec, caller)? {
        None => Ok(()),
        Some(objection) => {
            let told = match spec {
                SourceSpec::Registry { registry, .. } => {
                    let place = registry::place(registry.as_deref(), caller).ok();
                    place.and_then(|place| place.host().map(shown))
                }
                _ => spec.host().map(shown),
            };
            Err(source_refused(&told.unwrap_or_else(|| spec.to_string()), &objection))
        }
    }
}

/// What the policy has against a source.
///
/// # Errors
/// When it has nothing, and the source is a registry that nobody configured.
pub(crate) fn objection(spec: &SourceSpec, caller: &Caller<'_>) -> Result<Option<Box<Objection>>, WireError> {
    let objection = |sought: &Sought<'_>| caller.policy().judge_source(sought).err();
    let SourceSpec::Registry { registry, .. } = spec else { return Ok(objection(&Sought::of(spec))) };
    let place = registry::place(registry.as_deref(), caller);
    let name = caller.registry_name(registry.as_deref());
    // Wherever it may be: what a policy does not allow is refused before anything else is said about it.
    match objection(&Sought { spec: Some(spec), registry: name.as_deref(), place: place.as_ref().ok() }) {
        Some(objection) => Ok(Some(objection)),
        None => place.map(|_| None),
    }
}

/// Why the host of a source is not contacted whatever a policy allows, as far as its text says; no name is looked up.
pub(crate) fn unreachable(spec: &SourceSpec, caller: &Caller<'_>) -> Option<HostRefusal> {
    let network = caller.policy().network();
    match spec {
        SourceSpec::Git { parts, .. } if network.allows(parts.host(), parts.port.unwrap_or(HTTPS_PORT)) => {
            None
        }
        // Its port is git's business.
        SourceSpec::Git { parts, .. } => judge_host_text(parts.host()).err().map(HostRefusal::from),
        SourceSpec::Tarball { parts, .. } => {
            network.judge_host(parts.host(), parts.port.unwrap_or(HTTPS_PORT)).err()
        }
        SourceSpec::Oci { host, .. } => {
            let bare = spec.host().unwrap_or(host);
            let port = host.strip_prefix(bare).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
            network.judge_host(bare, port.unwrap_or(HTTPS_PORT)).err()
        }
        SourceSpec::Local { .. } | SourceSpec::Npm { .. } | SourceSpec::Registry { .. } => None,
    }
}

/// Whether the policy allows what a record says about a source; a text that is no source could be anything.
///
/// # Errors
/// When it does not.
pub(crate) fn judge_record(recorded: &str, caller: &Caller<'_>) -> Result<(), WireError> {
    match SourceSpec::parse(recorded) {
        Ok(spec) => judge(&spec, caller),
        Err(_) => {
            let refused = |objection: Box<Objection>| source_refused(&printable(recorded), &objection);
            caller.policy().judge_source(&Sought::NOWHERE).map_err(refused)
        }
    }
}
