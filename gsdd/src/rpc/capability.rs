//! `capability.*`: stage, commit, discard, remove.

use std::sync::Arc;

use gsd_proto::api::capability::{
    Commit, CommitParams, Discard, DiscardParams, Done, Outcome, Remove, RemoveParams, Stage, StageParams,
    StageResult, State, StateParams, StateResult,
};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::loop_hooks::capability_states;
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use tokio_util::sync::CancellationToken;

use super::{loop_hooks, register, wire};
use crate::app::App;
use crate::engine::{Engine, RemoveWish, Snapshot};
use crate::lifecycle::{self, Accepted, Installed, Origin, Prepared, StageRequest, Staged};
use crate::transport::Current;

/// How often an operation that is under way is waited for.
const STAGED_AGAIN: usize = 3;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Stage, _, _>(module, stage)?;
    register::<Commit, _, _>(module, commit)?;
    register::<Discard, _, _>(module, discard)?;
    register::<Remove, _, _>(module, remove)?;
    register::<State, _, _>(module, state)
}

async fn stage(app: Arc<App>, params: StageParams) -> Result<StageResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let engine = app.engine.clone();
    if lifecycle::is_unsettled(&engine) {
        // Another process of this home died at work, or is at work: in both cases its end is waited for.
        let _ = engine.sweep().await;
    }
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    // Fetching blocks, and takes as long as the source does. This future is dropped when the call is given up or its
    // connection ends; the guard tells the thread.
    let cancel = CancellationToken::new();
    let given_up = cancel.clone().drop_guard();
    let current = Current::get();
    let id = [&params.update, &params.grant, &params.rollback].into_iter().find_map(Option::clone);
    let asked = (params.ctx.clone(), id.unwrap_or_default(), params.spec.clone());
    let work = tokio::task::spawn_blocking({
        let snapshot = Arc::clone(&snapshot);
        let work = move || {
            let named = [
                (&params.update, "update"),
                (&params.grant, "consent grant"),
                (&params.rollback, "rollback"),
            ];
            let installed = named
                .into_iter()
                .find_map(|(id, verb)| Some((id.as_deref()?, verb)))
                .map(|(id, verb)| Installed::find(&engine, &snapshot, &params.ctx, id, scope, verb))
                .transpose()?;
            let past = match (&installed, &params.rollback) {
                (Some(installed), Some(_)) => Some(lifecycle::to_go_back_to(
                    snapshot.own(),
                    &installed.root,
                    &installed.entry.id,
                    params.to.as_deref(),
                )?),
                _ => None,
            };
            let from = match (&installed, &past) {
                (_, Some(past)) => Origin::Past(past),
                (None, None) => Origin::Source(&params.spec),
                (Some(installed), None) if params.grant.is_some() => {
                    Origin::InPlace(&installed.entry.id, &installed.entry.source)
                }
                (Some(installed), None) => Origin::Source(&installed.entry.source),
            };
            if let (Some(installed), true) = (&installed, params.auto) {
                let (project, id) = (&snapshot.project_root, installed.entry.id.as_str());
                lifecycle::judge_unattended(&engine, &params.ctx, project, id)?;
                installed.judge_unattended(&snapshot)?;
            }
            let followed = installed
                .as_ref()
                .filter(|_| params.update.is_some())
                .and_then(|installed| installed.followed(&snapshot));
            if params.link && installed.is_some() {
                return Err(WireError::new(Code::UsageInvalid, "only an install can link a folder")
                    .with_fix(
                        "install the folder with --link",
                        &["gsdctl", "install", "./folder", "--link"],
                    ));
            }
            let request = StageRequest {
                ctx: installed.as_ref().map_or(&params.ctx, |installed| &installed.ctx),
                from,
                scope: installed.as_ref().map(|installed| installed.scope).or(scope).unwrap_or(Scope::Global),
                expected: installed.as_ref().map(|installed| &installed.entry.id),
                runtimes: params.runtimes.clone().or_else(|| followed.map(|linked| linked.runtimes.clone())),
                shared_files: match followed {
                    Some(linked) if params.shared_files.is_empty() => linked.shared_files.clone(),
                    _ => params.shared_files.clone(),
                },
                link: params.link || followed.is_some(),
                full: params.full,
                preview: params.preview,
                offline: params.offline,
                integrity: params.integrity.as_deref(),
                cancel,
            };
            let staged = lifecycle::stage(&engine, &snapshot, &request)?;
            if let (Some(installed), Some(_)) = (&installed, &params.update) {
                installed.judge(&staged, params.allow_downgrade)?;
            }
            let prepared = planned(&engine, &snapshot, &staged)?;
            if let (Some(installed), true) = (&installed, params.auto) {
                installed.judge_waiting(&snapshot, &staged, &prepared)?;
            }
            Ok::<_, WireError>((staged, prepared))
        };
        move || Current::on_thread(current, work)
    });
    let staged = work.await.map_err(|error| WireError::new(Code::Internal, error.to_string()))?;
    let (staged, prepared) =
        staged.inspect_err(|error| app.engine.audit_refusal(&asked.0, &asked.1, &asked.2, error))?;
    drop(given_up.disarm());
    let staged = Arc::new(staged);
    let ticket = app.tickets.keep(Arc::clone(&staged));
    Ok(wire::staged(&staged, &prepared, ticket, &snapshot))
}

