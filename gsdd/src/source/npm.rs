//! A package of an npm registry, over HTTPS and without npm: the description of the package, then its archive, whose
//! published digest is compared before anything of it is unpacked. No script of a package is ever run.
//!
//! A secret goes to the place that the person's `.npmrc` names it for. An archive that lies somewhere else is fetched
//! without one.
//!
//! Source: ADR-1244 D3 (npm adapter), D5 rules 1 and 3; decision D-15; threats T65, T75, T94 to T100.

use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use gsd_proto::{Code, WireError};
use gsdd_core::policy::Errand;
use gsdd_core::source::npmrc::{self, MAX_NPMRC_BYTES, NpmSettings, RegistryUrl};
use gsdd_core::source::packument::{MAX_PACKUMENT_BYTES, Packument, Release};
use gsdd_core::source::sri::{Sri, SriAlgorithm, SriProblem};
use gsdd_core::source::url::SourceUrl;
use gsdd_core::source::{NpmSelector, SourceKind, SourceSpec};
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::VerificationLevel;
use reqwest::StatusCode;

use super::archive::{self, Container};
use super::http::{Downloaded, Limits, Request, secret_header};
use super::resolve::{Resolved, Taken, note_passed_over, nothing_to_take};
use super::{Caller, Fetched, printable};
use crate::fs::bounded_read::{self, ReadFailure};
use crate::store::TakenFrom;

/// The short form where a registry has it, else the full one.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*; q=0.5";

/// Fetches the version that `selector` leads to.
pub(super) fn fetch(
    name: &str,
    selector: &NpmSelector,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let source = Source::open(name, caller)?;
    let packument = source.packument()?;
    let choice = packument.choose(selector, |range| caller.runs(range));
    let release = choice.taken.as_deref().and_then(|version| packument.release(version));
    let release = release.ok_or_else(|| nothing_to_take(name, &choice))?;
    note_passed_over(name, &choice, caller);
    source.note_about(release);
    let digest = published_digest(name, release)?;
    let mut downloaded = source.download(release)?;
    compare(name, release, &digest, &mut downloaded)?;
    let archive = caller.judge_archive(SourceKind::Npm, &downloaded.sha512)?;
    let tree = archive::unpack(
        &mut downloaded.file,
        downloaded.bytes,
        Some(Container::Gzip),
        &caller.room,
        &caller.watch,
    )?;
    let from = TakenFrom {
        archive: Some(archive),
        url: Some(printable(downloaded.final_url.as_str())),
        version: Some(release.version.clone()),
        attestation: release.attestations.clone(),
        reference: Some(format!("npm:{name}@{} of {}", release.version, source.registry().as_str())),
        ..TakenFrom::default()
    }
    .carrying(VerificationLevel::Digest);
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}

/// What [`fetch`] would take, and why.
pub(super) fn resolve(
    name: &str,
    selector: &NpmSelector,
    caller: &Caller<'_>,
) -> Result<Resolved, WireError> {
    let packument = packument(name, caller)?;
    let choice = packument.choose(selector, |range| caller.runs(range));
    let release = choice.taken.as_deref().and_then(|version| packument.release(version));
    let taken = release.map(|release| Taken {
        version: Some(release.version.clone()),
        exact: Some(SourceSpec::Npm {
            name: name.to_owned(),
            selector: NpmSelector::Exact(release.version.clone()),
        }),
        url: release.tarball.as_deref().map(printable),
        integrity: release.integrity.clone(),
        attestation: release.attestations.clone(),
        ..Taken::default()
    });
    Ok(Resolved { choice, taken, ..Resolved::default() })
}

/// What the registry says about a package.
pub(super) fn packument(name: &str, caller: &Caller<'_>) -> Result<Packument, WireError> {
    Source::open(name, caller)?.packument()
}

/// A package and where it comes from.
struct Source<'a> {
    name: &'a str,
    settings: NpmSettings,
    caller: &'a Caller<'a>,
}

