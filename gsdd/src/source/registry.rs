//! An entry of a named registry: one small file of its index says which versions there are, where each is, and which
//! digests it has; the version is then taken by the adapter of that kind, and both digests are enforced.
//!
//! Registries are the person's own setting; nothing of a project names one.
//!
//! Source: ADR-1244 D3 (registry kind), D6; `docs/formats/registry-index.md`.

use std::path::Path;

use gsd_proto::{Code, WireError};
use gsdd_core::policy::Errand;
use gsdd_core::source::choice::Choice;
use gsdd_core::source::index::{
    CONFIG_PATH, Entry, IndexName, MAX_CONFIG_BYTES, MAX_ENTRY_BYTES, Origin, RegistryPlace, Version,
    check_config,
};
use gsdd_core::source::{Pin, SourceKind, SourceSpec};
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{PublisherKey, VerificationLevel};
use reqwest::StatusCode;

use super::archive::{self, Container};
use super::http::{Limits, Request};
use super::resolve::{Resolved, Taken, note_passed_over, nothing_to_take};
use super::signed::Verified;
use super::{Caller, Fetched, fetch as fetch_source, git, printable, resolve, signed};
use crate::fs::bounded_read::{self, ReadFailure};
use crate::store::TakenFrom;

/// Most bytes of an archive that lies in an index.
const MAX_ARCHIVE_BYTES: u64 = 64 * 1024 * 1024;

/// Fetches the version of `name` that is chosen.
pub(super) fn fetch(
    name: &str,
    registry: Option<&str>,
    selector: Option<&str>,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let found = Found::look_up(name, registry, selector, caller)?;
    let version = found.taken().ok_or_else(|| nothing_to_take(name, &found.choice))?;
    note_passed_over(name, &found.choice, caller);
    let mut fetched = found.take(version, caller)?;
    let content = fetched.tree.content_hash();
    if *content != version.content_hash {
        return Err(WireError::new(
            Code::IntegrityMismatch,
            format!("{} {} has another content than the registry says", shown(name), shown(&version.version)),
        )
        .caused_by(format!("the registry: {}", version.content_hash.as_str()))
        .caused_by(format!("found: {}", content.as_str()))
        .with_fix("tell whoever keeps the registry; nothing of it was used", &[]));
    }
    found.agrees_with(version, &fetched)?;
    fetched.from.version = Some(version.version.clone());
    // Which content a version of an index is can't change, whatever it was fetched from.
    fetched.from.reference = Some(format!("{name}@{} of {}", version.version, found.place));
    recorded.clone_into(&mut fetched.recorded);
    // Whatever it was fetched from, it was the registry that named the bytes, and not the person.
    fetched.from = fetched.from.carrying(VerificationLevel::Digest);
    if fetched.from.signer.is_none() && found.publisher_key().is_some() && caller.wants_signatures {
        caller.note(format!(
            "the registry names a key of the publisher, and {} {} is not signed",
            shown(name),
            shown(&version.version)
        ));
    }
    Ok(fetched)
}

/// What [`fetch`] would take, and why.
pub(super) fn resolve(
    name: &str,
    registry: Option<&str>,
    selector: Option<&str>,
    caller: &Caller<'_>,
) -> Result<Resolved, WireError> {
    let found = Found::look_up(name, registry, selector, caller)?;
    let taken = found.taken().map(|version| Taken {
        version: Some(version.version.clone()),
        exact: match &version.origin {
            Origin::Source(spec) => Some(spec.clone()),
            Origin::Archive(_) => None,
        },
        url: match &version.origin {
            Origin::Archive(path) => Some(found.at(path.as_str())),
            Origin::Source(_) => None,
        },
        integrity: version.integrity.as_ref().map(|pin| pin.as_str().to_owned()),
        content_hash: Some(version.content_hash.as_str().to_owned()),
        ..Taken::default()
    });
    let publisher = found.entry.publisher.as_ref();
    Ok(Resolved {
        taken,
        title: found.entry.title.clone(),
        publisher: publisher.and_then(|publisher| publisher.name.clone()),
        publisher_key: publisher.and_then(|publisher| publisher.key.clone()),
        choice: found.choice,
    })
}

