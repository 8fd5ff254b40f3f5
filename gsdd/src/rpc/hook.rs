//! `hook.*`: the hot path. What it costs is held by the benchmark; nothing is added here without a number.

use std::collections::BTreeMap;
use std::sync::Arc;

use gsd_proto::api::command::LaunchPlan;
use gsd_proto::api::hook::{
    Evaluate, EvaluateParams, EvaluateResult, HookRow, HostReply, List, ListParams, ListResult, Report,
    ReportParams, ReportResult, Resolve, ResolveParams, Run, Script,
};
use gsd_proto::{Code, Context, WireError};
use gsdd_core::audit::{Event, Happening};
use gsdd_core::compose::ConsentVerdict;
use gsdd_core::hooks::{Answer, Decision, Outcome, ScriptRun, merge, render};
use gsdd_core::policy::SurfaceClass;
use gsdd_core::projection::shared_file_of;
use gsdd_core::runtime::{Descriptor, EventRule, HooksPlace, TimeUnit};
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{command, register, wire};
use crate::app::App;
use crate::engine::{Engine, NotRunnable, Overlay, Snapshot, WiredHook};
use crate::hook_runs::HookKey;
use crate::lifecycle;

/// Time limit of a script when the host states none, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Evaluate, _, _>(module, evaluate)?;
    register::<Report, _, _>(module, report)?;
    register::<Resolve, _, _>(module, resolve)?;
    register::<List, _, _>(module, list)
}

async fn evaluate(app: Arc<App>, mut params: EvaluateParams) -> Result<EvaluateResult, WireError> {
    let (descriptor, place) = host(&app.engine, &params.host)?;
    // Hosts follow a `cd` of their shell tool; the payload says where the session is.
    if let Some(cwd) =
        params.payload.get("cwd").and_then(|cwd| cwd.as_str()).filter(|cwd| cwd.starts_with('/'))
    {
        params.ctx.cwd = cwd.into();
    }
    let rule = place.events.get(&params.event);
    let project = app.engine.project_of(&params.ctx);
    let snapshot = app.engine.snapshot_for_hooks(&project).await?;
    let generation = snapshot.generation;
    let mut found = vec![(matching(&snapshot, descriptor, rule, &params), snapshot)];
    for outer in app.engine.projects_around(&project) {
        let snapshot = app.engine.snapshot_for_hooks(&outer).await?;
        let mut hooks = matching(&snapshot, descriptor, rule, &params);
        hooks.retain(|hook| {
            snapshot.overlays.get(hook.overlay).is_some_and(|overlay| *overlay.root == *outer)
        });
        found.push((hooks, snapshot));
    }
    found.retain(|(hooks, _)| !hooks.is_empty());
    if found.is_empty() {
        return Ok(EvaluateResult {
            snapshot: generation,
            reply: Some(HostReply::default()),
            ..EvaluateResult::default()
        });
    }
    let engine = app.engine.clone();
    let timeout_ms = timeout_ms(place);
    // Verifying reads files when they changed.
    let event = params.event.clone();
    let result = tokio::task::spawn_blocking({
        let host = params.host.clone();
        let event = params.event.clone();
        move || {
            let (mut all, mut notices) = (Vec::new(), Vec::new());
            for (hooks, snapshot) in &found {
                let (scripts, said) =
                    scripts(&engine, snapshot, hooks, &params.ctx, &host, &event, timeout_ms);
                all.extend(scripts);
                notices.extend(said);
            }
            (all, notices)
        }
    });
    let (scripts, notices) =
        result.await.map_err(|error| WireError::new(Code::Internal, error.to_string()))?;
    let reply = match (scripts.is_empty(), rule) {
        (true, Some(rule)) => Some(wire::host_reply(noticed(&notices, descriptor, &event, rule))),
        (true, None) => Some(HostReply::default()),
        (false, _) => None,
    };
    Ok(EvaluateResult { snapshot: generation, scripts, reply, notices, ..EvaluateResult::default() })
}

