//! `runtime.*`: the hosts that capabilities can be wired into.

use std::sync::Arc;

use gsd_proto::WireError;
use gsd_proto::api::runtime::{List, ListParams, ListResult, RuntimeRow};
use gsdd_core::runtime::Surfaces;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, wire};
use crate::app::App;
use crate::lifecycle;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<List, _, _>(module, list)
}

async fn list(app: Arc<App>, params: ListParams) -> Result<ListResult, WireError> {
    let engine = &app.engine;
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    let row = |descriptor: &gsdd_core::runtime::Descriptor| RuntimeRow {
        id: descriptor.id.clone(),
        title: descriptor.title.clone(),
        config_home: lifecycle::host_places(descriptor, &params.ctx, engine.places(), None)
            .map(|places| places.config_home),
        detected: lifecycle::detected(descriptor, &params.ctx, engine.places()),
        supported: descriptor.surfaces.is_some(),
        surfaces: descriptor.surfaces.as_ref().map(surfaces).unwrap_or_default(),
        capabilities: snapshot
            .own()
            .targets
            .values()
            .filter(|target| target.runtime == descriptor.id)
            .flat_map(|target| target.capabilities.keys().cloned())
            .collect(),
    };
    Ok(ListResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        items: engine.shipped().descriptors.values().map(row).collect(),
    })
}

fn surfaces(surfaces: &Surfaces) -> Vec<String> {
    let known = [
        ("skills", surfaces.skills.is_some()),
        ("agents", surfaces.agents.is_some()),
        ("commands", surfaces.commands.is_some()),
        ("hooks", surfaces.hooks.is_some()),
        ("mcp", surfaces.mcp.is_some()),
    ];
    known.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect()
}
