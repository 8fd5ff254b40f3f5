//! Archives: from bytes whose digest was taken to a staged bundle.
//!
//! The members are read one by one, by our own policy, and never unpacked by a library: only regular files and folders,
//! with names that mean the same everywhere, within the limits of a bundle. They are written into a private folder that
//! goes when one of them is refused (T37).

mod container;
mod layout;
mod members;

use std::io::Read;

use futures_util::FutureExt as _;
use gsd_proto::{Code, WireError};
use gsdd_core::text::shown;

pub(crate) use container::{Container, max_stream};

use super::watch::Watch;
use super::{raise_limit, staging_failed};
use crate::fs::bundle_tree::{BundleTree, TreeRefusal};
use crate::fs::staging::Room;

/// Why an archive is refused; `code` completes `bundle.<code>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", .member.as_deref().unwrap_or("the archive"))]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    /// The member it is about, cleaned.
    pub(super) member: Option<String>,
    pub(super) reason: String,
}

impl Refusal {
    fn whole(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, member: None, reason: reason.into() }
    }

    fn member(code: &'static str, path: &[u8], reason: &dyn std::fmt::Display) -> Self {
        let member = Some(shown(&String::from_utf8_lossy(path)));
        Self { code, member, reason: reason.to_string() }
    }

    fn explain(self) -> WireError {
        if self.code == TreeRefusal::DISK {
            return staging_failed(self.member.unwrap_or_default(), &self.reason);
        }
        let mut error =
            WireError::new(Code::Internal, format!("this archive is not a usable bundle: {}", self.reason))
                .with_fix("ask the author to repair the archive", &[]);
        if let Some(member) = self.member {
            error = error.at_file(member);
        }
        error.code = format!("bundle.{}", self.code).into();
        error.exit = Code::UsageInvalid.exit();
        raise_limit(error)
    }
}

impl From<TreeRefusal> for Refusal {
    fn from(refusal: TreeRefusal) -> Self {
        Self { code: refusal.code, member: Some(refusal.path), reason: refusal.reason }
    }
}

/// Stages the bundle out of an archive of `len` bytes. `named` is the container that the name of the archive promises;
/// what it really is, its content says.
///
/// # Errors
/// The first member that is not allowed, and what is not an archive of a bundle.
pub(crate) fn unpack(
    archive: impl Read + Unpin,
    len: u64,
    named: Option<Container>,
    room: &Room,
    watch: &Watch,
) -> Result<BundleTree, WireError> {
    // The bytes are here: nothing ever waits.
    let members = members::read(container::AlwaysReady(archive), len, named, room, watch);
    let members = members.now_or_never();
    let members = members.unwrap_or_else(|| Err(Refusal::whole("unreadable", "reading it did not end")));
    watch.check()?;
    let tree = members
        .and_then(|staging| {
            let place = layout::place_of_bundle(&staging)?;
            Ok(staging.finish(&place)?)
        })
        .map_err(Refusal::explain)?;
    watch.finished("unpack", tree.files.len() as u64, "files");
    Ok(tree)
}

#[cfg(test)]
mod tests;