impl<'a> Source<'a> {
    fn open(name: &'a str, caller: &'a Caller<'a>) -> Result<Self, WireError> {
        caller.refuse_offline(&format!("npm:{name}"))?;
        Ok(Self { name, settings: settings(caller), caller })
    }

    fn registry(&self) -> &RegistryUrl {
        self.settings.registry_of(self.name)
    }

    fn packument(&self) -> Result<Packument, WireError> {
        let url = self.registry().packument(self.name);
        let mut request = self.request(&url, Limits::document(MAX_PACKUMENT_BYTES));
        request.accept = Some(ACCEPT);
        request.phase = "resolve";
        let answer = self.caller.http_trusting(self.settings.cafile.as_deref())?.ask(&request)?;
        match answer.status {
            status if status.is_success() => {}
            StatusCode::NOT_FOUND => {
                return Err(WireError::new(
                    Code::NotFound,
                    format!("{} has no package {}", self.shown_registry(), shown(self.name)),
                )
                .with_fix("check the name; a private package also looks like this without its token", &[]));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.wants_token(answer.status)),
            status => return Err(self.failed(status)),
        }
        Packument::read(&answer.bytes, self.name).map_err(|problem| {
            WireError::new(Code::SourceUnreachable, format!("{}: {problem}", self.shown_registry()))
                .with_fix("check the registry in your .npmrc", &["npm", "config", "get", "registry"])
        })
    }

    fn download(&self, release: &Release) -> Result<Downloaded, WireError> {
        let url = release.tarball.as_deref().map(|url| self.secured(url)).ok_or_else(|| {
            WireError::new(
                Code::SourceUnreachable,
                format!("{} offers no archive of {}", self.shown_registry(), self.shown_version(release)),
            )
        })?;
        let request = self.request(&url, Limits::archive(self.caller.room.max_bytes));
        self.caller.http_trusting(self.settings.cafile.as_deref())?.download(&request, &self.caller.workspace)
    }

    fn request<'r>(&'r self, url: &'r str, limits: Limits) -> Request<'r> {
        let mut request = Request::new(url, limits);
        request.errand = Errand::Npm(self.name);
        request.authorization = SourceUrl::parse(url)
            .ok()
            .and_then(|url| self.settings.authorization(&url, self.registry()))
            .and_then(|secret| secret_header(secret.expose()));
        request
    }

    /// Registries behind a proxy write plain URLs of themselves.
    fn secured(&self, url: &str) -> String {
        match url.strip_prefix("http://") {
            Some(rest) if rest.split(['/', ':']).next() == Some(self.registry().host()) => {
                format!("https://{rest}")
            }
            _ => url.to_owned(),
        }
    }

    /// What a person should know of a version before they agree to it.
    fn note_about(&self, release: &Release) {
        let what = self.shown_version(release);
        if release.has_install_script {
            self.caller.note(format!("{what} has install scripts for npm; they are not run"));
        }
        if release.dependencies > 0 {
            self.caller.note(format!(
                "{what} depends on {} other packages, which are not installed: a bundle brings along what it needs",
                release.dependencies
            ));
        }
        if let Some(words) = &release.deprecated {
            let words =
                if words.is_empty() { String::new() } else { format!(": {}", shown_up_to(words, 200)) };
            self.caller.note(format!("{what} is deprecated by its publisher{words}"));
        }
    }

    fn wants_token(&self, status: StatusCode) -> WireError {
        let place = self.registry().as_str().trim_start_matches("https:").to_owned();
        WireError::new(
            Code::SourceUnreachable,
            format!(
                "{} wants authentication for {} (status {})",
                self.shown_registry(),
                shown(self.name),
                status.as_u16()
            ),
        )
        .with_fix(format!("put a line {}:_authToken=… into your own .npmrc", shown(&place)), &[])
    }

    fn failed(&self, status: StatusCode) -> WireError {
        WireError::new(
            Code::SourceUnreachable,
            format!("{} answered with status {}", self.shown_registry(), status.as_u16()),
        )
        .with_fix("try again later, or check the registry in your .npmrc", &[])
    }

