//! `command.*` and `mcp.*`: exactly what would be started, verified a moment ago. Nothing is started here: the client
//! runs it with the person's terminal, signals and exit status.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsd_proto::api::command::{LaunchPlan, McpResolve, McpResolveParams, Resolve, ResolveParams};
use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::{ConsentVerdict, LedgerState, Scope};
use gsdd_core::policy::SurfaceClass;
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::{Map, Value};

use super::{register, wire};
use crate::app::App;
use crate::engine::{Engine, NotRunnable, Overlay, Runnable, Snapshot};
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;
use crate::lifecycle::{self, ServerWord};
use crate::policy::refused;

/// Loads a command module and calls its router, as upstream does.
const MODULE_LAUNCHER: &str = include_str!("../dispatch/launch.cjs");

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Resolve, _, _>(module, command)?;
    register::<McpResolve, _, _>(module, server)
}

async fn command(app: Arc<App>, params: ResolveParams) -> Result<LaunchPlan, WireError> {
    let engine = app.engine.clone();
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    blocking(move || resolve_command(&engine, &snapshot, &params)).await
}

async fn server(app: Arc<App>, params: McpResolveParams) -> Result<LaunchPlan, WireError> {
    let engine = app.engine.clone();
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    blocking(move || resolve_server(&engine, &snapshot, &params)).await
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WireError> + Send + 'static,
) -> Result<T, WireError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| WireError::new(Code::Internal, error.to_string()))?
}

fn resolve_command(
    engine: &Engine,
    snapshot: &Snapshot,
    params: &ResolveParams,
) -> Result<LaunchPlan, WireError> {
    let family = snapshot.composition.registry.family(&params.family).ok_or_else(|| {
        if let Some(overlay) =
            snapshot.overlays.iter().find(|overlay| is_out_of_service(overlay, &params.family))
        {
            return inactive(snapshot, &overlay.dir_name);
        }
        let known: Vec<&str> = snapshot
            .composition
            .registry
            .families()
            .filter(|family| family.owner.scope != Scope::FirstParty)
            .map(|family| family.command.family.as_str())
            .collect();
        let error = WireError::new(
            Code::NotFound,
            format!("no capability brings a command `{}`", shown(&params.family)),
        );
        if known.is_empty() { error } else { error.with_fix(format!("there are: {}", known.join(", ")), &[]) }
    })?;
    let owner = family.owner.manifest.id.to_string();
    if family.owner.scope == Scope::FirstParty {
        return Err(WireError::new(
            Code::NotFound,
            format!(
                "the command `{}` belongs to the shipped capability {owner}, whose code is not part of gsdd",
                shown(&params.family)
            ),
        )
        .with_fix("run it with upstream's command line", &["gsd", params.family.as_str()]));
    }
    let (overlay, runnable) = verified(engine, snapshot, &params.ctx, SurfaceClass::Commands, &owner)?;
    let mut argv = match (&family.command.exec, &family.command.module, &family.command.router) {
        (Some(exec), _, _) => super::hook::argv(&runnable.folder.join(exec)),
        (None, Some(module), Some(router)) => {
            let launcher = module_launcher(engine)?;
            let text = |path: PathBuf| path.to_string_lossy().into_owned();
            vec![
                "node".to_owned(),
                text(launcher),
                text(runnable.folder.join(module)),
                router.clone(),
                params.family.clone(),
            ]
        }
        _ => {
            return Err(WireError::new(
                Code::ManifestInvalid,
                format!("{owner} does not say what its command runs"),
            ));
        }
    };
    argv.extend(params.args.iter().cloned());
    Ok(plan(overlay, snapshot, &runnable, argv))
}

fn resolve_server(
    engine: &Engine,
    snapshot: &Snapshot,
    params: &McpResolveParams,
) -> Result<LaunchPlan, WireError> {
    let (overlay, runnable) = verified(engine, snapshot, &params.ctx, SurfaceClass::McpServers, &params.id)?;
    let manifest = overlay.manifest.as_deref();
    let config = manifest
        .and_then(|manifest| lifecycle::servers(manifest.mcp_servers.as_ref()).remove(&params.server))
        .ok_or_else(|| {
            WireError::new(
                Code::NotFound,
                format!("{} has no MCP server `{}`", shown(&params.id), shown(&params.server)),
            )
        })?;
    let argv = words(&config, &runnable).ok_or_else(|| {
        WireError::new(
            Code::NotFound,
            format!("`{}` of {} starts no file of its bundle", shown(&params.server), shown(&params.id)),
        )
    })?;
    let mut launch = plan(overlay, snapshot, &runnable, argv);
    for (name, value) in config.get("env").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str() {
            launch.env.insert(name.clone(), value.to_owned());
        }
    }
    Ok(launch)
}

/// The command and arguments that a configuration declares, with the private copy in the place of each file of the
/// bundle; `None` when it names none.
pub(super) fn words(config: &Map<String, Value>, runnable: &Runnable) -> Option<Vec<String>> {
    let in_bundle =
        |path: &str| runnable.folder.join(path).is_file() && !path.contains("..") && !path.starts_with('/');
    let words = lifecycle::local_server(config, &in_bundle)?;
    let mut argv: Vec<String> = words
        .into_iter()
        .map(|word| match word {
            ServerWord::Plain(word) => word,
            ServerWord::File(path) => runnable.folder.join(path).to_string_lossy().into_owned(),
        })
        .collect();
    // A command that is a file of the bundle may have lost its execute bit or need an interpreter.
    if let Some(first) = argv.first().filter(|first| Path::new(first).starts_with(&runnable.folder)) {
        let started = super::hook::argv(Path::new(first));
        argv.splice(0..1, started);
    }
    Some(argv)
}