/// Where a registry is, by the person's own configuration.
///
/// # Errors
/// When they configured no registry of that name.
pub(super) fn place(registry: Option<&str>, caller: &Caller<'_>) -> Result<RegistryPlace, WireError> {
    let config = caller.user_config();
    let name = registry.or(config.default_registry.as_deref()).ok_or_else(|| {
        WireError::new(Code::NotFound, "no registry is named, and you have no default registry")
            .with_fix("write NAME@REGISTRY; a folder is ./NAME", &[])
            .with_fix("or choose a default", &["gsdctl", "config", "set", "default_registry", "REGISTRY"])
    })?;
    config.registries.get(name).cloned().ok_or_else(|| {
        let key = format!("registries.{}", shown(name));
        let mut error = WireError::new(Code::NotFound, format!("you have no registry named {}", shown(name)));
        if config.registries.is_empty() {
            error =
                error.caused_by("you have none at all; registries are your own setting, never a project's");
        } else {
            let known: Vec<&str> = config.registries.keys().map(String::as_str).collect();
            error = error.caused_by(format!("you have {}", known.join(", ")));
        }
        for objection in &config.objections {
            error = error.caused_by(objection.clone());
        }
        error.with_fix("name its place", &["gsdctl", "config", "set", &key, "https://HOST/FOLDER/"])
    })
}

/// An entry that was looked up, and the choice from it.
struct Found {
    /// The name of the registry.
    registry: String,
    place: RegistryPlace,
    entry: Entry,
    choice: Choice,
}

impl Found {
    fn look_up(
        name: &str,
        registry: Option<&str>,
        selector: Option<&str>,
        caller: &Caller<'_>,
    ) -> Result<Self, WireError> {
        let place = place(registry, caller)?;
        let registry = caller.registry_name(registry).unwrap_or_default();
        let no_such = || {
            WireError::new(
                Code::NotFound,
                format!("the registry at {place} has no capability {}", shown(name)),
            )
            .with_fix("check the name", &[])
        };
        let parsed = IndexName::parse(name).ok_or_else(no_such)?;
        let files = [(parsed.path(), MAX_ENTRY_BYTES)];
        let bytes = match read(&registry, &place, &files[0].0, files[0].1, caller)? {
            Some(bytes) => bytes,
            // Either there is no such capability, or there is no index at all; the second is worth saying.
            None => {
                let config = read(&registry, &place, CONFIG_PATH, MAX_CONFIG_BYTES, caller)?;
                return Err(match config.as_deref().map(check_config) {
                    Some(Ok(())) => no_such(),
                    Some(Err(problem)) => no_index(&place).caused_by(problem.to_string()),
                    None => no_index(&place).caused_by(format!("it has no {CONFIG_PATH}")),
                });
            }
        };
        let entry = Entry::read(&bytes, &parsed).map_err(|problem| {
            WireError::new(Code::SourceUnreachable, format!("the entry of {} can't be used", shown(name)))
                .caused_by(problem.to_string())
                .at_file(at(&place, &parsed.path()))
                .with_fix("tell whoever keeps the registry", &[])
        })?;
        for objection in entry.objections.iter().take(5) {
            caller.note(format!("the registry's entry of {}: {}", shown(name), shown_up_to(objection, 200)));
        }
        let choice = entry.choose(selector, caller.gsd);
        Ok(Self { registry, place, entry, choice })
    }

    fn taken(&self) -> Option<&Version> {
        self.choice.taken.as_deref().and_then(|version| self.entry.version(version))
    }