    fn shown_registry(&self) -> String {
        shown(self.registry().as_str())
    }

    fn shown_version(&self, release: &Release) -> String {
        format!("{}@{}", shown(self.name), shown(&release.version))
    }
}

/// The digest that the registry publishes with the archive.
fn published_digest(name: &str, release: &Release) -> Result<Sri, WireError> {
    Sri::strongest(release.integrity.as_deref().unwrap_or_default()).map_err(|problem| {
        let error = WireError::new(
            Code::IntegrityMismatch,
            format!(
                "the registry vouches for no content of {}@{}: {problem}",
                shown(name),
                shown(&release.version)
            ),
        );
        match problem {
            SriProblem::Empty | SriProblem::Weak => {
                error.caused_by("it was published by a tool of long ago, with sha1 at most").with_fix(
                    "ask the publisher to publish again, or install from the repository behind it",
                    &[],
                )
            }
            SriProblem::Malformed => error.with_fix("tell whoever keeps the registry", &[]),
        }
    })
}

/// Compares the archive with the digest, before anything of it is looked at.
fn compare(
    name: &str,
    release: &Release,
    digest: &Sri,
    downloaded: &mut Downloaded,
) -> Result<(), WireError> {
    let matches = match digest.algorithm() {
        SriAlgorithm::Sha512 => downloaded.sha512.as_str() == digest.to_string(),
        SriAlgorithm::Sha256 | SriAlgorithm::Sha384 => has_digest(downloaded, digest)?,
    };
    if matches {
        return Ok(());
    }
    Err(WireError::new(
        Code::IntegrityMismatch,
        format!("the archive of {}@{} is not the published one", shown(name), shown(&release.version)),
    )
    .caused_by(format!("published: {digest}"))
    .caused_by(format!("found: {}", downloaded.sha512.as_str()))
    .with_fix(
        "try again; if it stays so, tell whoever keeps the registry. Nothing of the archive was used",
        &[],
    ))
}

/// Whether a download has a digest that was not taken while it came; it stays at its beginning.
fn has_digest(downloaded: &mut Downloaded, digest: &Sri) -> Result<bool, WireError> {
    let failed =
        |error: std::io::Error| WireError::new(Code::IoFailed, format!("reading the archive: {error}"));
    let mut check = digest.check();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match downloaded.file.read(&mut buffer).map_err(failed)? {
            0 => break,
            count => check.update(&buffer[..count]),
        }
    }
    downloaded.file.rewind().map_err(failed)?;
    Ok(check.matches())
}

/// The `.npmrc` of the person, and of the project when the capability is for the project.
fn settings(caller: &Caller<'_>) -> NpmSettings {
    let own = own_file(caller);
    let project = caller.project_root.as_ref().map(|root| root.join(".npmrc"));
    let read = |file: &Path, whose: &str| match bounded_read::read(file, MAX_NPMRC_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(ReadFailure::Missing) => None,
        Err(failure) => {
            caller.note(format!("{whose} .npmrc is not used: {failure}"));
            None
        }
    };
    let user = own.as_deref().and_then(|file| read(file, "your"));
    let project =
        project.filter(|file| Some(file) != own.as_ref()).and_then(|file| read(&file, "the project's"));
    let env = |name: &str| caller.ctx.env.get(name).cloned();
    let settings = npmrc::read_settings(user.as_deref(), project.as_deref(), env);
    for warning in &settings.warnings {
        caller.note(warning.clone());
    }
    settings
}

fn own_file(caller: &Caller<'_>) -> Option<PathBuf> {
    let env = &caller.ctx.env;
    let named = env.get("NPM_CONFIG_USERCONFIG").filter(|file| !file.is_empty());
    let home =
        || env.get("HOME").or_else(|| env.get("USERPROFILE")).map(|home| Path::new(home).join(".npmrc"));
    named.map(|file| caller.ctx.cwd.join(file)).or_else(home)
}
