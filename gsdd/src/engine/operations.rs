//! What changes state, carried out on the writer's thread: locks, order, plan, steps, a new snapshot.

use std::path::Path;

use gsd_proto::api::capability::Consent;
use gsd_proto::{Code, WireError};
use gsdd_core::activation::SwitchWish;
use gsdd_core::audit::Happening;
use std::sync::Arc;

use super::audited::placed;
use super::writer::{Engine, RemoveWish, SwitchRequest, WorkOutcome, Writer};
use crate::apply;
use crate::lifecycle::{self, Accepted, Prepared, Removal, Staged, Switching};
use crate::store::ScopeRoot;

impl Engine {
    pub(super) fn do_commit(
        &self,
        staged: &Arc<Staged>,
        consent: Option<&Consent>,
        accepted: &Accepted,
    ) -> Result<WorkOutcome<Prepared>, WireError> {
        let _own = self.exclusive()?;
        let _project = self.project_lock(&staged.project_root)?;
        lifecycle::settle(self);
        let _upstream = self.lock(&staged.root)?;
        self.bring_in_order(&staged.project_root, &staged.root, &staged.ctx);
        let snapshot = self.recompose(&staged.project_root, Writer::Held);
        let blanket = consent.is_some_and(|consent| consent.blanket);
        let prepared = lifecycle::plan_install(self, &snapshot, staged, blanket)?;
        // First: an agreement to what runs says nothing about where it comes from.
        lifecycle::require_accepted(staged.id.as_str(), &prepared.stops, accepted)?;
        if prepared.requires_consent || consent.is_some() {
            require_consent(staged, consent)?;
        }
        if !prepared.current {
            self.store(&prepared, staged)?;
            self.apply(&prepared.plan, staged.ctx.umask)?.close();
            self.audit().record(&placed(staged, &prepared, consent));
            if prepared.plan.places(staged.content_hash.as_str()) {
                let bundle = staged.root.bundle(&staged.id);
                self.bundles().placed(staged.id.as_str(), &bundle, &staged.tree, self.base().contract());
            }
        }
        let snapshot = self.recompose(&staged.project_root, Writer::Held);
        Ok(WorkOutcome { value: prepared, snapshot })
    }

    /// Stores what is agreed to, and what gives way: it can come back only if it is in the store.
    pub(super) fn store(&self, prepared: &Prepared, staged: &Staged) -> Result<(), WireError> {
        let failed = |why: &dyn std::fmt::Display| {
            WireError::new(Code::IoFailed, format!("the agreed content could not be stored: {why}"))
                .at_file(self.places().objects())
                .with_fix(
                    "free some space, or make that folder writable, then run the same command again",
                    &[],
                )
        };
        for tree in prepared.replaced.iter().chain([&staged.tree]) {
            self.objects().keep(tree).map_err(|error| failed(&error))?;
        }
        let hash = staged.content_hash.as_str();
        // Where it is copied from there, it is proven by that.
        if prepared.plan.places(hash) {
            return Ok(());
        }
        self.objects().verify(hash).map_err(|refusal| failed(&refusal))
    }

    pub(super) fn do_remove(
        &self,
        project: &Path,
        wish: &RemoveWish,
    ) -> Result<WorkOutcome<Vec<Removal>>, WireError> {
        let _own = self.exclusive()?;
        let _project = self.project_lock(project)?;
        lifecycle::settle(self);
        let snapshot = self.recompose(project, Writer::Held);
        let mut done = Vec::new();
        let ids = lifecycle::removed_with(&snapshot, &wish.id, wish.cascade)?;
        lifecycle::judge_removal(self, &wish.ctx, project, &ids)?;
        for id in &ids {
            let snapshot = self.recompose(project, Writer::Held);
            let scope = wish.scope.filter(|_| *id == wish.id);
            let root = lifecycle::removal_root(self, &snapshot, id, scope)?;
            // What can't be done is refused before anything is touched, the lock included.
            drop(lifecycle::plan_remove(self, &snapshot, &wish.ctx, id, scope, wish.purge_data)?);
            let lock = self.lock(&root)?;
            self.bring_in_order(project, &root, &wish.ctx);
            let snapshot = self.recompose(project, Writer::Held);
            let removal = lifecycle::plan_remove(self, &snapshot, &wish.ctx, id, scope, wish.purge_data)?;
            let applied = self.apply(&removal.plan, wish.ctx.umask)?;
            // The lock lies in a folder that goes when it is empty.
            drop(lock);
            if !apply::drop_empty_folders(&removal.plan) {
                applied.close();
            }
            self.tell(Happening::Removed, id, &root, Some(&wish.ctx), String::new());
            done.push(removal);
        }
        let snapshot = self.recompose(project, Writer::Held);
        Ok(WorkOutcome { value: done, snapshot })
    }

    pub(super) fn do_switch(
        &self,
        project: &Path,
        wish: &SwitchRequest,
    ) -> Result<WorkOutcome<Switching>, WireError> {
        let _own = self.exclusive()?;
        let _project = self.project_lock(project)?;
        lifecycle::settle(self);
        let snapshot = self.recompose(project, Writer::Held);
        let switching =
            lifecycle::plan_switching(&snapshot, &wish.id, &wish.wish, wish.config_home.as_deref())?;
        self.apply(&switching.plan, wish.umask)?.close();
        if !switching.plan.is_empty() {
            self.tell(Happening::Switched, &wish.id, &ScopeRoot::project(project), None, told(&wish.wish));
        }
        let snapshot = self.recompose(project, Writer::Held);
        Ok(WorkOutcome { value: switching, snapshot })
    }

    pub(super) fn do_revoke(
        &self,
        project: &Path,
        root: &ScopeRoot,
        id: &str,
    ) -> Result<WorkOutcome<bool>, WireError> {
        let _own = self.exclusive()?;
        let plan = lifecycle::plan_revoke(self, root, id)?;
        self.apply(&plan, None)?.close();
        if !plan.is_empty() {
            self.tell(Happening::Revoked, id, root, None, String::new());
        }
        let snapshot = self.recompose(project, Writer::Held);
        Ok(WorkOutcome { value: !plan.is_empty(), snapshot })
    }
}

/// A switch in words for the audit log: `off`, `acme.deep=true`.
fn told(wish: &SwitchWish) -> String {
    let on = wish.on.map(|on| if on { "on" } else { "off" }.to_owned());
    let gates = wish.gates.iter().map(|(key, value)| format!("{key}={value}"));
    on.into_iter().chain(gates).collect::<Vec<_>>().join(", ")
}

/// An agreement covers exactly what was shown: content, signature and surfaces (T183).
fn require_consent(staged: &Staged, consent: Option<&Consent>) -> Result<(), WireError> {
    let Some(consent) = consent else {
        return Err(WireError::new(
            Code::ConsentRequired,
            format!("{} can run things on this machine; nobody agreed to that yet", staged.id),
        ));
    };
    if consent.digest == staged.consent_digest {
        return Ok(());
    }
    Err(WireError::new(
        Code::ConsentStale,
        "the agreement is for another content than the one that was fetched",
    )
    .caused_by(format!("agreed to {}", gsdd_core::text::shown(&consent.digest)))
    .caused_by(format!("fetched   {}", staged.consent_digest))
    .with_fix("look at it again: run the same command without --consent", &[]))
}
