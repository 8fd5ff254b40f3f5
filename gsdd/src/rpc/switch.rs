//! `capability.set`, `.enable`, `.disable`.

use std::path::Path;
use std::sync::Arc;

use gsd_proto::WireError;
use gsd_proto::api::capability::{Disable, Enable, Set, SetParams, SetResult};
use gsdd_core::activation::SwitchWish;
use gsdd_core::loop_hooks::capability_states;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::Value;

use super::{loop_hooks, register, wire};
use crate::app::App;
use crate::engine::{Snapshot, SwitchRequest};
use crate::lifecycle;

/// Adds the methods.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Set, _, _>(module, set)?;
    register::<Enable, _, _>(module, |app, params| set(app, SetParams { on: Some(true), ..params }))?;
    register::<Disable, _, _>(module, |app, params| set(app, SetParams { on: Some(false), ..params }))
}

async fn set(app: Arc<App>, params: SetParams) -> Result<SetResult, WireError> {
    let project = app.engine.project_of(&params.ctx);
    let snapshot = app.engine.snapshot(&project).await?;
    let (runtime, config_dir) = (params.runtime.as_deref(), params.config_dir.as_deref());
    let config_home = loop_hooks::config_home(&app.engine, &snapshot, &params.ctx, runtime, config_dir)?;
    if params.on == Some(false) {
        lifecycle::judge_removal(&app.engine, &params.ctx, &project, [&params.id])?;
    }
    let wish = SwitchWish { on: params.on, gates: params.gates.into_iter().collect() };
    let before = row(&states(&snapshot, config_home.as_deref()), &params.id);
    let (switching, snapshot) = if params.dry_run {
        (lifecycle::plan_switching(&snapshot, &params.id, &wish, config_home.as_deref())?, snapshot)
    } else {
        let request = SwitchRequest {
            id: params.id.clone(),
            wish: wish.clone(),
            config_home: config_home.clone(),
            umask: params.ctx.umask,
        };
        let done = app.engine.switch(project, request).await?;
        (done.value, done.snapshot)
    };
    let capabilities = states(&snapshot, config_home.as_deref());
    let after = row(&capabilities, &params.id);
    let mut warnings = wire::warnings(&snapshot);
    warnings.extend(switching.warnings.iter().map(|message| wire::warning("capability.switch", message)));
    let errors = if params.dry_run { Vec::new() } else { unfulfilled(&params.id, &wish, &after) };
    if !params.dry_run && errors.is_empty() && is_all_off(&after) {
        let message = format!("{} is on, and every one of its hooks is switched off", params.id);
        warnings.push(wire::warning("capability.switch", &message));
    }
    Ok(SetResult {
        snapshot: snapshot.generation,
        warnings,
        changed: !params.dry_run && !switching.plan.is_empty(),
        before,
        after,
        capabilities,
        errors,
        changes: wire::plan_lines(&switching.plan),
    })
}

fn states(snapshot: &Snapshot, config_home: Option<&Path>) -> Vec<Value> {
    let enabled = snapshot.enabled_skills(config_home);
    capability_states(&snapshot.composition.registry, &enabled, &snapshot.config)
}

fn row(capabilities: &[Value], id: &str) -> Value {
    capabilities.iter().find(|row| row["id"] == id).cloned().unwrap_or_default()
}

/// Other parts of the surface file may have the last word.
fn unfulfilled(id: &str, wish: &SwitchWish, after: &Value) -> Vec<String> {
    match (wish.on, after["enabled"] == true, after["skills"].as_array().is_none_or(Vec::is_empty)) {
        (Some(true), false, false) => {
            vec![format!("{id} is still off: another entry of the surface file keeps its skills away")]
        }
        (Some(false), true, false) => {
            vec![format!("{id} is still on: its skills are on the surface for another reason")]
        }
        _ => Vec::new(),
    }
}

fn is_all_off(after: &Value) -> bool {
    let hooks = after["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    after["enabled"] == true && !hooks.is_empty() && hooks.iter().all(|hook| hook["active"] != true)
}
