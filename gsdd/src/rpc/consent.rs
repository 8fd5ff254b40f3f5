//! `consent.*`: what the person agreed to, and taking it back.

use std::path::Path;
use std::sync::Arc;

use gsd_proto::api::capability::{
    ConsentList, ConsentListParams, ConsentListResult, ConsentRevoke, ConsentRevokeParams, ConsentRow, Done,
    Signer,
};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, wire};
use crate::app::App;
use crate::store::{ScopeRoot, Taken, level_of, shared_files};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<ConsentList, _, _>(module, list)?;
    register::<ConsentRevoke, _, _>(module, revoke)
}

async fn list(app: Arc<App>, params: ConsentListParams) -> Result<ConsentListResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    let (store, _) = shared_files::read_consent(&app.engine.places().consent_store());
    let mut records: Vec<ConsentRow> = store
        .iter()
        .map(|record| {
            let own = snapshot.own.taken(Path::new(&record.project_root), record.id.as_str());
            // Upstream may have recorded a newer agreement than ours.
            let own = own.filter(|taken| taken.content_hash == record.content_hash);
            let (level, signer) = proof(own);
            ConsentRow {
                level,
                signer,
                id: record.id.to_string(),
                scope: "project".to_owned(),
                project_root: shown(&record.project_root),
                integrity: shown(&record.integrity),
                disclosure_signature: record.disclosure_signature,
                content_hash: shown(&record.content_hash),
                consented_at: shown(&record.consented_at),
                linked: None,
            }
        })
        .collect();
    let home = app.engine.places().gsd_home.display().to_string();
    for (key, taken) in snapshot.own.taken.iter().filter(|(_, taken)| taken.revoked_at.is_none()) {
        if let Some(id) = key.strip_prefix(&home).and_then(|rest| rest.strip_prefix('|')) {
            let (level, signer) = proof(Some(taken));
            records.push(ConsentRow {
                level,
                signer,
                id: id.to_owned(),
                scope: "global".to_owned(),
                project_root: home.clone(),
                content_hash: taken.content_hash.clone(),
                consented_at: taken.at.clone(),
                linked: taken.link().map(|linked| linked.path.clone()),
                ..ConsentRow::default()
            });
        }
    }
    Ok(ConsentListResult { snapshot: snapshot.generation, warnings: wire::warnings(&snapshot), records })
}

/// Level and signer of what was agreed to.
fn proof(taken: Option<&Taken>) -> (String, Option<Signer>) {
    let from = taken.and_then(|taken| taken.from.as_ref());
    let level = from.map(level_of).unwrap_or_default();
    (level.name().to_owned(), from.and_then(|from| from.signer.as_ref()).map(wire::signer))
}

async fn revoke(app: Arc<App>, params: ConsentRevokeParams) -> Result<Done, WireError> {
    let engine = &app.engine;
    let project = match &params.project {
        Some(project) => {
            let path = params.ctx.cwd.join(project);
            std::fs::canonicalize(&path).map_err(|error| {
                WireError::new(Code::NotFound, format!("there is no such project: {error}")).at_file(path)
            })?
        }
        None => engine.project_of(&params.ctx),
    };
    let root = match wire::scope(params.scope.as_deref())? {
        Some(Scope::Global | Scope::FirstParty) => engine.places().global_root(),
        Some(Scope::Project) => ScopeRoot::project(&project),
        // The scope in which there is an agreement; the project's when there are both.
        None => {
            let snapshot = engine.snapshot(&project).await?;
            let here = snapshot.own.taken(&project, &params.id).is_some();
            let global = engine.places().global_root();
            if !here && snapshot.own.taken(&global.dir, &params.id).is_some() {
                global
            } else {
                ScopeRoot::project(&project)
            }
        }
    };
    let done = engine.revoke(project, root, params.id).await?;
    Ok(Done {
        snapshot: done.snapshot.generation,
        warnings: wire::warnings(&done.snapshot),
        changed: done.value,
    })
}
