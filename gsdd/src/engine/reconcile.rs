//! Carries out what a root needs to be in order. On the writer's thread only.

use std::path::{Path, PathBuf};

use gsd_proto::{Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::reconcile::{Finding, Repair};
use gsdd_core::lifecycle::Plan;
use tokio_util::sync::CancellationToken;

use super::roots;
use super::writer::{Engine, WorkOutcome, Writer};
use crate::apply;
use crate::lifecycle::{self, Origin, StageRequest};
use crate::store::{ScopeRoot, shared_files};

/// What to bring in order.
pub(crate) struct ReconcileWish {
    pub(crate) ctx: Context,
    /// Both when absent.
    pub(crate) scope: Option<Scope>,
    /// Only say what would be done.
    pub(crate) dry_run: bool,
}

/// One thing that was done, or would be.
pub(crate) struct Settled {
    /// Scope; empty for what concerns none.
    pub(crate) scope: &'static str,
    pub(crate) id: Option<String>,
    /// Short stable name.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    /// What is deleted.
    pub(crate) path: Option<PathBuf>,
    pub(crate) plan: Option<Plan>,
}

impl Settled {
    fn new(kind: &'static str, scope: &'static str, id: Option<String>, text: String) -> Self {
        Self { scope, id, kind, text, path: None, plan: None }
    }
}

/// What was found and done.
#[derive(Default)]
pub(crate) struct Reconciled {
    pub(crate) settled: Vec<Settled>,
    pub(crate) findings: Vec<(ScopeRoot, Finding)>,
    /// What could not be done.
    pub(crate) failed: Vec<WireError>,
}

impl Engine {
    pub(super) fn do_reconcile(
        &self,
        project: &Path,
        wish: &ReconcileWish,
    ) -> Result<WorkOutcome<Reconciled>, WireError> {
        let mut done = Reconciled::default();
        let own = if wish.dry_run { None } else { Some(self.exclusive()?) };
        let _project = if wish.dry_run { None } else { self.project_lock(project)? };
        let interrupted = if wish.dry_run { lifecycle::interrupted(self) } else { lifecycle::recover(self) };
        done.settled.extend(
            interrupted.into_iter().map(|(id, text)| Settled::new("interrupted", "", Some(id), text)),
        );
        for root in self.roots_of(project, wish.scope) {
            let lock = if wish.dry_run { None } else { self.lock(&root)? };
            let found = self.reconcile_root(project, &root, &wish.ctx, wish.dry_run)?;
            // The lock lies in a folder that goes when it is empty.
            drop(lock);
            for plan in found.settled.iter().filter_map(|settled| settled.plan.as_ref()) {
                if !wish.dry_run {
                    apply::drop_empty_folders(plan);
                }
            }
            done.settled.extend(found.settled);
            done.findings.extend(found.findings);
            done.failed.extend(found.failed);
        }
        if !wish.dry_run {
            let tidied = lifecycle::tidy(self);
            done.settled.extend(tidied.into_iter().map(|text| Settled::new("tidied", "", None, text)));
        }
        let snapshot = self.recompose(project, if own.is_some() { Writer::Held } else { Writer::Free });
        Ok(WorkOutcome { value: done, snapshot })
    }

    /// The roots of a project that a wish is about.
    pub(crate) fn roots_of(&self, project: &Path, scope: Option<Scope>) -> Vec<ScopeRoot> {
        let global = self.places().global_root();
        let own = ScopeRoot::project(project);
        match scope {
            Some(Scope::Project) => vec![own],
            Some(Scope::Global | Scope::FirstParty) => vec![global],
            None if own.dir == global.dir => vec![global],
            None => vec![global, own],
        }
    }

    /// Before a change: whatever is out of order in `root` is settled, and told in the log. A root that can't be
    /// judged is left to the change, which says why.
    pub(crate) fn bring_in_order(&self, project: &Path, root: &ScopeRoot, ctx: &Context) -> Vec<String> {
        match self.reconcile_root(project, root, ctx, false) {
            Ok(done) => {
                for failed in &done.failed {
                    tracing::warn!(error = %failed.message, "not brought in order");
                }
                done.settled.into_iter().map(|settled| settled.text).collect()
            }
            Err(error) => {
                tracing::warn!(error = %error.message, root = %root.dir.display(), "not brought in order");
                Vec::new()
            }
        }
    }

    /// Whether intents in the ledger of `root` are the person's own: not in a project, and not in a home that is one.
    pub(crate) fn trusts(&self, root: &ScopeRoot, project: &Path) -> bool {
        let is_global = |seen_from: &Path| {
            let first = roots::resolve(self.places(), seen_from).into_iter().next();
            first.is_some_and(|global| global.root == *root)
        };
        is_global(project) && is_global(&root.dir)
    }

    fn reconcile_root(
        &self,
        project: &Path,
        root: &ScopeRoot,
        ctx: &Context,
        dry_run: bool,
    ) -> Result<Reconciled, WireError> {
        let judged = lifecycle::judge(self, root, self.trusts(root, project))?;
        let mut done = Reconciled {
            findings: judged.findings.iter().map(|finding| (root.clone(), finding.clone())).collect(),
            ..Reconciled::default()
        };
        if judged.is_in_order() {
            return Ok(done);
        }
        let writer = if dry_run { Writer::Free } else { Writer::Held };
        for repair in &judged.repairs {
            let snapshot = self.recompose(project, writer);
            let plan = match lifecycle::plan_repair(self, &snapshot, ctx, root, repair) {
                Ok(plan) => plan,
                Err(error) => {
                    // One that fails does not stop the others.
                    done.failed.push(error);
                    continue;
                }
            };
            if let Err(error) = self.carry_out(root, repair, plan.as_ref(), ctx, dry_run) {
                done.failed.push(error);
                continue;
            }
            let (kind, id, path) = match repair {
                Repair::Forget { id, .. } => ("install-taken-back", Some(id), None),
                Repair::Restore { id, .. } => ("update-taken-back", Some(id), None),
                Repair::Sweep { folder, name } => {
                    ("swept", None, Some(lifecycle::swept(root, *folder, name)))
                }
            };
            let text = lifecycle::describe(root, repair);
            let settled = Settled::new(kind, root.word(), id.map(ToString::to_string), text);
            done.settled.push(Settled { path, plan, ..settled });
            if let Repair::Restore { id, .. } = repair {
                self.register_again(project, root, id, ctx, dry_run, &mut done);
            }
        }
        for id in &judged.stale {
            let snapshot = self.recompose(project, writer);
            let applied = lifecycle::plan_unwire(self, &snapshot, ctx, root, id).and_then(|plan| {
                if !dry_run {
                    self.apply(&plan, ctx.umask)?.close();
                }
                Ok(plan)
            });
            match applied {
                Ok(plan) => {
                    let text =
                        format!("take the registrations of {id} out of hosts: it is not installed any more");
                    let settled = Settled::new("unwired", root.word(), Some(id.to_string()), text);
                    done.settled.push(Settled { plan: Some(plan), ..settled });
                }
                Err(error) => done.failed.push(error),
            }
        }
        Ok(done)
    }

    fn carry_out(
        &self,
        root: &ScopeRoot,
        repair: &Repair,
        plan: Option<&Plan>,
        ctx: &Context,
        dry_run: bool,
    ) -> Result<(), WireError> {
        if dry_run {
            return Ok(());
        }
        if let Some(plan) = plan {
            self.apply(plan, ctx.umask)?.close();
        }
        if let Repair::Sweep { folder, name } = repair {
            let path: PathBuf = lifecycle::swept(root, *folder, name);
            apply::drop_tree(&path).map_err(|error| lifecycle::not_swept(&path, &error))?;
        }
        Ok(())
    }

    /// What shared files hold of a capability whose bundle was put back is what that bundle declares; nothing, when the
    /// person did not agree to it.
    fn register_again(
        &self,
        project: &Path,
        root: &ScopeRoot,
        id: &CapabilityId,
        ctx: &Context,
        dry_run: bool,
        done: &mut Reconciled,
    ) {
        let entry = shared_files::read_ledger(&root.ledger()).ok().flatten();
        let Some(entry) = entry.and_then(|ledger| ledger.get(id.as_str())) else { return };
        let intended = entry.pending.iter().flat_map(|pending| pending.shared_files.iter().cloned());
        let files: Vec<String> =
            entry.shared_edits.iter().map(|edit| edit.file.clone()).chain(intended).collect();
        if files.is_empty() {
            return;
        }
        let what = format!("register what {id} declares now in {}", files.join(", "));
        let settled = |text, plan| Settled {
            plan,
            ..Settled::new("registered", root.word(), Some(id.to_string()), text)
        };
        if dry_run {
            done.settled.push(settled(what, None));
            return;
        }
        let snapshot = self.recompose(project, Writer::Held);
        let request = StageRequest {
            ctx,
            from: Origin::InPlace(id, &entry.source),
            scope: root.scope,
            expected: Some(id),
            runtimes: None,
            shared_files: files.clone(),
            offline: true,
            link: false,
            full: false,
            preview: false,
            integrity: None,
            cancel: CancellationToken::new(),
        };
        let again = lifecycle::stage(self, &snapshot, &request).and_then(|staged| {
            let prepared = lifecycle::plan_install(self, &snapshot, &staged, false)?;
            if prepared.requires_consent || !prepared.stops.is_empty() {
                return Ok(None);
            }
            self.store(&prepared, &staged)?;
            self.apply(&prepared.plan, ctx.umask)?.close();
            Ok(Some(prepared.plan))
        });
        match again {
            Ok(Some(plan)) if plan.is_empty() => {}
            Ok(Some(plan)) => done.settled.push(settled(what, Some(plan))),
            Ok(None) => done.failed.push(lifecycle::not_registered_again(id, &files)),
            Err(error) => done.failed.push(error),
        }
    }
}
