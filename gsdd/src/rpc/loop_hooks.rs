//! `loop.*`: what is active at a point of the loop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsd_proto::api::loop_hooks::{
    Point, Points, PointsParams, PointsResult, Render, RenderParams, RenderResult,
};
use gsd_proto::{Code, Context, WireError};
use gsdd_core::loop_hooks::{MissingGate, advisory, envelope, forbidden_gate, markdown, point_hooks, select};
use gsdd_core::policy::SurfaceClass;
use gsdd_core::registry::LoopPoint;
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::Value;

use super::{register, registry, wire};
use crate::app::App;
use crate::engine::{Engine, Snapshot};
use crate::lifecycle;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Render, _, _>(module, render)?;
    register::<Points, _, _>(module, points)
}

async fn render(app: Arc<App>, params: RenderParams) -> Result<RenderResult, WireError> {
    let point = LoopPoint::parse(&params.point).ok_or_else(|| {
        WireError::new(Code::UsageInvalid, format!("there is no loop point `{}`", shown(&params.point)))
            .with_fix("see the points", &["gsdctl", "loop", "points"])
    })?;
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let config_home = config_home(
        &app.engine,
        &snapshot,
        &params.ctx,
        params.runtime.as_deref(),
        params.config_dir.as_deref(),
    )?;
    let enabled = snapshot.enabled_skills(config_home.as_deref());
    let hooks = snapshot.composition.registry.hooks_at(point);
    let mut active =
        select(point_hooks(&hooks), &|owner| snapshot.is_active(owner, &enabled), &snapshot.config);
    let mut advisories = advisories(&snapshot, point);
    let policy = app.engine.policy(&params.ctx, &snapshot.project_root);
    active.retain(|hook| {
        let Some(owner) = snapshot.composition.registry.get(&hook.owner).filter(|_| hook.runs_command())
        else {
            return true;
        };
        let judged = policy.judge_use(SurfaceClass::GateCommands, owner.scope);
        judged
            .map_err(|objection| {
                let why = format!("{}, {}", objection.why, objection.rule.place);
                advisories.push(forbidden_gate(&hook.owner, point.as_str(), &why));
            })
            .is_ok()
    });
    Ok(RenderResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        envelope: envelope(point.as_str(), &active, &advisories),
        markdown: markdown(point.as_str(), &active),
        active: params.active_cap.map(|id| active.iter().any(|hook| hook.owner == id)),
        advisories,
    })
}

/// The configuration folder whose profile and surface decide: the one that was named, else that of the runtime that
/// was named, else of `GSD_RUNTIME`, else of the project's configuration, else of the default runtime.
pub(super) fn config_home(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    runtime: Option<&str>,
    config_dir: Option<&Path>,
) -> Result<Option<PathBuf>, WireError> {
    if let Some(folder) = config_dir {
        return Ok(Some(ctx.cwd.join(folder)));
    }
    let descriptors = &engine.shipped().descriptors;
    if let Some(runtime) = runtime.filter(|runtime| !descriptors.contains_key(*runtime)) {
        return Err(WireError::new(Code::CompatRuntime, format!("there is no runtime `{}`", shown(runtime)))
            .with_fix("see the runtimes", &["gsdctl", "runtime", "list"]));
    }
    let from_env = || ctx.env.get("GSD_RUNTIME").map(String::as_str).filter(|name| !name.trim().is_empty());
    let from_config = || snapshot.config.resolve("runtime").and_then(Value::as_str);
    let wished = runtime.or_else(from_env).or_else(from_config);
    let normal = wished.map(|name| name.trim().to_lowercase().replace(['_', ' '], "-"));
    Ok(match normal.and_then(|name| descriptors.get(name.as_str())) {
        Some(descriptor) => {
            lifecycle::host_places(descriptor, ctx, engine.places(), None).map(|places| places.config_home)
        }
        None => registry::default_config_home(engine, ctx),
    })
}

async fn points(app: Arc<App>, params: PointsParams) -> Result<PointsResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let row = |point: &LoopPoint| {
        let hooks = snapshot.composition.registry.hooks_at(*point);
        Point {
            point: point.as_str().to_owned(),
            steps: hooks.steps.len(),
            contributions: hooks.contributions.len(),
            gates: hooks.gates.len(),
            missing_gates: advisories(&snapshot, *point).len(),
        }
    };
    Ok(PointsResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        points: LoopPoint::ALL.iter().map(row).collect(),
    })
}

/// One line per gate that a skipped capability declared here.
fn advisories(snapshot: &Snapshot, point: LoopPoint) -> Vec<String> {
    let missing = snapshot.composition.blocked_gates.iter().filter(|gate| gate.point == point.as_str());
    missing
        .map(|gate| {
            advisory(&MissingGate {
                id: &gate.id,
                scope: gate.scope.as_str(),
                point: &gate.point,
                reason: &gate.reason,
                remedy: None,
            })
        })
        .collect()
}
