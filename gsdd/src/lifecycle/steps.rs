//! The steps of an install, in their order: folders, the swap, the commit point, consent, launcher, tidying up.

use std::path::{Path, PathBuf};

use gsd_proto::WireError;
use gsdd_core::compose::Scope;
use gsdd_core::ledger::{Entry, Pending, PendingKind};
use gsdd_core::lifecycle::Step;
use serde_json::{Map, Value};

use super::from_consent;
use super::stage::Staged;
use super::wiring::{WiringPlan, missing_folders};
use crate::engine::Engine;
use crate::store::{Objects, OwnState, ScopeRoot, clock, shared_files};

/// Steps so far, and what they may touch.
pub(super) struct Builder {
    pub(super) steps: Vec<Step>,
    pub(super) roots: Vec<PathBuf>,
}

impl Builder {
    pub(super) fn folders(&mut self, below: &Path, state: &mut OwnState, root: &ScopeRoot) {
        for folder in missing_folders(below) {
            let step = Step::MakeFolder { path: folder.clone() };
            if self.steps.contains(&step) {
                continue;
            }
            self.roots.push(folder.clone());
            self.steps.push(step);
            let created = state.folders.entry(root.dir.display().to_string()).or_default();
            if !created.contains(&folder) {
                created.push(folder);
            }
        }
    }

    pub(super) fn swap(
        &mut self,
        staged: &Staged,
        old: Option<&Entry>,
        entry: &Entry,
        ledger: &Path,
        live: &Path,
        keep_bundle: bool,
    ) -> Option<PathBuf> {
        let has_live = live.exists() && !keep_bundle;
        let stamp = format!("{}-{}", std::process::id(), clock::epoch_ms());
        let backup = staged.root.bundles().join(format!("{}.upgrading-{stamp}", staged.id));
        let backup_name = backup.file_name().map(|name| name.to_string_lossy().into_owned());
        let pending = Entry {
            pending: Some(Pending {
                kind: if old.is_some() && has_live { PendingKind::Upgrade } else { PendingKind::Install },
                backup_name: backup_name.filter(|_| has_live),
                shared_files: entry.shared_edits.iter().map(|edit| edit.file.clone()).collect(),
                extra: Map::new(),
            }),
            ..old.cloned().unwrap_or_else(|| entry.clone())
        };
        let ledger_step = |before: Option<Value>, after: &Entry, commit: bool| Step::Ledger {
            path: ledger.to_owned(),
            id: staged.id.to_string(),
            before,
            after: Some(after.to_value()),
            commit,
        };
        self.steps.push(ledger_step(old.map(Entry::to_value), &pending, false));
        if !keep_bundle {
            let staging = staged.root.staging().join(format!("{}-{stamp}", staged.id));
            self.steps.push(Step::MakeFolder { path: staged.root.staging() });
            self.steps.push(Step::PlaceTree {
                path: staging.clone(),
                object: staged.content_hash.as_str().to_owned(),
            });
            if has_live {
                self.steps.push(Step::Move { from: live.to_owned(), to: backup.clone() });
            }
            self.steps.push(Step::Move { from: staging, to: live.to_owned() });
        }
        self.steps.push(ledger_step(Some(pending.to_value()), entry, true));
        // What was replaced is needed until everything behind the commit point is done: any of it can fail.
        has_live.then_some(backup)
    }

    pub(super) fn consent(
        &mut self,
        engine: &Engine,
        staged: &Staged,
        entry: &Entry,
        state: &mut OwnState,
    ) -> Result<(), WireError> {
        if staged.root.scope != Scope::Project {
            return Ok(());
        }
        let store = engine.places().consent_store();
        let root =
            std::fs::canonicalize(&staged.project_root).unwrap_or_else(|_| staged.project_root.clone());
        let root = root.to_string_lossy().into_owned();
        let (consents, refused) = shared_files::read_consent(&store);
        if let Some(reason) = refused {
            return Err(from_consent(&store, &reason));
        }
        let record = shared_files::consent_record(
            &root,
            &staged.id,
            &entry.integrity,
            &staged.signature,
            staged.content_hash.as_str(),
            staged.destination.clone(),
        );
        self.folders(&store, state, &engine.places().global_root());
        self.roots.push(store.clone());
        self.steps.push(Step::Consent {
            path: store,
            before: consents.find(&root, staged.id.as_str()).map(|record| record.to_value()),
            root,
            id: staged.id.to_string(),
            after: Some(record),
        });
        Ok(())
    }

    /// The launcher that registrations name, kept pointing at the installed client (D-04).
    pub(super) fn launcher(&mut self, engine: &Engine, wirings: &[WiringPlan], state: &mut OwnState) {
        let Some(client) = engine.client() else { return };
        let launcher = engine.places().launcher();
        let before = std::fs::read_link(&launcher).ok();
        let registers = wirings.iter().any(|wiring| !wiring.documents.is_empty());
        if before.as_deref() == Some(client) || !(registers || is_launcher_lost(engine, state)) {
            return;
        }
        self.folders(&launcher, state, &engine.places().global_root());
        self.roots.push(launcher.clone());
        self.steps.push(Step::Link { path: launcher, before, after: Some(client.to_owned()) });
    }

    pub(super) fn cleanup(&mut self, staged: &Staged, replaced: Option<PathBuf>) {
        self.steps.extend(replaced.map(|path| Step::DropTree { path }));
        self.steps.push(Step::DropFolder { path: staged.root.staging() });
    }

    /// Deletes stored contents that nothing needs any more.
    pub(super) fn drop_contents(&mut self, objects: &Objects, hashes: &[String]) {
        for hash in hashes {
            let path = objects.path(hash);
            self.roots.push(path.clone());
            self.steps.push(Step::DropTree { path });
        }
    }
}

/// Registrations name a launcher that is not there.
pub(super) fn is_launcher_lost(engine: &Engine, state: &OwnState) -> bool {
    state.anything_wired() && engine.client().is_some() && !engine.places().launcher().exists()
}
