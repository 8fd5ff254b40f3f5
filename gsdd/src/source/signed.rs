//! Signatures of publishers that lie beside a source: who is believed, over which bytes, with which key.
//!
//! Beside `NAME` lies `NAME.minisig`, and in the same folder, for who meets the publisher for the first time, the key in
//! `minisign.pub`. What an archive's signature covers is the archive; a folder's covers the line that `gsdctl hash`
//! prints, because a folder has no bytes of its own. A signature that does not fit is never the same as none.
//!
//! Source: ADR-1244 D5 rule 3, threats T74, T148, T161.

use std::path::Path;

use gsd_proto::{Code, WireError};
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{
    ContentHash, PublisherKey, PublisherSignature, SignatureProblem, SignedOrigin, SignerTrust,
};
use reqwest::{StatusCode, Url};
use serde_json::{Map, Value};

use super::http::{Limits, Request};
use super::{Caller, Fetched, printable};
use crate::fs::bounded_read::{self, ReadFailure};
use crate::fs::bundle_tree::BundleTree;
use crate::store::Signer;

/// Most bytes of a signature, and of a key.
pub(super) const MAX_BYTES: u64 = 4096;
/// What is appended to the name of what is signed.
pub(super) const ENDING: &str = ".minisig";
/// Where a publisher's key lies.
pub(super) const KEY_FILE: &str = "minisign.pub";

/// The keys that are known before a source is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownKeys {
    /// The person's own, with the names they gave them.
    pub(crate) configured: Vec<(String, PublisherKey)>,
    /// Those that signed what is installed in the same place, by the id of the capability.
    pub(crate) agreed: Vec<(String, PublisherKey)>,
    /// The one that a registry names as that of the publisher: no other one will do.
    pub(crate) named: Option<PublisherKey>,
}

/// What a folder's signature covers: the line that `gsdctl hash` prints.
pub(super) fn signed_line(content: &ContentHash) -> Vec<u8> {
    format!("{}\n", content.as_str()).into_bytes()
}

/// A signature that fits.
pub(super) struct Verified {
    key: PublisherKey,
    comment: String,
}

/// Verifies the signature of `what` in `file`. `beside` is asked for the file with the key only when none that is known
/// has its key id.
///
/// # Errors
/// It does not fit, or its key is not known.
pub(super) fn verified(
    what: &str,
    file: &[u8],
    signed: &[u8],
    caller: &Caller<'_>,
    beside: impl FnOnce() -> Result<Option<Vec<u8>>, WireError>,
) -> Result<Verified, WireError> {
    let signature = PublisherSignature::read(file).map_err(|problem| invalid(what, &problem))?;
    let keys = &caller.keys;
    let known = keys.configured.iter().chain(&keys.agreed).map(|(_, key)| key).chain(&keys.named);
    let mut known: Vec<PublisherKey> = known.filter(|key| signature.names(key)).cloned().collect();
    if let Some(named) = &keys.named {
        known.retain(|key| key == named);
        if known.is_empty() {
            return Err(invalid(what, &SignatureProblem::Wrong(named.id()))
                .caused_by(format!("the registry names the key {}", named.as_str()))
                .caused_by(format!("it was made with the key {}", signature.key_id())));
        }
    }
    if known.is_empty() {
        known.extend(beside()?.and_then(|file| PublisherKey::read_file(&file).ok()));
    }
    // Key ids can be copied, so more than one key may have it.
    let mut problem = SignatureProblem::UnknownKey(signature.key_id());
    for key in known {
        match signature.verify(&key, signed).map(str::to_owned) {
            Ok(comment) => return Ok(Verified { key, comment }),
            Err(other) => problem = other,
        }
    }
    Err(invalid(what, &problem))
}

impl Verified {
    /// Who signed the bundle `tree`, with what the key is worth for that one: an agreement to one capability says nothing
    /// about another.
    pub(super) fn signer_of(self, tree: &BundleTree, caller: &Caller<'_>) -> Signer {
        let (keys, manifest) = (&caller.keys, manifest_of(tree));
        let id = manifest.get("id").and_then(Value::as_str).unwrap_or_default();
        let configured = keys.configured.iter().find(|(_, key)| *key == self.key);
        let trust = if configured.is_some() {
            SignerTrust::Configured
        } else if keys.named.as_ref() == Some(&self.key) {
            SignerTrust::Registry
        } else if keys.agreed.iter().any(|(of, key)| of == id && *key == self.key) {
            SignerTrust::Agreed
        } else {
            SignerTrust::FirstSeen
        };
        Signer {
            key: self.key.as_str().to_owned(),
            name: configured.map(|(name, _)| name.clone()),
            trust: trust.name().to_owned(),
            comment: self.comment,
            provenance: false,
            unknown: Map::new(),
        }
    }
}

