//! `consent.*`: what the person agreed to, and taking it back.

use std::path::Path;
use std::sync::Arc;

use gsd_proto::api::capability::{
    ConsentList, ConsentListParams, ConsentListResult, ConsentRevoke, ConsentRevokeParams, ConsentRow,
    ConsentShow, ConsentShowParams, ConsentShowResult, Done,
};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::{ConsentVerdict, Scope};
use gsdd_core::text::shown;
use gsdd_core::trust::VerificationLevel;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, wire};
use crate::app::App;
use crate::engine::{Engine, Snapshot};
use crate::lifecycle;
use crate::store::{ScopeRoot, Taken, level_of, shared_files};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<ConsentList, _, _>(module, list)?;
    register::<ConsentShow, _, _>(module, show)?;
    register::<ConsentRevoke, _, _>(module, revoke)
}

async fn list(app: Arc<App>, params: ConsentListParams) -> Result<ConsentListResult, WireError> {
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    Ok(ConsentListResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        records: records(&app.engine, &snapshot),
    })
}

/// What upstream's store records, with what we know besides, and the agreements of the person's own root.
fn records(engine: &Engine, snapshot: &Snapshot) -> Vec<ConsentRow> {
    let (store, _) = shared_files::read_consent(&engine.places().consent_store());
    let mut rows: Vec<ConsentRow> = store
        .iter()
        .map(|record| {
            let ours = snapshot
                .own()
                .taken(Path::new(&record.project_root), record.id.as_str())
                .filter(|taken| taken.content_hash == record.content_hash);
            let row = ConsentRow {
                id: record.id.to_string(),
                scope: "project".to_owned(),
                project_root: shown(&record.project_root),
                integrity: shown(&record.integrity),
                disclosure_signature: record.disclosure_signature,
                content_hash: shown(&record.content_hash),
                consented_at: shown(&record.consented_at),
                destination: record.reviewer_host.as_deref().map(shown),
                level: VerificationLevel::None.name().to_owned(),
                ..ConsentRow::default()
            };
            match ours {
                Some(taken) => with_ours(row, taken),
                None => row,
            }
        })
        .collect();
    let home = &engine.places().gsd_home;
    for (key, taken) in snapshot.own().taken.iter().filter(|(_, taken)| taken.revoked_at.is_none()) {
        let own = key.rsplit_once('|').filter(|(root, _)| Path::new(root) == home);
        rows.extend(own.map(|(_, id)| of_home(id, home, taken)));
    }
    rows
}

fn of_home(id: &str, home: &Path, taken: &Taken) -> ConsentRow {
    let row = ConsentRow {
        id: id.to_owned(),
        scope: "global".to_owned(),
        project_root: home.display().to_string(),
        content_hash: taken.content_hash.clone(),
        consented_at: taken.at.clone(),
        ..ConsentRow::default()
    };
    with_ours(row, taken)
}

fn with_ours(row: ConsentRow, taken: &Taken) -> ConsentRow {
    let from = taken.from.as_ref();
    ConsentRow {
        level: from.map(level_of).unwrap_or_default().name().to_owned(),
        signer: from.and_then(|from| from.signer.as_ref()).map(wire::signer),
        linked: taken.link().map(|linked| linked.path.clone()),
        consent_digest: taken.consent_digest.clone(),
        how: taken.how.clone(),
        blanket: taken.blanket,
        destination: taken.destination.as_deref().map(shown),
        ..row
    }
}

async fn show(app: Arc<App>, params: ConsentShowParams) -> Result<ConsentShowResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let engine = app.engine.clone();
    let project = engine.project_of(&params.ctx);
    let snapshot = engine.snapshot(&project).await?;
    let work = move || {
        let project = std::fs::canonicalize(&project).unwrap_or(project);
        let home = engine.places().gsd_home.clone();
        let wanted = |row: &ConsentRow| match scope {
            Some(Scope::Global | Scope::FirstParty) => row.scope == "global",
            Some(Scope::Project) => row.scope == "project" && Path::new(&row.project_root) == project,
            None => row.scope == "global" || Path::new(&row.project_root) == project,
        };
        let mut rows = records(&engine, &snapshot);
        rows.retain(|row| row.id == params.id && wanted(row));
        // What was taken back is not listed, and can still be shown.
        let revoked = || {
            let taken = snapshot.own().taken(&home, &params.id).filter(|_| scope != Some(Scope::Project))?;
            Some((of_home(&params.id, &home, taken), taken.revoked_at.clone()))
        };
        let (record, revoked_at) = match (rows.into_iter().next(), revoked()) {
            (Some(row), _) => (row, None),
            (None, Some(revoked)) => revoked,
            (None, None) => {
                return Err(WireError::new(
                    Code::NotFound,
                    format!("there is no agreement to {} here", shown(&params.id)),
                )
                .with_fix("see the agreements", &["gsdctl", "consent", "list"])
                .with_fix(
                    "look at what is installed and agree",
                    &["gsdctl", "consent", "grant", &params.id],
                ));
            }
        };
        let overlay = snapshot
            .overlays
            .iter()
            .find(|overlay| overlay.dir_name == params.id && overlay.scope.as_str() == record.scope);
        let state = match overlay.map(|overlay| overlay.consent) {
            _ if revoked_at.is_some() => "it was taken back; nothing of it runs",
            None => "nothing is installed that it is for",
            Some(ConsentVerdict::Changed) => "what is installed changed since; nothing of it runs",
            Some(ConsentVerdict::Revoked) => "it was taken back; nothing of it runs",
            Some(ConsentVerdict::Missing) => "it is for another place",
            Some(ConsentVerdict::Granted | ConsentVerdict::NotNeeded) => "it holds",
        };
        let mut result = ConsentShowResult {
            snapshot: snapshot.generation,
            warnings: wire::warnings(&snapshot),
            state: state.to_owned(),
            revoked_at,
            ..ConsentShowResult::default()
        };
        if let Ok(tree) = engine.objects().load(&record.content_hash) {
            let disclosed = lifecycle::disclosed(&snapshot, &tree, params.full);
            result.disclosure = wire::disclosure(disclosed.lines);
            result.executable = disclosed.executable;
            result.instructing = disclosed.instructing;
            result.tokens = disclosed.tokens;
        }
        Ok(ConsentShowResult { record, ..result })
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| WireError::new(Code::Internal, error.to_string()))?
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
            let here = snapshot.own().taken(&project, &params.id).is_some();
            let global = engine.places().global_root();
            if !here && snapshot.own().taken(&global.dir, &params.id).is_some() {
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
