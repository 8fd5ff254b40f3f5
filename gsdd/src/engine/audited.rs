//! What the engine says to the audit log.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use gsd_proto::api::capability::Consent;
use gsd_proto::{Context, WireError};
use gsdd_core::audit::{Event, Happening};
use gsdd_core::compose::{ConsentVerdict, Scope};

use super::snapshot::{Overlay, Snapshot};
use super::writer::Engine;
use crate::lifecycle::{Prepared, Staged};
use crate::source::printable;
use crate::store::ScopeRoot;

/// An event about one capability in one root.
pub(super) fn event_of(what: Happening, id: &str, scope: Scope, root: &Path) -> Event {
    Event {
        id: id.to_owned(),
        scope: scope.as_str().to_owned(),
        root: root.to_string_lossy().into_owned(),
        ..Event::new(what)
    }
}

/// The event of a bundle that was put in its place.
pub(super) fn placed(staged: &Staged, prepared: &Prepared, consent: Option<&Consent>) -> Event {
    let what = match (&staged.restores, &staged.taken_from, &prepared.installed_version) {
        (Some(_), ..) => Happening::RolledBack,
        (None, None, _) => Happening::Granted,
        (None, Some(_), Some(_)) => Happening::Updated,
        (None, Some(_), None) => Happening::Installed,
    };
    let how = match consent {
        Some(Consent { blanket: true, .. }) => "blanket",
        Some(_) => "agreed",
        None => "not_needed",
    };
    let signer = staged.taken_from.as_ref().and_then(|from| from.signer.as_ref());
    let from = prepared.installed_version.as_deref().filter(|_| what == Happening::Updated);
    Event {
        version: staged.manifest.version.clone(),
        source: printable(&staged.source),
        content_hash: staged.content_hash.as_str().to_owned(),
        consent_digest: staged.consent_digest.clone(),
        level: staged.level().name().to_owned(),
        signer: signer.map(|signer| signer.key.clone()).unwrap_or_default(),
        consent: how.to_owned(),
        client: staged.ctx.client.clone(),
        detail: from.map(|version| format!("instead of {version}")).unwrap_or_default(),
        ..event_of(what, staged.id.as_str(), staged.root.scope, &staged.root.dir)
    }
}

impl Engine {
    /// Records that a policy, a digest or a signature refused something; other errors change nothing that can run.
    pub(crate) fn audit_refusal(&self, ctx: &Context, id: &str, what: &str, error: &WireError) {
        let kind = error.code.split('.').next().unwrap_or_default();
        let happening = match kind {
            "policy" => Happening::PolicyRefused,
            "integrity" | "signature" => Happening::ProofFailed,
            _ => return,
        };
        // The caller is told without waiting for the disk.
        self.audit().record_soon(Event {
            id: id.to_owned(),
            source: printable(what),
            client: ctx.client.clone(),
            detail: format!("{}: {}", error.code, error.message),
            ..Event::new(happening)
        });
    }

    /// Records which contents are not the agreed ones any more, and which are again.
    pub(super) fn tell_changed_contents(&self, before: Option<&Snapshot>, now: &Snapshot) {
        let changed = |overlay: &&Overlay| overlay.consent == ConsentVerdict::Changed;
        let place = |overlay: &Overlay| (Arc::clone(&overlay.root), overlay.dir_name.clone());
        let before = before.into_iter().flat_map(|before| &before.overlays);
        let were: HashSet<_> = before.filter(changed).map(place).collect();
        for overlay in &now.overlays {
            let was = !were.is_empty() && were.contains(&place(overlay));
            let what = match (was, changed(&overlay)) {
                (false, true) => Happening::ContentChanged,
                (true, false) if overlay.agreed.is_some() => Happening::ContentRestored,
                _ => continue,
            };
            let agreed =
                now.own().taken(&overlay.root, &overlay.dir_name).map(|taken| taken.content_hash.clone());
            self.audit().record(&Event {
                content_hash: agreed.unwrap_or_default(),
                ..event_of(what, &overlay.dir_name, overlay.scope, &overlay.root)
            });
        }
    }

    /// Records a change of one capability in `root`.
    pub(super) fn tell(
        &self,
        what: Happening,
        id: &str,
        root: &ScopeRoot,
        ctx: Option<&Context>,
        detail: String,
    ) {
        let event = event_of(what, id, root.scope, &root.dir);
        let client = ctx.map(|ctx| ctx.client.clone()).unwrap_or_default();
        self.audit().record(&Event { client, detail, ..event });
    }
}
