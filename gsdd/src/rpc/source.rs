//! `source.*` and `capability.outdated`: what a source is, and what would be taken from it.

use std::sync::Arc;

use gsd_proto::api::outdated::{Outdated, OutdatedParams, OutdatedResult};
use gsd_proto::api::source::{
    Hash, HashParams, HashResult, Inspect, InspectParams, InspectResult, Parse, ParseParams, ParseResult,
    Resolve, ResolveParams, ResolveResult,
};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::source::{GitRef, NpmSelector, SourceSpec};
use gsdd_core::text::{shown, shown_up_to};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use tokio_util::sync::CancellationToken;

use super::{register, register_blocking, wire};
use crate::app::App;
use crate::fs::bundle_tree::BundleTree;
use crate::lifecycle::{self, InspectWish, OutdatedWish};
use crate::source;
use crate::transport::Current;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register_blocking::<Parse, _>(module, |app, params| parse(app, &params))?;
    register_blocking::<Hash, _>(module, |app, params| hash(app, &params))?;
    register::<Resolve, _, _>(module, resolve)?;
    register::<Inspect, _, _>(module, inspect)?;
    register::<Outdated, _, _>(module, outdated)
}

fn parse(app: &App, params: &ParseParams) -> Result<ParseResult, WireError> {
    let spec = source::parse(&params.spec)?;
    let mut result = ParseResult {
        snapshot: app.engine.generation(),
        kind: spec.kind().name().to_owned(),
        target: shown_up_to(&spec.target(), 4096),
        host: spec.host().map(shown),
        recorded: shown_up_to(&spec.recorded(), 4096),
        ..ParseResult::default()
    };
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    match &spec {
        SourceSpec::Git { reference, subdir, .. } => {
            result.reference = given(reference.to_string());
            result.folder = subdir.as_ref().map(|folder| folder.as_str().to_owned());
            result.pinned = matches!(reference, GitRef::Commit(_));
        }
        SourceSpec::Npm { selector, .. } => {
            result.selector = given(selector.as_str().to_owned());
            result.pinned = matches!(selector, NpmSelector::Exact(_));
        }
        SourceSpec::Registry { registry, selector, .. } => {
            result.registry.clone_from(registry);
            result.selector.clone_from(selector);
        }
        SourceSpec::Oci { tag, digest, .. } => {
            result.selector.clone_from(tag);
            result.pinned = digest.is_some();
        }
        SourceSpec::Local { .. } | SourceSpec::Tarball { .. } => {}
    }
    Ok(result)
}

fn hash(app: &App, params: &HashParams) -> Result<HashResult, WireError> {
    let folder = params.ctx.cwd.join(&params.dir);
    if !folder.exists() {
        let told = shown(&params.dir.to_string_lossy());
        return Err(WireError::new(Code::NotFound, format!("there is no folder {told}")).at_file(folder));
    }
    let max_bytes = lifecycle::max_bytes(&app.engine, &params.ctx);
    let tree = BundleTree::read(&folder, max_bytes).map_err(|refusal| lifecycle::from_tree(&refusal))?;
    Ok(HashResult {
        snapshot: app.engine.generation(),
        content_hash: tree.content_hash().as_str().to_owned(),
        files: tree.files.len() as u64,
        bytes: tree.total_bytes(),
        ..HashResult::default()
    })
}

async fn resolve(app: Arc<App>, params: ResolveParams) -> Result<ResolveResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    blocking(move |cancel| {
        let spec = source::parse(&params.spec)?;
        let caller = lifecycle::caller(&app.engine, &params.ctx, &snapshot.project_root, cancel)?
            .for_project((scope == Some(Scope::Project)).then(|| snapshot.project_root.clone()))
            .offline(params.offline);
        let resolved = source::resolve::resolve(&spec, &caller)?;
        Ok(wire::resolved(&spec, resolved, &caller.notes(), &snapshot))
    })
    .await
}

async fn inspect(app: Arc<App>, params: InspectParams) -> Result<InspectResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    blocking(move |cancel| {
        let wish = InspectWish {
            ctx: &params.ctx,
            what: &params.what,
            scope,
            offline: params.offline,
            full: params.full,
            cancel,
        };
        let inspected = lifecycle::inspect(&app.engine, &snapshot, &wish)?;
        Ok(wire::inspected(inspected, &snapshot))
    })
    .await
}

async fn outdated(app: Arc<App>, params: OutdatedParams) -> Result<OutdatedResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    blocking(move |cancel| {
        let wish = OutdatedWish { ctx: &params.ctx, scope, offline: params.offline, cancel };
        let (rows, troubles) = lifecycle::outdated(&app.engine, &snapshot, &wish);
        let mut warnings = wire::warnings(&snapshot);
        warnings.extend(troubles.iter().map(|trouble| wire::warning("ledger.corrupt", trouble)));
        Ok(OutdatedResult {
            snapshot: snapshot.generation,
            warnings,
            items: rows.into_iter().map(wire::outdated_row).collect(),
        })
    })
    .await
}

/// Work that asks sources: it blocks for as long as they take, and is given up with its call.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce(CancellationToken) -> Result<T, WireError> + Send + 'static,
) -> Result<T, WireError> {
    let cancel = CancellationToken::new();
    let given_up = cancel.clone().drop_guard();
    let current = Current::get();
    let done = tokio::task::spawn_blocking(move || Current::on_thread(current, || work(cancel))).await;
    drop(given_up.disarm());
    done.map_err(|error| WireError::new(Code::Internal, error.to_string()))?
}
