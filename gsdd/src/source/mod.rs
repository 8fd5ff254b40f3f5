//! Fetching: one adapter per kind of source; all of them end in a bundle in memory and what was taken.
//!
//! Source: ADR-1244 D3 (one seam, one adapter per kind).

mod git;
mod local;

use std::path::PathBuf;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::source::SourceSpec;

use crate::fs::bundle_tree::BundleTree;

/// What was fetched.
pub(crate) struct Fetched {
    pub(crate) tree: BundleTree,
    /// The source as the ledger records it.
    pub(crate) recorded: String,
    /// Commit, for git.
    pub(crate) commit: Option<String>,
}

/// What an adapter needs to know about the caller.
pub(crate) struct Caller<'a> {
    pub(crate) ctx: &'a Context,
    /// Folder in which temporary files may be made, ours and private.
    pub(crate) workspace: PathBuf,
    /// The project that a local source may be recorded relative to.
    pub(crate) project_root: Option<PathBuf>,
    pub(crate) offline: bool,
}

/// Fetches `spec`. Blocks; runs on a thread for blocking work.
///
/// # Errors
/// What, where, and what to do about it.
pub(crate) fn fetch(spec: &SourceSpec, caller: &Caller<'_>) -> Result<Fetched, WireError> {
    match spec {
        SourceSpec::Local { path } => local::fetch(path, caller),
        SourceSpec::Git { .. } if caller.offline => Err(WireError::new(
            Code::SourceOffline,
            format!("fetching {} needs the network", gsdd_core::text::shown(&spec.recorded())),
        )
        .with_fix("leave out --offline, or install from a local folder", &[])),
        SourceSpec::Git { url, reference, subdir, .. } => {
            git::fetch(url, reference, subdir.as_ref(), &spec.recorded(), caller)
        }
        SourceSpec::Npm { .. }
        | SourceSpec::Tarball { .. }
        | SourceSpec::Registry { .. }
        | SourceSpec::Oci { .. } => Err(WireError::new(
            Code::SourceUnsupported,
            format!("sources of the kind `{}` can't be fetched by this version", spec.kind().name()),
        )
        .with_fix("fetch it yourself and install the folder: gsdctl install ./folder", &[])
        .with_fix("or use the git repository behind it: gsdctl install https://host/repo.git#tag", &[])),
    }
}

/// Reads a source spec.
///
/// # Errors
/// The rule that it breaks, and the form that was meant.
pub(crate) fn parse(raw: &str) -> Result<SourceSpec, WireError> {
    SourceSpec::parse(raw).map_err(|refusal| {
        let error = WireError::new(Code::SourceSpecInvalid, format!("{}: {refusal}", printable(raw)));
        if refusal.hint.is_empty() { error } else { error.with_fix(refusal.hint, &[]) }
    })
}

/// A source as a person may see it and a log may keep it: no credentials, and nothing behind a question mark, which
/// may be a token.
pub(crate) fn printable(spec: &str) -> String {
    let bare = git::without_credentials(spec);
    match bare.split_once('?') {
        Some((head, _)) if head.contains("://") => format!("{}?…", gsdd_core::text::shown(head)),
        _ => gsdd_core::text::shown(&bare),
    }
}
