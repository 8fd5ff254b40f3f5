//! An artifact of an OCI registry: its manifest names one layer by digest, and the layer is the archive.
//!
//! The two requests, and the one for a token in between, are made by our own client, so that every address, redirect
//! and token service is judged as for any other source.

mod credentials;

use gsd_proto::{Code, WireError};
use gsdd_core::policy::Errand;
use gsdd_core::source::SourceKind;
use gsdd_core::source::oci::{
    Challenge, Layer, MANIFEST_TYPES, MAX_MANIFEST, is_beside, layer_of, read_challenge,
};
use gsdd_core::text::shown;
use gsdd_core::trust::{VerificationLevel, sha256};
use reqwest::Url;
use reqwest::header::{HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;

use self::credentials::Credentials;
use super::archive::{self, Container};
use super::http::{Document, Limits, Request, secret_header};
use super::{Caller, Fetched};
use crate::store::TakenFrom;

/// Largest answer of a token service, in bytes.
const MAX_TOKEN: u64 = 64 * 1024;

/// Fetches the artifact that `tag` or `digest` names; the digest counts where both are given.
pub(super) fn fetch(
    host: &str,
    repository: &str,
    tag: Option<&str>,
    digest: Option<&str>,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let mut registry = Registry { host, repository, caller, authorization: None };
    let (found, layer) = registry.look_up(tag, digest, recorded)?;
    let mut got = registry.layer(&layer)?;
    let has = format!("sha256:{}", got.sha256);
    if has != layer.digest || got.bytes != layer.size {
        return Err(mismatch("the archive", &layer.digest, &has));
    }
    let archive = caller.judge_archive(SourceKind::Oci, &got.sha512)?;
    let tree =
        archive::unpack(&mut got.file, got.bytes, promised(&layer.media_type), &caller.room, &caller.watch)?;
    let from = TakenFrom {
        archive: Some(archive),
        reference: Some(format!("oci://{host}/{repository}@{found}")),
        manifest_digest: Some(found),
        ..TakenFrom::default()
    }
    .carrying(match digest {
        Some(_) => VerificationLevel::Pin,
        None => VerificationLevel::Digest,
    });
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}

/// The digest of the manifest that `tag` or `digest` names now.
pub(super) fn digest_of(
    host: &str,
    repository: &str,
    tag: Option<&str>,
    digest: Option<&str>,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<String, WireError> {
    caller.refuse_offline(recorded)?;
    let mut registry = Registry { host, repository, caller, authorization: None };
    registry.look_up(tag, digest, recorded).map(|(found, _)| found)
}

/// What a media type promises about the compression.
fn promised(media_type: &str) -> Option<Container> {
    let (_, suffix) = media_type.rsplit_once('+')?;
    match suffix {
        "gzip" => Some(Container::Gzip),
        "zstd" => Some(Container::Zstd),
        "xz" => Some(Container::Xz),
        _ => None,
    }
}

fn mismatch(what: &str, promised: &str, found: &str) -> WireError {
    WireError::new(Code::IntegrityMismatch, format!("{what} does not have the digest it was named by"))
        .caused_by(format!("named: {}", shown(promised)))
        .caused_by(format!("found: {}", shown(found)))
        .with_fix("ask whoever runs that registry; nothing of it was used", &[])
}

struct Registry<'a> {
    /// With its port.
    host: &'a str,
    repository: &'a str,
    caller: &'a Caller<'a>,
    /// What the registry wanted to see.
    authorization: Option<HeaderValue>,
}

/// Services use one name or the other, or both.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Registry<'a> {
    fn errand(&self) -> Errand<'a> {
        Errand::Oci { host: self.host, repository: self.repository }
    }

    fn url(&self, kind: &str, name: &str) -> String {
        // The name that people use is not that of the machine that serves.
        let host = if self.host == "docker.io" { "registry-1.docker.io" } else { self.host };
        format!("https://{host}/v2/{}/{kind}/{name}", self.repository)
    }

    /// The manifest's digest, and the one layer that it names.
    fn look_up(
        &mut self,
        tag: Option<&str>,
        digest: Option<&str>,
        recorded: &str,
    ) -> Result<(String, Layer), WireError> {
        let wanted = digest.or(tag).unwrap_or("latest");
        let manifest = self.manifest(wanted)?;
        let found = sha256(&manifest.bytes);
        let told = manifest.headers.get("docker-content-digest").and_then(|told| told.to_str().ok());
        for promised in digest.into_iter().chain(told.filter(|told| told.starts_with("sha256:"))) {
            if promised != found {
                return Err(mismatch("the manifest", promised, &found));
            }
        }
        let layer = layer_of(&manifest.bytes).map_err(|problem| {
            WireError::new(Code::SourceUnsupported, format!("{} is not a bundle: {problem}", shown(recorded)))
                .with_fix("ask the author to publish the bundle as an artifact with one archive", &[])
        })?;
        Ok((found, layer))
    }

    fn manifest(&mut self, name: &str) -> Result<Document, WireError> {
        let url = self.url("manifests", name);
        let http = self.caller.http()?;
        let request = Request {
            accept: Some(MANIFEST_TYPES),
            phase: "look up",
            errand: self.errand(),
            ..Request::new(&url, Limits::document(MAX_MANIFEST))
        };
        let answer = http.ask(&request)?;
        if answer.status.as_u16() != 401 {
            return answer.or_status(&url);
        }
        self.authorization = self.authorize(&answer)?;
        if self.authorization.is_none() {
            return answer.or_status(&url);
        }
        http.get(&Request { authorization: self.authorization.clone(), ..request })
    }

    fn layer(&self, layer: &Layer) -> Result<super::http::Downloaded, WireError> {
        let url = self.url("blobs", &layer.digest);
        let request = Request {
            authorization: self.authorization.clone(),
            errand: self.errand(),
            ..Request::new(&url, Limits::archive(self.caller.room.max_bytes))
        };
        self.caller.http()?.download(&request, &self.caller.workspace)
    }

    /// What to send, now that the registry has said what it wants; `None` when there is nothing that it would take.
    fn authorize(&self, refusal: &Document) -> Result<Option<HeaderValue>, WireError> {
        let challenges = refusal.headers.get_all(WWW_AUTHENTICATE).iter();
        let challenge = challenges.filter_map(|value| value.to_str().ok()).find_map(read_challenge);
        let credentials = Credentials::of_person(self.caller.ctx, self.host);
        match challenge {
            None => Ok(None),
            Some(Challenge::Basic) => Ok(credentials.and_then(|credentials| credentials.header())),
            Some(Challenge::Bearer { realm, service }) => self.token(&realm, service.as_deref(), credentials),
        }
    }

    fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        credentials: Option<Credentials>,
    ) -> Result<Option<HeaderValue>, WireError> {
        let unusable = |why: &str| {
            WireError::new(
                Code::SourceUnreachable,
                format!("{} sends us to a token service that can't be used", shown(self.host)),
            )
            .caused_by(why.to_owned())
            .with_fix("ask whoever runs that registry", &[])
        };
        let mut url = Url::parse(realm).map_err(|_| unusable("its address is not a URL"))?;
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = service {
                query.append_pair("service", service);
            }
            query.append_pair("scope", &format!("repository:{}:pull", self.repository));
        }
        let registry = Url::parse(&self.url("", "")).ok();
        let registry = registry.as_ref().and_then(Url::host_str).unwrap_or_default();
        let beside = url.host_str().is_some_and(|realm| is_beside(registry, realm));
        let answer = self.caller.http()?.get(&Request {
            accept: Some("application/json"),
            authorization: credentials.filter(|_| beside).and_then(|credentials| credentials.header()),
            phase: "look up",
            ..Request::new(url.as_str(), Limits::document(MAX_TOKEN))
        })?;
        let token = serde_json::from_slice::<Token>(&answer.bytes).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        let token = token.ok_or_else(|| unusable("its answer has no token"))?;
        Ok(secret_header(&format!("Bearer {token}")))
    }
}