/// Whether a bundle would bring the command if it were composed.
fn is_out_of_service(overlay: &Overlay, family: &str) -> bool {
    let manifest = overlay.manifest.as_deref().filter(|_| !overlay.accepted);
    manifest.is_some_and(|manifest| manifest.commands.iter().any(|command| command.family == family))
}

fn inactive(snapshot: &Snapshot, id: &str) -> WireError {
    let skip = snapshot.composition.skips.iter().find(|skip| skip.id == id);
    let found = |overlay: &&Overlay| skip.is_some_and(|skip| skip.scope == overlay.scope);
    let consent = snapshot.overlays.iter().filter(|overlay| overlay.dir_name == id).find(found);
    let code = match consent.map(|overlay| overlay.consent) {
        Some(ConsentVerdict::Changed) => Code::ConsentStale,
        Some(ConsentVerdict::Revoked) => Code::ConsentRevoked,
        Some(ConsentVerdict::Missing) => Code::ConsentRequired,
        Some(ConsentVerdict::NotNeeded | ConsentVerdict::Granted) | None => Code::NotFound,
    };
    let what = if code == Code::NotFound { "is not active" } else { "does not run" };
    let error = WireError::new(code, format!("{} {what} here", shown(id)));
    match skip {
        Some(skip) => error.caused_by(skip.text()),
        None => error,
    }
    .with_fix("see what is installed", &["gsdctl", "list"])
}

/// The installed bundle of a capability, with the agreed bytes, for something of this class that is about to run.
pub(super) fn verified<'a>(
    engine: &Engine,
    snapshot: &'a Snapshot,
    ctx: &Context,
    class: SurfaceClass,
    id: &str,
) -> Result<(&'a Overlay, Runnable), WireError> {
    let overlay = snapshot.accepted(id).ok_or_else(|| inactive(snapshot, id))?;
    let policy = engine.policy(ctx, &snapshot.project_root);
    policy.judge_use(class, overlay.scope).map_err(|objection| {
        let what = format!("the {} of {} do not run here", class.words(), shown(id));
        refused(Code::PolicyExecutableForbidden, what, &objection)
    })?;
    if overlay.ledger != LedgerState::Committed {
        return Err(WireError::new(
            Code::ConsentRequired,
            format!("no ledger records {id}, so nothing of it runs"),
        )
        .with_fix("install it, to see what it runs and to agree", &[]));
    }
    let agreed = overlay.agreed.as_deref().ok_or_else(|| {
        WireError::new(
            Code::ConsentRevoked,
            format!("nobody agreed to {id}, or the agreement was taken back"),
        )
        .with_fix("install it again, to see what it runs and to agree", &[])
    })?;
    let runnable = engine
        .bundles()
        .runnable(&overlay.bundle, agreed, |digest| snapshot.fits(overlay, digest), engine.objects())
        .map_err(|problem| {
            let code = match problem {
                NotRunnable::Changed => Code::ConsentStale,
                NotRunnable::Unreadable(_) | NotRunnable::Store(_) => Code::IoFailed,
            };
            WireError::new(code, format!("{id} does not run: {problem}"))
                .at_file(&overlay.bundle)
                .with_fix("install it again, to agree to the files as they are now", &[])
                .with_fix("or remove it", &["gsdctl", "remove", id])
        })?;
    Ok((overlay, runnable))
}

pub(super) fn plan(
    overlay: &Overlay,
    snapshot: &Snapshot,
    runnable: &Runnable,
    argv: Vec<String>,
) -> LaunchPlan {
    LaunchPlan {
        snapshot: snapshot.generation,
        warnings: wire::warnings(snapshot),
        capability: overlay.dir_name.clone(),
        argv,
        env: BTreeMap::from([
            ("GSD_CAPABILITY_ID".to_owned(), overlay.dir_name.clone()),
            ("GSD_CAPABILITY_ROOT".to_owned(), runnable.folder.to_string_lossy().into_owned()),
            ("GSD_PROJECT_ROOT".to_owned(), snapshot.project_root.to_string_lossy().into_owned()),
        ]),
        cwd: None,
        content_hash: runnable.content_hash.clone(),
    }
}

/// Our launcher as a file, written once and again when it differs.
fn module_launcher(engine: &Engine) -> Result<PathBuf, WireError> {
    let folder = engine.places().data.join("launch");
    let path = folder.join("command.cjs");
    let write = || -> std::io::Result<()> {
        if bounded_read::read(&path, bounded_read::MAX_FILE)
            .is_ok_and(|bytes| bytes == MODULE_LAUNCHER.as_bytes())
        {
            return Ok(());
        }
        atomic::private_folder(&folder)?;
        atomic::write(&path, MODULE_LAUNCHER.as_bytes(), Mode::Exactly(0o400))
    };
    write().map_err(|error| {
        WireError::new(Code::IoFailed, format!("the command launcher can't be written: {error}"))
            .at_file(&path)
    })?;
    Ok(path)
}