async fn report(app: Arc<App>, params: ReportParams) -> Result<ReportResult, WireError> {
    let (descriptor, place) = host(&app.engine, &params.host)?;
    let unknown = EventRule::default();
    let rule = place.events.get(&params.event).unwrap_or(&unknown);
    let runs: Vec<ScriptRun<'_>> = params.runs.iter().map(run).collect();
    for (run, wire) in runs.iter().zip(&params.runs) {
        let failed = !matches!(run.outcome, Outcome::Exit(0 | 2));
        let key = HookKey {
            host: params.host.clone(),
            event: params.event.clone(),
            capability: wire.capability.clone(),
            script: wire.script.clone(),
        };
        if failed {
            tracing::warn!(capability = %shown(&key.capability), script = %shown(&key.script), outcome = ?run.outcome, "a hook failed");
        }
        app.hook_runs.record(key, wire.duration_us, failed);
    }
    let mut answer = merge(&runs, rule);
    if answer.decision == Decision::Deny {
        audit_denials(&app, &params, &runs, rule);
    }
    answer.messages.extend(params.notices.iter().cloned());
    let reply = match &descriptor.surfaces {
        Some(surfaces) => render(&answer, &params.event, rule, surfaces.reply.dialect),
        None => gsdd_core::hooks::HostReply::default(),
    };
    Ok(ReportResult {
        snapshot: app.engine.generation(),
        warnings: Vec::new(),
        reply: wire::host_reply(reply),
    })
}

/// Who denied; what the host was about to do stays with it, since its arguments may be secrets.
fn audit_denials(app: &App, params: &ReportParams, runs: &[ScriptRun<'_>], rule: &EventRule) {
    for run in runs.iter().filter(|run| merge(std::slice::from_ref(run), rule).decision == Decision::Deny) {
        app.engine.audit().record_soon(Event {
            id: run.capability.to_owned(),
            detail: format!("{} at {} of {}", run.script, params.event, params.host),
            ..Event::new(Happening::HookDenied)
        });
    }
}

async fn resolve(app: Arc<App>, params: ResolveParams) -> Result<LaunchPlan, WireError> {
    let engine = app.engine.clone();
    let snapshot = engine.snapshot_for_hooks(&engine.project_of(&params.ctx)).await?;
    command::blocking(move || {
        let id = params.id.as_str();
        let (overlay, runnable) =
            command::verified(&engine, &snapshot, &params.ctx, SurfaceClass::Hooks, id)?;
        let declared = overlay
            .manifest
            .as_deref()
            .is_some_and(|manifest| manifest.hooks.iter().any(|hook| hook.script == params.script));
        if !declared {
            return Err(WireError::new(
                Code::NotFound,
                format!("{} has no hook that runs {}", shown(id), shown(&params.script)),
            )
            .with_fix("bring the registration up to date", &["gsdctl", "update", id]));
        }
        if !snapshot.is_active(id, &snapshot.enabled_skills(None)) {
            // Switched off: there is nothing to run, and that is no failure.
            return Ok(command::plan(overlay, &snapshot, &runnable, Vec::new()));
        }
        let script = params.script.strip_prefix("./").unwrap_or(&params.script);
        let argv = argv(&runnable.folder.join(script));
        Ok(command::plan(overlay, &snapshot, &runnable, argv))
    })
    .await
}

async fn list(app: Arc<App>, params: ListParams) -> Result<ListResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let mut items = Vec::new();
    for (declared, hooks) in &snapshot.hooks {
        for hook in hooks {
            let Some(overlay) = snapshot.overlays.get(hook.overlay) else { continue };
            for target in snapshot.own().targets.values().filter(|target| *target.root == *overlay.root) {
                if !target.capabilities.contains_key(&hook.capability) {
                    continue;
                }
                let Ok((_, place)) = host(&app.engine, &target.runtime) else { continue };
                let Some(event) = place.host_event(declared) else { continue };
                let key = HookKey {
                    host: target.runtime.clone(),
                    event: event.to_owned(),
                    capability: hook.capability.clone(),
                    script: hook.script.clone(),
                };
                let count = app.hook_runs.get(&key);
                let times = count.times.summary();
                items.push(HookRow {
                    host: key.host,
                    event: key.event,
                    matcher: hook.matcher_text.as_deref().map(shown),
                    capability: key.capability,
                    script: key.script,
                    counted: true,
                    calls: count.calls,
                    p50_us: times.p50_us,
                    p99_us: times.p99_us,
                    failures: count.failures,
                });
            }
        }
    }
    items.extend(in_shared_files(&snapshot));
    Ok(ListResult { snapshot: snapshot.generation, warnings: wire::warnings(&snapshot), items })
}

/// The hooks that our records say are registered one by one.
fn in_shared_files(snapshot: &Snapshot) -> impl Iterator<Item = HookRow> {
    let roots = |root: &std::path::Path| snapshot.overlays.iter().any(|overlay| *overlay.root == *root);
    let files = snapshot.own().targets.values().filter(move |target| roots(&target.root));
    files.filter_map(|target| Some((shared_file_of(&target.runtime)?, target))).flat_map(|(file, target)| {
        target.capabilities.iter().flat_map(move |(id, wiring)| {
            wiring.scripts.iter().map(move |hook| HookRow {
                host: file.to_owned(),
                event: hook.event.clone(),
                matcher: hook.matcher.as_deref().map(shown),
                capability: id.clone(),
                script: hook.script.clone(),
                ..HookRow::default()
            })
        })
    })
}

