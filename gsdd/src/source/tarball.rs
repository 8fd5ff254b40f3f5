//! An archive behind an https URL.

use gsd_proto::WireError;
use gsdd_core::source::SourceKind;
use gsdd_core::source::url::SourceUrl;

use super::archive::{self, Container};
use super::http::{Limits, Request};
use super::{Caller, Fetched};
use crate::store::TakenFrom;

/// Fetches the archive at `url`.
pub(super) fn fetch(
    url: &str,
    parts: &SourceUrl,
    recorded: &str,
    caller: &Caller<'_>,
) -> Result<Fetched, WireError> {
    let mut got = caller
        .http()?
        .download(&Request::new(url, Limits::archive(caller.room.max_bytes)), &caller.workspace)?;
    let digest = caller.judge_archive(SourceKind::Tarball, &got.sha512)?;
    let tree = archive::unpack(
        &mut got.file,
        got.bytes,
        Container::of_name(&parts.path),
        &caller.room,
        &caller.watch,
    )?;
    let mut from_url = got.final_url;
    from_url.set_query(None);
    let from = TakenFrom {
        archive: Some(digest),
        url: Some(from_url.into()),
        // Without a digest, other bytes may come to lie there.
        reference: caller.is_pinned().then(|| recorded.to_owned()),
        ..TakenFrom::default()
    };
    Ok(Fetched { tree, recorded: recorded.to_owned(), from })
}
