//! `ledger.*`: what is recorded, whether it is still true, and bringing it in order.

use std::sync::Arc;

use gsd_proto::WireError;
use gsd_proto::api::ledger::{
    LedgerFinding, LedgerList, LedgerListResult, LedgerParams, LedgerReconcile, LedgerReconcileParams,
    LedgerReconcileResult, LedgerRow, LedgerVerify, LedgerVerifyResult, PastRow, ReconcileAction,
};
use gsdd_core::ledger::{Entry, Ledger};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, wire};
use crate::app::App;
use crate::engine::{ReconcileWish, Snapshot};
use crate::lifecycle::{self, Check};
use crate::store::{ScopeRoot, shared_files};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<LedgerList, _, _>(module, list)?;
    register::<LedgerVerify, _, _>(module, verify)?;
    register::<LedgerReconcile, _, _>(module, reconcile)
}

async fn list(app: Arc<App>, params: LedgerParams) -> Result<LedgerListResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let project = app.engine.project_of(&params.ctx);
    let snapshot = app.engine.snapshot(&project).await?;
    let mut entries = Vec::new();
    for root in app.engine.roots_of(&project, scope) {
        let path = root.ledger();
        let ledger =
            shared_files::read_ledger(&path).map_err(|failure| lifecycle::from_ledger(&path, &failure))?;
        entries.extend(ledger.iter().flat_map(Ledger::iter).map(|entry| row(&snapshot, &root, &entry)));
    }
    Ok(LedgerListResult { snapshot: snapshot.generation, warnings: wire::warnings(&snapshot), entries })
}

fn row(snapshot: &Snapshot, root: &ScopeRoot, entry: &Entry) -> LedgerRow {
    let id = entry.id.as_str();
    let taken = snapshot.own().taken(&root.dir, id);
    let targets = snapshot.own().targets.values().filter(|target| target.root == root.dir);
    let mut wired_into: Vec<_> = targets
        .filter_map(|target| Some((target, target.capabilities.get(id)?)))
        .flat_map(|(target, wiring)| {
            let files = wiring.files.iter().map(|file| file.path.clone());
            let registers =
                !wiring.events.is_empty() || !wiring.servers.is_empty() || !wiring.scripts.is_empty();
            let documents = target.documents.keys().filter(move |_| registers).cloned();
            files.chain(documents)
        })
        .collect();
    wired_into.sort();
    wired_into.dedup();
    let past = snapshot.own().past(&root.dir, id).iter().rev();
    LedgerRow {
        id: id.to_owned(),
        scope: root.word().to_owned(),
        ledger: root.ledger(),
        entry: entry.to_value(),
        content_hash: taken.map(|taken| taken.content_hash.clone()),
        agreed_at: taken.filter(|taken| taken.revoked_at.is_none()).map(|taken| taken.at.clone()),
        commit: taken.and_then(|taken| taken.from.as_ref()?.commit.clone()),
        linked: taken.and_then(|taken| Some(taken.link()?.path.clone())),
        wired_into,
        past: past
            .map(|past| PastRow {
                version: past.version.clone(),
                content_hash: past.taken.content_hash.clone(),
                agreed_at: past.taken.at.clone(),
            })
            .collect(),
    }
}

async fn verify(app: Arc<App>, params: LedgerParams) -> Result<LedgerVerifyResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let engine = app.engine.clone();
    let project = engine.project_of(&params.ctx);
    let snapshot = engine.snapshot(&project).await?;
    let generation = snapshot.generation;
    let mut warnings = wire::warnings(&snapshot);
    let missing = lifecycle::missing_required(&engine, &snapshot, &params.ctx);
    warnings.extend(missing.iter().map(|message| wire::warning("policy.required", message)));
    // Every byte of every bundle is read.
    let work = tokio::task::spawn_blocking(move || {
        let mut checked = 0;
        let mut findings = Vec::new();
        for root in engine.roots_of(&project, scope) {
            let judged = lifecycle::judge(&engine, &root, engine.trusts(&root, &project));
            let (seen, checks) = lifecycle::verify(&engine, &snapshot, &params.ctx, &root, judged);
            checked += seen;
            findings.extend(checks.into_iter().map(|check| finding(&root, check)));
        }
        (checked, findings)
    });
    let (checked, mut findings) =
        work.await.map_err(|error| WireError::new(gsd_proto::Code::Internal, error.to_string()))?;
    let mut room = wire::DiffRoom::default();
    for finding in &mut findings {
        finding.diff = finding.diff.take().map(|diff| room.take(diff));
    }
    Ok(LedgerVerifyResult { snapshot: generation, warnings, checked, findings })
}

fn finding(root: &ScopeRoot, check: Check) -> LedgerFinding {
    LedgerFinding {
        scope: root.word().to_owned(),
        id: check.id,
        severity: if check.is_difference { "difference" } else { "note" }.to_owned(),
        kind: check.kind.to_owned(),
        message: check.message,
        path: check.path,
        diff: check.diff,
        fix: check.fix,
    }
}

async fn reconcile(app: Arc<App>, params: LedgerReconcileParams) -> Result<LedgerReconcileResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let project = app.engine.project_of(&params.ctx);
    let wish = ReconcileWish { ctx: params.ctx, scope, dry_run: params.dry_run };
    let done = app.engine.reconcile(project, wish).await?;
    let mut warnings = wire::warnings(&done.snapshot);
    warnings.extend(done.value.failed.iter().map(|error| {
        let mut warning = wire::warning(&error.code, &error.message);
        warning.fix.clone_from(&error.fix);
        warning
    }));
    let actions: Vec<ReconcileAction> = done
        .value
        .settled
        .iter()
        .map(|settled| ReconcileAction {
            scope: settled.scope.to_owned(),
            id: settled.id.clone(),
            kind: settled.kind.to_owned(),
            text: settled.text.clone(),
            path: settled.path.clone(),
            changes: settled.plan.as_ref().map(wire::plan_lines).unwrap_or_default(),
        })
        .collect();
    let findings = done.value.findings.iter();
    Ok(LedgerReconcileResult {
        snapshot: done.snapshot.generation,
        warnings,
        changed: !params.dry_run && !actions.is_empty(),
        actions,
        findings: findings.map(|(root, found)| finding(root, lifecycle::found(root, found))).collect(),
    })
}