    /// The entry and the manifest have to speak of the same thing: people choose by what the entry says.
    fn agrees_with(&self, version: &Version, fetched: &Fetched) -> Result<(), WireError> {
        let manifest = fetched.tree.manifest();
        let member = |name: &str| manifest.as_ref()?.get(name)?.as_str();
        for (name, ours) in [("id", self.entry.name.id().as_str()), ("version", version.version.as_str())] {
            let theirs = member(name).unwrap_or_default();
            if theirs != ours {
                return Err(WireError::new(
                    Code::IntegrityMismatch,
                    format!("the registry calls it {}, and its manifest says {}", shown(ours), shown(theirs)),
                )
                .with_fix("tell whoever keeps the registry; nothing of it was used", &[]));
            }
        }
        Ok(())
    }

    /// The only key that signatures of this entry may be made with, where the entry says it.
    fn publisher_key(&self) -> Option<PublisherKey> {
        PublisherKey::parse(self.entry.publisher.as_ref()?.key.as_deref()?).ok()
    }

    /// The caller for what a version leads to.
    fn caller_of<'a>(&self, version: &Version, caller: &Caller<'a>) -> Caller<'a> {
        let inner = caller.within(version.integrity.clone(), self.publisher_key());
        // The signature in the index is the publisher's word on this version; another one is not looked for.
        let wants = inner.wants_signatures && version.signature.is_none();
        inner.looking_for_signatures(wants)
    }

    /// Verifies the signature that the index has of a version, over `signed`; `inner` is [`Found::caller_of`] it.
    fn verified(
        &self,
        version: &Version,
        signed: impl FnOnce() -> Result<Vec<u8>, WireError>,
        inner: &Caller<'_>,
    ) -> Result<Option<Verified>, WireError> {
        let Some(signature) = &version.signature else { return Ok(None) };
        let what = format!("{} {}", self.entry.name, version.version);
        signed::verified(&what, signature.as_bytes(), &signed()?, inner, || Ok(None)).map(Some)
    }

    /// Where a file of the index is, for people.
    fn at(&self, path: &str) -> String {
        at(&self.place, path)
    }

    fn take(&self, version: &Version, caller: &Caller<'_>) -> Result<Fetched, WireError> {
        match &version.origin {
            Origin::Source(spec) => {
                // The policy is asked about this source as if it had been typed.
                resolve::judge(spec, caller)?;
                let inner = self.caller_of(version, caller);
                let mut fetched = fetch_source(spec, &inner)?;
                if let Some(archive) = &fetched.from.archive {
                    caller.judge_archive(
                        spec.kind(),
                        &Pin::parse(archive)
                            .map_err(|problem| WireError::new(Code::Internal, problem.to_string()))?,
                    )?;
                }
                caller.take_notes_of(&inner);
                if caller.is_pinned() && fetched.from.archive.is_none() {
                    return Err(WireError::new(
                        Code::UsageInvalid,
                        format!(
                            "{} is not an archive that an integrity value could be about",
                            shown(&spec.recorded())
                        ),
                    )
                    .with_fix("leave out --integrity for this source", &[]));
                }
                let line = || Ok(signed::signed_line(fetched.tree.content_hash()));
                if let Some(verified) = self.verified(version, line, &inner)? {
                    fetched.from.signer = Some(verified.signer_of(&fetched.tree, &inner));
                }
                Ok(fetched)
            }
            Origin::Archive(path) => self.take_archive(path.as_str(), version, caller),
        }
    }

    fn take_archive(&self, path: &str, version: &Version, caller: &Caller<'_>) -> Result<Fetched, WireError> {
        let inner = self.caller_of(version, caller);
        let kind = SourceKind::Registry;
        let container = Container::of_name(path);
        let (tree, archive, url, verified) = if let RegistryPlace::Web { base, .. } = &self.place {
            let url = format!("{base}{}", encoded(path));
            let errand = Errand::Registry(&self.registry);
            let request = Request { errand, ..Request::new(&url, Limits::archive(caller.room.max_bytes)) };
            let mut got = caller.http()?.download(&request, &caller.workspace)?;
            inner.judge_archive(kind, &got.sha512)?;
            let archive = caller.judge_archive(kind, &got.sha512)?;
            let verified = self.verified(version, || got.whole(), &inner)?;
            let tree = archive::unpack(&mut got.file, got.bytes, container, &caller.room, &caller.watch)?;
            (tree, archive, printable(got.final_url.as_str()), verified)
        } else {
            let bytes =
                read(&self.registry, &self.place, path, MAX_ARCHIVE_BYTES, caller)?.ok_or_else(|| {
                    WireError::new(
                        Code::NotFound,
                        "the registry does not have the archive that its entry names",
                    )
                    .at_file(self.at(path))
                    .with_fix("tell whoever keeps the registry", &[])
                })?;
            let found = Pin::of(&bytes);
            inner.judge_archive(kind, &found)?;
            let archive = caller.judge_archive(kind, &found)?;
            let verified = self.verified(version, || Ok(bytes.clone()), &inner)?;
            let tree = archive::unpack(
                bytes.as_slice(),
                bytes.len() as u64,
                container,
                &caller.room,
                &caller.watch,
            )?;
            (tree, archive, self.at(path), verified)
        };
        let signer = verified.map(|verified| verified.signer_of(&tree, &inner));
        let from = TakenFrom { archive: Some(archive), url: Some(url), signer, ..TakenFrom::default() };
        Ok(Fetched { tree, recorded: String::new(), from })
    }
}

