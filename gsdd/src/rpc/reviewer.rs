//! `reviewer.*`: what a lane starts and where it sends what it is given, compared with what the person agreed to.
//!
//! Lanes are found by the id of their capability; a slug is a name that its author chose.
//!
//! Source: ADR-2782 D5; threats T113, T114.

use std::sync::Arc;

use gsd_proto::api::reviewer::{LanePlan, LaneRow, List, ListParams, ListResult, Resolve, ResolveParams};
use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::policy::SurfaceClass;
use gsdd_core::registry::Composed;
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{Destination, Disclosure, LANE_RECEIVES, LaneSurface};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::{Value, json};

use super::{command, register, wire};
use crate::app::App;
use crate::engine::{Engine, Runnable, Snapshot};
use crate::lifecycle::configured_destination;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<List, _, _>(module, list)?;
    register::<Resolve, _, _>(module, resolve)
}

async fn list(app: Arc<App>, params: ListParams) -> Result<ListResult, WireError> {
    let engine = app.engine.clone();
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    let work = move || {
        let composed = snapshot.composition.registry.capabilities();
        let items =
            composed.iter().filter_map(|composed| row(&engine, &snapshot, &params.ctx, composed)).collect();
        ListResult { snapshot: snapshot.generation, warnings: wire::warnings(&snapshot), items }
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| WireError::new(Code::Internal, error.to_string()))
}

async fn resolve(app: Arc<App>, params: ResolveParams) -> Result<LanePlan, WireError> {
    let engine = app.engine.clone();
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    command::blocking(move || plan(&engine, &snapshot, &params.ctx, &params.id)).await
}

/// A lane as it is now.
struct Lane {
    surface: LaneSurface,
    /// Path behind the address.
    path: String,
}

fn lane_of(snapshot: &Snapshot, composed: &Composed) -> Option<Lane> {
    let manifest = composed.manifest.document.read();
    let mut disclosure = Disclosure::collect(&manifest);
    disclosure.send_to(configured_destination(snapshot, &disclosure).as_deref());
    let path = manifest.pointer("/reviewer/invoke/path").and_then(Value::as_str).unwrap_or_default();
    Some(Lane { surface: disclosure.lane?, path: path.to_owned() })
}

fn row(engine: &Engine, snapshot: &Snapshot, ctx: &Context, composed: &Composed) -> Option<LaneRow> {
    let Lane { surface, .. } = lane_of(snapshot, composed)?;
    let id = composed.manifest.id.as_str();
    let verified = verify(engine, snapshot, ctx, composed, surface.destination.as_ref());
    let (agreed, blocked) = match verified {
        Ok(_) => (None, None),
        Err(Refused::Elsewhere { agreed, .. }) => {
            (agreed, Some("it sends to another address than was agreed to".to_owned()))
        }
        Err(Refused::NotRunnable(error)) => (None, Some(shown(&error.message))),
    };
    Some(LaneRow {
        id: id.to_owned(),
        slug: shown(&surface.slug),
        scope: composed.scope.as_str().to_owned(),
        transport: shown(&surface.transport),
        local: surface.destination.as_ref().is_some_and(|destination| destination.is_local),
        address: surface.destination.map(|destination| shown_up_to(&destination.address, 1000)),
        agreed_address: agreed.map(|address| shown_up_to(&address, 1000)),
        blocked,
    })
}