/// What would be done. Another operation on the same capability may be under way: its end is waited for, behind it in
/// the queue, before that is an error.
fn planned(engine: &Engine, snapshot: &Snapshot, staged: &Staged) -> Result<Prepared, WireError> {
    let mut prepared = lifecycle::plan_install(engine, snapshot, staged, false);
    for _ in 0..STAGED_AGAIN {
        match &prepared {
            Err(error) if &*error.code == Code::LockHeld.name() => {}
            _ => break,
        }
        let _ = engine.sweep().blocking_recv();
        prepared = lifecycle::plan_install(engine, snapshot, staged, false);
    }
    prepared
}

async fn commit(app: Arc<App>, params: CommitParams) -> Result<Outcome, WireError> {
    let staged = app.tickets.get(&params.ticket)?;
    let refused = |error: &WireError| {
        app.engine.audit_refusal(&staged.ctx, staged.id.as_str(), &staged.source, error);
    };
    let accepted = Accepted { signer: params.accept_signer, level: params.accept_level };
    let done =
        app.engine.commit(Arc::clone(&staged), params.consent.clone(), accepted).await.inspect_err(refused);
    // What the caller can mend is tried with the same bundle again; of everything else nothing stays.
    let can_mend = |error: &WireError| {
        [Code::ConsentRequired, Code::ConsentStale, Code::LockHeld]
            .iter()
            .any(|code| &*error.code == code.name())
    };
    if !done.as_ref().is_err_and(can_mend) {
        app.tickets.drop(&params.ticket);
        // Before the answer: who is told that it failed finds everything as it was.
        staged.tree.discard();
    }
    let done = done?;
    Ok(wire::installed(&staged, &done.value, params.consent, &done.snapshot))
}

async fn discard(app: Arc<App>, params: DiscardParams) -> Result<Done, WireError> {
    Ok(Done {
        snapshot: app.engine.generation(),
        changed: app.tickets.drop(&params.ticket),
        ..Done::default()
    })
}

async fn state(app: Arc<App>, params: StateParams) -> Result<StateResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let config_home = loop_hooks::config_home(
        &app.engine,
        &snapshot,
        &params.ctx,
        params.runtime.as_deref(),
        params.config_dir.as_deref(),
    )?;
    let enabled = snapshot.enabled_skills(config_home.as_deref());
    let mut capabilities = capability_states(&snapshot.composition.registry, &enabled, &snapshot.config);
    if let Some(id) = &params.id {
        capabilities.retain(|row| row["id"] == id.as_str());
        if capabilities.is_empty() {
            return Err(WireError::new(Code::NotFound, format!("{} is not composed here", shown(id)))
                .with_fix("see what is installed, and why it does not compose", &["gsdctl", "list"]));
        }
    }
    Ok(StateResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        runtime_config_dir: config_home,
        capabilities,
    })
}

async fn remove(app: Arc<App>, params: RemoveParams) -> Result<Outcome, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let project = app.engine.project_of(&params.ctx);
    if params.dry_run {
        let snapshot = app.engine.snapshot(&project).await?;
        let plan = |id: &String| {
            let scope = scope.filter(|_| *id == params.id);
            lifecycle::plan_remove(&app.engine, &snapshot, &params.ctx, id, scope, params.purge_data)
        };
        let ids = lifecycle::removed_with(&snapshot, &params.id, params.cascade)?;
        lifecycle::judge_removal(&app.engine, &params.ctx, &project, &ids)?;
        let removals = ids.iter().map(plan).collect::<Result<Vec<_>, WireError>>()?;
        return Ok(wire::removed(&removals, "planned", &snapshot));
    }
    let wish = RemoveWish {
        ctx: params.ctx,
        id: params.id,
        scope,
        purge_data: params.purge_data,
        cascade: params.cascade,
    };
    let (ctx, id) = (wish.ctx.clone(), wish.id.clone());
    let refused = |error: &WireError| app.engine.audit_refusal(&ctx, &id, "", error);
    let done = app.engine.remove(project, wish).await.inspect_err(refused)?;
    Ok(wire::removed(&done.value, "removed", &done.snapshot))
}