/// Reads one file of an index; `None` when it is not there.
fn read(
    registry: &str,
    place: &RegistryPlace,
    path: &str,
    limit: u64,
    caller: &Caller<'_>,
) -> Result<Option<Vec<u8>>, WireError> {
    match place {
        RegistryPlace::Folder(folder) => {
            let file = Path::new(folder).join(path);
            match bounded_read::read(&file, limit) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(ReadFailure::Missing) => Ok(None),
                Err(failure) => Err(WireError::new(Code::IoFailed, failure.to_string()).at_file(file)),
            }
        }
        RegistryPlace::Web { base, .. } => {
            caller.refuse_offline(base)?;
            let url = format!("{base}{}", encoded(path));
            let mut request = Request::new(&url, Limits::document(limit));
            request.phase = "resolve";
            request.errand = Errand::Registry(registry);
            let answer = caller.http()?.ask(&request)?;
            match answer.status {
                status if status.is_success() => Ok(Some(answer.bytes)),
                StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
                status => Err(WireError::new(
                    Code::SourceUnreachable,
                    format!("the registry at {place} answered with status {}", status.as_u16()),
                )
                .with_fix("try again later, or ask whoever keeps it", &[])),
            }
        }
        RegistryPlace::Repository(spec) => {
            let SourceSpec::Git { url, parts, reference, subdir } = spec else {
                return Err(no_index(place));
            };
            let inside = subdir.as_ref().map_or_else(|| path.to_owned(), |subdir| format!("{subdir}/{path}"));
            let mut found = git::files(url, parts, reference, &[(&inside, limit)], caller)?;
            Ok(found.pop().flatten())
        }
    }
}

/// A path as a URL has it: what would mean something else there is written with percent signs.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@+".contains(&byte);
    let text = path
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    text.collect()
}

fn at(place: &RegistryPlace, path: &str) -> String {
    match place {
        RegistryPlace::Web { base, .. } => printable(&format!("{base}{path}")),
        RegistryPlace::Folder(folder) => Path::new(folder).join(path).display().to_string(),
        RegistryPlace::Repository(spec) => format!("{spec}, {path}"),
    }
}

fn no_index(place: &RegistryPlace) -> WireError {
    WireError::new(Code::SourceUnreachable, format!("there is no registry index at {place}"))
        .with_fix("check where the registry is", &["gsdctl", "config", "list"])
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn a_path_stays_a_path() {
        assert_eq!(encoded("archives/a b?c#d%2f.tgz"), "archives/a%20b%3Fc%23d%252f.tgz");
        assert_eq!(encoded("entries/05/@acme/lint.json"), "entries/05/@acme/lint.json");
    }
}