fn invalid(what: &str, problem: &SignatureProblem) -> WireError {
    let error = WireError::new(
        Code::SignatureInvalid,
        format!("the signature of {} can't be relied on", printable(what)),
    )
    .caused_by(problem.to_string());
    match problem {
        SignatureProblem::UnknownKey(_) => error
            .with_fix(
                "get the key from its publisher by another way, and name it",
                &["gsdctl", "config", "set", "publishers.NAME", "KEY"],
            )
            .with_fix("publishers: put the key beside the signature, as minisign.pub", &[]),
        SignatureProblem::Malformed | SignatureProblem::Wrong(_) => error
            .with_fix("ask the publisher; nothing of it was used", &[])
            .with_fix("publishers: sign again what changed since", &[]),
    }
}

/// Fills in whether the signed comment is provenance, now that everything is known; says it when it speaks of something
/// else than the manifest.
pub(super) fn judge_origin(fetched: &mut Fetched, caller: &Caller<'_>) {
    let manifest = manifest_of(&fetched.tree);
    let has_provenance = fetched.from.has_provenance(&manifest);
    let Some(signer) = &mut fetched.from.signer else { return };
    signer.provenance = has_provenance;
    if let Some(origin) = SignedOrigin::read(&signer.comment).filter(|_| !has_provenance) {
        caller.note(format!(
            "the signature names the commit {} of {}, and the manifest or what was fetched does not",
            shown_up_to(origin.commit, 64),
            shown_up_to(origin.repository, 200)
        ));
    }
}

fn manifest_of(tree: &BundleTree) -> Value {
    tree.manifest().unwrap_or(Value::Null)
}

/// The signature beside an archive on the web. What a server has in its place is told, and counts as none: whoever runs
/// the server could as well say that there is none.
///
/// # Errors
/// The call was given up.
pub(super) fn beside_url(archive: &str, caller: &Caller<'_>) -> Result<Option<Vec<u8>>, WireError> {
    let Ok(mut url) = Url::parse(archive) else { return Ok(None) };
    let path = format!("{}{ENDING}", url.path());
    url.set_path(&path);
    let found = small_file(&url, "signature", caller)?;
    let is_one = found.as_deref().is_some_and(PublisherSignature::is_meant);
    if found.is_some() && !is_one {
        caller
            .note(format!("what lies at {} is no signature; it counts as unsigned", printable(url.as_str())));
    }
    Ok(found.filter(|_| is_one))
}

/// The key in the folder of an archive on the web.
///
/// # Errors
/// The call was given up.
pub(super) fn key_beside_url(archive: &str, caller: &Caller<'_>) -> Result<Option<Vec<u8>>, WireError> {
    match Url::parse(archive).and_then(|url| url.join(KEY_FILE)) {
        Ok(url) => small_file(&url, "key", caller),
        Err(_) => Ok(None),
    }
}

fn small_file(url: &Url, what: &str, caller: &Caller<'_>) -> Result<Option<Vec<u8>>, WireError> {
    let request = Request { phase: "verify", ..Request::new(url.as_str(), Limits::document(MAX_BYTES)) };
    let why = match caller.http()?.ask(&request) {
        Ok(answer) if answer.status.is_success() => return Ok(Some(answer.bytes)),
        Ok(answer) if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) => return Ok(None),
        Ok(answer) => format!("status {}", answer.status.as_u16()),
        Err(error) if &*error.code == Code::Cancelled.name() => return Err(error),
        Err(error) => error.message,
    };
    caller.note(format!(
        "whether there is a {what} at {} could not be found out ({}); it counts as none",
        printable(url.as_str()),
        shown_up_to(&why, 200)
    ));
    Ok(None)
}

/// The signature beside a folder of this machine.
///
/// # Errors
/// There is one that can't be read.
pub(super) fn beside_folder(folder: &Path) -> Result<Option<Vec<u8>>, WireError> {
    match folder.file_name() {
        Some(name) => {
            let mut name = name.to_owned();
            name.push(ENDING);
            small_local_file(&folder.with_file_name(name))
        }
        None => Ok(None),
    }
}

/// The key beside a folder of this machine.
///
/// # Errors
/// There is one that can't be read.
pub(super) fn key_beside_folder(folder: &Path) -> Result<Option<Vec<u8>>, WireError> {
    small_local_file(&folder.with_file_name(KEY_FILE))
}

fn small_local_file(file: &Path) -> Result<Option<Vec<u8>>, WireError> {
    match bounded_read::read(file, MAX_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadFailure::Missing) => Ok(None),
        Err(failure) => Err(WireError::new(
            Code::SignatureInvalid,
            format!("{} can't be read: {failure}", shown(&file.to_string_lossy())),
        )
        .at_file(file)
        .with_fix("make it readable, or take it away", &[])),
    }
}