fn plan(engine: &Engine, snapshot: &Snapshot, ctx: &Context, id: &str) -> Result<LanePlan, WireError> {
    let Some(composed) = snapshot.composition.registry.get(id) else {
        // The reason is told as for everything else that does not run.
        command::verified(engine, snapshot, ctx, SurfaceClass::ReviewerLanes, id)?;
        return Err(WireError::new(Code::NotFound, format!("{} is not composed here", shown(id))));
    };
    let Some(Lane { surface, path }) = lane_of(snapshot, composed) else {
        return Err(WireError::new(Code::NotFound, format!("{} has no reviewer lane", shown(id)))
            .with_fix("see the lanes", &["gsdctl", "reviewer", "list"]));
    };
    let runnable = verify(engine, snapshot, ctx, composed, surface.destination.as_ref())
        .map_err(|refused| refused.into_error(id))?;
    let argv = match surface.binary.as_str() {
        "" => Vec::new(),
        binary => arguments(binary, &surface.args, runnable.as_ref()),
    };
    let env = [
        ("GSD_CAPABILITY_ID", id.to_owned()),
        ("GSD_PROJECT_ROOT", snapshot.project_root.display().to_string()),
    ];
    let root =
        runnable.as_ref().map(|runnable| ("GSD_CAPABILITY_ROOT", runnable.folder.display().to_string()));
    Ok(LanePlan {
        snapshot: snapshot.generation,
        warnings: wire::warnings(snapshot),
        capability: id.to_owned(),
        slug: surface.slug,
        transport: surface.transport,
        argv,
        env: env.into_iter().chain(root).map(|(name, value)| (name.to_owned(), value)).collect(),
        prompt_channel: surface.prompt_channel,
        local: surface.destination.as_ref().is_some_and(|destination| destination.is_local),
        address: surface.destination.map(|destination| destination.address),
        path,
        receives: LANE_RECEIVES.map(str::to_owned).to_vec(),
        content_hash: runnable.map(|runnable| runnable.content_hash).unwrap_or_default(),
    })
}

/// Why a lane does not run.
enum Refused {
    NotRunnable(WireError),
    Elsewhere { agreed: Option<String>, now: Option<String>, record: std::path::PathBuf },
}

impl Refused {
    fn into_error(self, id: &str) -> WireError {
        match self {
            Self::NotRunnable(error) => error,
            Self::Elsewhere { agreed, now, record } => {
                let told = |address: Option<String>| {
                    address.map_or_else(|| "nowhere".to_owned(), |it| shown_up_to(&it, 1000))
                };
                WireError::new(
                    Code::ConsentStale,
                    format!(
                        "the reviewer lane of {id} would send plans to another address than was agreed to"
                    ),
                )
                .caused_by(format!("agreed to {}", told(agreed)))
                .caused_by(format!("configured {}", told(now)))
                .at_file(record)
                .with_fix("agree to the new address", &["gsdctl", "consent", "grant", id])
                .with_fix("or put the old one back in the configuration", &[])
            }
        }
    }
}

/// Proves that what the lane is, and where it sends to, was agreed to. Shipped lanes need no agreement.
fn verify(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    composed: &Composed,
    destination: Option<&Destination>,
) -> Result<Option<Runnable>, Refused> {
    if composed.scope == Scope::FirstParty {
        return Ok(None);
    }
    let id = composed.manifest.id.as_str();
    let (overlay, runnable) = command::verified(engine, snapshot, ctx, SurfaceClass::ReviewerLanes, id)
        .map_err(Refused::NotRunnable)?;
    // What upstream recorded may be spelled otherwise.
    let agreed = overlay.destination.as_deref().and_then(Destination::parse).map(|it| it.address);
    let now = destination.map(|destination| destination.address.clone());
    if agreed == now {
        return Ok(Some(runnable));
    }
    Err(Refused::Elsewhere { agreed, now, record: snapshot.config_files.main.clone() })
}

/// The program and its arguments; what names a file of the bundle leads to the private copy.
fn arguments(binary: &str, args: &[String], runnable: Option<&Runnable>) -> Vec<String> {
    let declared = json!({"command": binary, "args": args});
    let placed =
        runnable.zip(declared.as_object()).and_then(|(runnable, config)| command::words(config, runnable));
    placed.unwrap_or_else(|| {
        std::iter::once(binary).chain(args.iter().map(String::as_str)).map(str::to_owned).collect()
    })
}