fn host<'a>(engine: &'a Engine, id: &str) -> Result<(&'a Descriptor, &'a HooksPlace), WireError> {
    let descriptor = engine.shipped().descriptors.get(id);
    let place = descriptor.and_then(|descriptor| descriptor.surfaces.as_ref()?.hooks.as_ref());
    descriptor.zip(place).ok_or_else(|| {
        WireError::new(Code::CompatRuntime, format!("`{}` is no host whose hooks can be answered", shown(id)))
            .with_fix("see the hosts", &["gsdctl", "runtime", "list"])
    })
}

/// Hooks of capabilities that are wired into this host, active, and whose matcher fits; in capability order.
fn matching(
    snapshot: &Snapshot,
    descriptor: &Descriptor,
    rule: Option<&EventRule>,
    params: &EvaluateParams,
) -> Vec<WiredHook> {
    let name = rule
        .and_then(|rule| rule.matcher_on.as_deref())
        .and_then(|member| params.payload.get(member))
        .and_then(|value| value.as_str());
    let neutral = rule.and_then(|rule| rule.neutral.as_deref()).filter(|neutral| *neutral != params.event);
    let declared = [Some(params.event.as_str()), neutral].into_iter().flatten();
    let mut hooks: Vec<&WiredHook> = declared
        .filter_map(|event| snapshot.hooks.get(event))
        .flatten()
        .filter(|hook| hook.matcher.matches(name))
        .filter(|hook| is_wired(snapshot, descriptor, hook))
        .collect();
    if hooks.is_empty() {
        return Vec::new();
    }
    hooks.sort_by(|left, right| left.capability.cmp(&right.capability));
    hooks.into_iter().cloned().collect()
}

fn is_wired(snapshot: &Snapshot, descriptor: &Descriptor, hook: &WiredHook) -> bool {
    let Some(overlay) = snapshot.overlays.get(hook.overlay) else { return false };
    let supported = hook.halted
        || overlay.manifest.as_deref().is_some_and(|manifest| manifest.supports_runtime(&descriptor.id));
    supported
        && snapshot.own().targets.values().any(|target| {
            target.runtime == descriptor.id
                && *target.root == *overlay.root
                && target.capabilities.contains_key(&hook.capability)
        })
}

/// Verified scripts, and a notice for each capability of which nothing may run.
fn scripts(
    engine: &Engine,
    snapshot: &Snapshot,
    hooks: &[WiredHook],
    ctx: &Context,
    host: &str,
    event: &str,
    timeout_ms: u64,
) -> (Vec<Script>, Vec<String>) {
    let config_home = engine
        .shipped()
        .descriptors
        .get(host)
        .and_then(|descriptor| lifecycle::host_places(descriptor, ctx, engine.places(), None))
        .map(|places| places.config_home);
    let enabled = snapshot.enabled_skills(config_home.as_deref());
    // Not asked before there is something to run: it costs a look at each policy file.
    let policy = engine.policy(ctx, &snapshot.project_root);
    let mut scripts = Vec::new();
    let mut notices = Vec::new();
    let speaks = |hook: &&WiredHook| hook.halted || snapshot.is_active(&hook.capability, &enabled);
    for hook in hooks.iter().filter(speaks) {
        let Some(overlay) = snapshot.overlays.get(hook.overlay) else { continue };
        let id = &hook.capability;
        if hook.halted {
            push_once(&mut notices, out_of_service(snapshot, overlay, event));
            continue;
        }
        if let Err(objection) = policy.judge_use(SurfaceClass::Hooks, overlay.scope) {
            let (why, place) = (&objection.why, &objection.rule.place);
            push_once(
                &mut notices,
                format!("gsdd: the {event} hook of capability {id} did NOT run: {why} ({place})"),
            );
            continue;
        }
        let Some(agreed) = &overlay.agreed else {
            push_once(
                &mut notices,
                format!("gsdd: nobody agreed to capability {id}, so its {event} hook did not run"),
            );
            continue;
        };
        match engine.bundles().runnable(
            &overlay.bundle,
            agreed,
            |digest| snapshot.fits(overlay, digest),
            engine.objects(),
        ) {
            Ok(runnable) => {
                let script = hook.script.strip_prefix("./").unwrap_or(&hook.script);
                scripts.push(Script {
                    capability: id.clone(),
                    script: hook.script.clone(),
                    argv: argv(&runnable.folder.join(script)),
                    env: environment(overlay, snapshot, &runnable.folder),
                    cwd: ctx.cwd.clone(),
                    timeout_ms,
                    content_hash: runnable.content_hash,
                });
            }
            Err(problem) => {
                let remedy = match problem {
                    NotRunnable::Changed => {
                        format!("install it again to agree to the new files, or run: gsdctl remove {id}")
                    }
                    NotRunnable::Unreadable(_) | NotRunnable::Store(_) => {
                        format!("install it again, or run: gsdctl remove {id}")
                    }
                };
                push_once(
                    &mut notices,
                    format!(
                        "gsdd: the {event} hook of capability {id} did NOT run: {}; {remedy}",
                        shown(&problem.to_string())
                    ),
                );
            }
        }
    }
    (scripts, notices)
}

