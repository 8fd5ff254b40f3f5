//! Failures of the shell as errors on the wire: what, where, why, what next.

use std::path::Path;

use gsd_proto::{Code, WireError};

use crate::apply::ApplyFailure;
use crate::fs::bundle_tree::TreeRefusal;
use crate::source::{raise_limit, staging_failed};
use crate::store::shared_files::LedgerFailure;

/// A bundle that can't be read.
pub(crate) fn from_tree(refusal: &TreeRefusal) -> WireError {
    if refusal.code == TreeRefusal::DISK {
        return staging_failed(&refusal.path, &refusal.reason);
    }
    let mut error =
        WireError::new(Code::Internal, format!("this folder is not a usable bundle: {}", refusal.reason))
            .at_file(&refusal.path);
    error.code = format!("bundle.{}", refusal.code).into();
    error.exit = 2;
    raise_limit(error)
}

/// A plan that was not carried out.
pub(crate) fn from_apply(failure: &ApplyFailure) -> WireError {
    let mut error = WireError::new(
        Code::IoFailed,
        if failure.left.is_empty() {
            format!("{} {} failed; everything was put back as it was", failure.activity, failure.path)
        } else {
            format!("{} {} failed, and not everything could be put back", failure.activity, failure.path)
        },
    )
    .caused_by(failure.source.to_string())
    .at_file(&failure.path);
    for left in &failure.left {
        error = error.caused_by(format!("left: {left}"));
    }
    match failure.source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            error.with_fix("free some space on that file system, then run the same command again", &[])
        }
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            error.with_fix("make that folder writable for you, then run the same command again", &[])
        }
        _ => error.with_fix("run the same command again", &[]),
    }
}

/// A ledger that can't be used.
pub(crate) fn from_ledger(path: &Path, failure: &LedgerFailure) -> WireError {
    WireError::new(Code::LedgerCorrupt, "the ledger can't be used, so nothing was changed")
        .caused_by(failure.to_string())
        .at_file(path)
        .with_fix("repair the file, or move it away: what it lists is then installed but unrecorded", &[])
}

/// Our own records can't be used.
pub(crate) fn from_state(path: &Path, reason: &dyn std::fmt::Display) -> WireError {
    WireError::new(Code::StateNewer, "our records can't be used, so nothing was changed")
        .caused_by(reason.to_string())
        .at_file(path)
        .with_fix(
            "repair the file, or move it away to start over: hosts then keep what was written into them",
            &[],
        )
}

/// The consent store can't be used.
pub(crate) fn from_consent(path: &Path, reason: &str) -> WireError {
    WireError::new(Code::IoFailed, "the consent store can't be used, so nothing was changed")
        .caused_by(reason)
        .at_file(path)
        .with_fix("repair the file, or move it away: everything in projects then asks for consent again", &[])
}
