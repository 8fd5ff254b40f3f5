//! `audit.*`: what changed what can run.

use std::sync::Arc;

use gsd_proto::api::audit::{Break, Tail, TailParams, TailResult, Verify, VerifyParams, VerifyResult};
use gsd_proto::{Code, WireError};
use gsdd_core::audit::Happening;
use gsdd_core::text::shown;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::Value;

use super::{register, wire};
use crate::app::App;

const DEFAULT_COUNT: usize = 20;
const MAX_COUNT: usize = 10_000;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Tail, _, _>(module, tail)?;
    register::<Verify, _, _>(module, verify)
}

async fn tail(app: Arc<App>, params: TailParams) -> Result<TailResult, WireError> {
    if let Some(event) = &params.event
        && !Happening::ALL.iter().any(|known| known.name() == event)
    {
        let known = Happening::ALL.map(Happening::name).join(", ");
        return Err(WireError::new(Code::UsageInvalid, format!("there is no event `{}`", shown(event)))
            .with_fix(format!("events are: {known}"), &[]));
    }
    blocking(app, move |app| {
        let count = if params.count == 0 { DEFAULT_COUNT } else { params.count.min(MAX_COUNT) };
        let wanted = |line: &str| {
            let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
            let is = |member: &str, wished: &Option<String>| {
                wished.as_ref().is_none_or(|wished| value[member] == wished.as_str())
            };
            is("id", &params.id) && is("event", &params.event)
        };
        let lines = app.engine.audit().tail(count, wanted)?;
        let items = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(TailResult { snapshot: app.engine.generation(), items, warnings: warnings(app) })
    })
    .await
}

async fn verify(app: Arc<App>, params: VerifyParams) -> Result<VerifyResult, WireError> {
    blocking(app, move |app| {
        let found = app.engine.audit().verify(params.head.as_deref())?;
        let head_missing = params.head.is_some() && !found.has_wanted;
        let broken = found.broken.iter().map(|broken| Break {
            line: broken.line,
            expected_seq: broken.expected_seq,
            reason: broken.why.to_string(),
        });
        Ok(VerifyResult {
            snapshot: app.engine.generation(),
            warnings: warnings(app),
            whole: found.broken.is_empty() && !head_missing,
            lines: found.lines,
            first_seq: found.first_seq,
            last_seq: found.last.as_ref().map(|link| link.seq),
            head: found.last.as_ref().map(|link| link.hash.clone()),
            broken: broken.collect(),
            head_missing,
            file: app.engine.audit().file(),
        })
    })
    .await
}

fn warnings(app: &App) -> Vec<gsd_proto::api::Warning> {
    app.engine.audit().problem().iter().map(|problem| wire::warning("audit.unwritable", problem)).collect()
}

async fn blocking<T: Send + 'static>(
    app: Arc<App>,
    work: impl FnOnce(&App) -> std::io::Result<T> + Send + 'static,
) -> Result<T, WireError> {
    let file = app.engine.audit().file();
    tokio::task::spawn_blocking(move || work(&app))
        .await
        .map_err(|error| WireError::new(Code::Internal, error.to_string()))?
        .map_err(|error| {
            WireError::new(Code::IoFailed, format!("the audit log can't be read: {error}"))
                .at_file(file)
                .with_fix("make that folder readable for you", &[])
        })
}
