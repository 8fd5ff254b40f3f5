//! An archive behind an https URL.

use gsd_proto::WireError;
use gsdd_core::policy::Errand;
use gsdd_core::source::SourceKind;
use gsdd_core::source::url::SourceUrl;
use gsdd_core::trust::VerificationLevel;

use super::archive::{self, Container};
use super::http::{Limits, Request};
use super::{Caller, Fetched, signed};
use crate::store::TakenFrom;

/// Fetches the archive at `url`.
pub(super) fn fetch(
    url: &str,
    parts: &SourceUrl,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let limits = Limits::archive(caller.room.max_bytes);
    let request = Request { errand: Errand::Tarball, ..Request::new(url, limits) };
    let mut got = caller.http()?.download(&request, &caller.workspace)?;
    let digest = caller.judge_archive(SourceKind::Tarball, &got.sha512)?;
    // Before anything of it is unpacked.
    let signature = if caller.wants_signatures { signed::beside_url(url, caller)? } else { None };
    let verified = match signature {
        None => None,
        Some(signature) => {
            let beside = || signed::key_beside_url(url, caller);
            Some(signed::verified(url, &signature, &got.whole()?, caller, beside)?)
        }
    };
    let container = Container::of_name(&parts.path);
    let tree = archive::unpack(&mut got.file, got.bytes, container, &caller.room, &caller.watch)?;
    let signer = verified.map(|verified| verified.signer_of(&tree, caller));
    let mut from_url = got.final_url;
    from_url.set_query(None);
    let from = TakenFrom {
        archive: Some(digest),
        url: Some(from_url.into()),
        // Without a digest, other bytes may come to lie there.
        reference: caller.is_pinned().then(|| recorded.to_owned()),
        signer,
        ..TakenFrom::default()
    }
    .carrying(VerificationLevel::Transport);
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}
