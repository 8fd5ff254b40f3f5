//! Whether the person agreed to exactly this content, and why they are asked again.

use gsdd_core::compose::{ConsentVerdict, Scope};
use gsdd_core::ledger::Entry;
use gsdd_core::source::compat::compare_cores;
use gsdd_core::trust::{ContentHash, ExecutableState, ReaskReason, UpdateFacts, reasons_to_ask_again};

use super::stage::{Staged, facts_of};
use crate::engine::Snapshot;
use crate::fs::bundle_tree::BundleTree;
use crate::store::{OwnState, Taken};

/// Whether the person agreed, and still agrees, to `content` in the place of `staged`.
pub(super) fn is_agreed(
    snapshot: &Snapshot,
    state: &OwnState,
    staged: &Staged,
    content: &ContentHash,
) -> bool {
    let overlay = snapshot
        .overlays
        .iter()
        .find(|overlay| overlay.dir_name == staged.id.as_str() && *overlay.root == *staged.root.dir);
    match staged.root.scope {
        Scope::Project => overlay.is_some_and(|overlay| {
            overlay.consent == ConsentVerdict::Granted && overlay.agreed.as_deref() == Some(content.as_str())
        }),
        Scope::Global | Scope::FirstParty => {
            state.taken(&staged.root.dir, staged.id.as_str()).is_some_and(|taken| taken.covers(content))
        }
    }
}

/// Whether the reviewer lane sends where it was agreed to send; nobody has agreed to an address before there is a record.
pub(super) fn sends_where_agreed(before: Option<&Taken>, staged: &Staged) -> bool {
    before.is_none_or(|taken| taken.destination == staged.destination)
}

/// Why the person is asked before `staged` replaces `installed`.
pub(super) fn reasons(
    installed: Option<&BundleTree>,
    staged: &Staged,
    old: Option<&Entry>,
    installed_is_agreed: bool,
) -> Vec<String> {
    let Some(installed) = installed else { return Vec::new() };
    let before = ExecutableState::of(&installed.manifest().unwrap_or_default(), &facts_of(installed));
    let after = ExecutableState::of(&staged.manifest.document.read(), &staged.facts);
    let facts = UpdateFacts {
        old_is_approved: installed_is_agreed,
        is_downgrade: old
            .is_some_and(|entry| compare_cores(&staged.manifest.version, &entry.version).is_lt()),
        source_changed: old.is_some_and(|entry| entry.source != staged.source),
    };
    reasons_to_ask_again(&before, &after, &facts)
        .into_iter()
        .map(|reason| match reason {
            ReaskReason::NotApproved => {
                "what is installed now was never agreed to on this machine, or changed since"
            }
            ReaskReason::SurfacesChanged => "it declares other things to run than the installed one",
            ReaskReason::ContentChanged => "what runs has other contents than in the installed one",
            ReaskReason::Downgrade => "it is older than the installed one",
            ReaskReason::SourceChanged => "it comes from another source than the installed one",
        })
        .map(ToOwned::to_owned)
        .collect()
}