/// Why nothing of a capability runs that was agreed to once.
fn out_of_service(snapshot: &Snapshot, overlay: &Overlay, event: &str) -> String {
    let id = &overlay.dir_name;
    let skip = snapshot
        .composition
        .skips
        .iter()
        .find(|skip| skip.id == overlay.dir_name && skip.scope == overlay.scope);
    let (reason, remedy) = match skip {
        _ if overlay.consent == ConsentVerdict::Changed => (
            "its files changed since they were agreed to".to_owned(),
            "install it again to agree to the new files",
        ),
        Some(skip) => (skip.text(), "install it again"),
        None => ("it is not usable".to_owned(), "install it again"),
    };
    format!(
        "gsdd: the {event} hook of capability {id} did NOT run: {}; {remedy}, or run: gsdctl remove {id}",
        shown(&reason)
    )
}

fn push_once(notices: &mut Vec<String>, notice: String) {
    if !notices.contains(&notice) {
        notices.push(notice);
    }
}

/// JavaScript runs under `node`, as upstream runs it; a script that lost its execute bit still runs through the
/// interpreter that its first line names (FR-014).
pub(super) fn argv(script: &std::path::Path) -> Vec<String> {
    let path = script.to_string_lossy().into_owned();
    let extension = script.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if matches!(extension, "js" | "cjs" | "mjs") {
        return vec!["node".to_owned(), path];
    }
    if is_executable(script) {
        return vec![path];
    }
    let head = crate::fs::bounded_read::read(script, crate::fs::bounded_read::MAX_FILE).unwrap_or_default();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words: Vec<String> = std::str::from_utf8(first)
        .ok()
        .and_then(|line| line.trim_end().strip_prefix("#!"))
        .map(|line| line.split_whitespace().map(ToOwned::to_owned).collect())
        .unwrap_or_default();
    if words.is_empty() {
        words.push("/bin/sh".to_owned());
    }
    words.push(path);
    words
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &std::path::Path) -> bool {
    true
}

fn environment(overlay: &Overlay, snapshot: &Snapshot, bundle: &std::path::Path) -> BTreeMap<String, String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    BTreeMap::from([
        ("GSD_CAPABILITY_ID".to_owned(), overlay.dir_name.clone()),
        ("GSD_CAPABILITY_ROOT".to_owned(), text(bundle)),
        ("GSD_PROJECT_ROOT".to_owned(), text(&snapshot.project_root)),
    ])
}

fn timeout_ms(place: &HooksPlace) -> u64 {
    match place.timeout {
        Some(timeout) => match timeout.unit {
            TimeUnit::Seconds => u64::from(timeout.value) * 1000,
            TimeUnit::Milliseconds => u64::from(timeout.value),
        },
        None => DEFAULT_TIMEOUT_MS,
    }
}

/// Nothing may run: the person is told through the host, and the call passes.
fn noticed(
    notices: &[String],
    descriptor: &Descriptor,
    event: &str,
    rule: &EventRule,
) -> gsdd_core::hooks::HostReply {
    for notice in notices {
        tracing::warn!("{notice}");
    }
    let answer = Answer { messages: notices.to_vec(), ..Answer::default() };
    match &descriptor.surfaces {
        Some(surfaces) => render(&answer, event, rule, surfaces.reply.dialect),
        None => gsdd_core::hooks::HostReply::default(),
    }
}

fn run(wire: &Run) -> ScriptRun<'_> {
    let outcome = match (wire.timed_out, wire.not_started.is_some(), wire.exit, wire.signal) {
        (true, _, _, _) => Outcome::TimedOut,
        (_, true, _, _) => Outcome::NotStarted,
        (_, _, Some(status), _) => Outcome::Exit(status),
        (_, _, None, signal) => Outcome::Signal(signal.unwrap_or(0)),
    };
    ScriptRun {
        capability: &wire.capability,
        script: &wire.script,
        outcome,
        stdout: &wire.stdout,
        stderr: if wire.stderr.is_empty() {
            wire.not_started.as_deref().unwrap_or_default()
        } else {
            &wire.stderr
        },
    }
}
