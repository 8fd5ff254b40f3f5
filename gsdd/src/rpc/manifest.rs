//! `manifest.*`: judging bundles that are not installed.

use std::sync::Arc;

use gsd_proto::api::manifest::{self as wire_types, Validate, ValidateParams, ValidateResult};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::json;
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::validate::{Draft, Finding, ManifestFile, Verdict, sarif};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use serde_json::Value;

use super::{register, wire};
use crate::app::App;
use crate::engine::Snapshot;
use crate::validate::{Desk, against_installed};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Validate, _, _>(module, validate)
}

async fn validate(app: Arc<App>, params: ValidateParams) -> Result<ValidateResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?.unwrap_or(Scope::Global);
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    // Looks at files of any number and size, within limits.
    let work = tokio::task::spawn_blocking(move || judge(&app, &snapshot, &params, scope));
    work.await.map_err(|error| WireError::new(Code::Internal, error.to_string()))?
}

fn judge(
    app: &App,
    snapshot: &Snapshot,
    params: &ValidateParams,
    scope: Scope,
) -> Result<ValidateResult, WireError> {
    let desk = match (&params.dir, &params.manifest) {
        (Some(dir), None) => on_disk(app, params, dir)?,
        (None, Some(manifest)) => in_call(app, manifest, params.dir_name.as_deref()),
        (Some(_), Some(_)) | (None, None) => {
            return Err(WireError::new(Code::UsageInvalidParams, "either `dir` or `manifest` is needed"));
        }
    };
    let mut verdict = desk.draft.judge(desk.facts.as_ref());
    if params.merged && verdict.is_valid() {
        let problems = against_installed(&app.engine, snapshot, &desk.draft, desk.facts.as_ref(), scope);
        desk.draft.add_merged(&mut verdict, problems);
    }
    let file = params.dir.is_some().then_some(desk.file);
    Ok(ValidateResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(snapshot),
        valid: verdict.is_valid(),
        sarif: params.sarif.then(|| document(&verdict, file.as_deref())),
        file,
        problems: verdict.problems.into_iter().map(finding).collect(),
        hints: verdict.warnings.into_iter().map(finding).collect(),
    })
}

fn on_disk(app: &App, params: &ValidateParams, dir: &std::path::Path) -> Result<Desk, WireError> {
    let path = params.ctx.cwd.join(dir);
    Desk::open(&path, app.engine.base()).ok_or_else(|| {
        let shown = shown_up_to(&dir.to_string_lossy(), 1000);
        WireError::new(Code::UsageInvalid, format!("{shown} is neither a folder nor a `capability.json`"))
            .at_file(path)
            .with_fix("name the folder that holds `capability.json`", &[])
    })
}

fn in_call(app: &App, manifest: &Value, dir_name: Option<&str>) -> Desk {
    let bytes = match manifest {
        Value::String(text) => text.clone().into_bytes(),
        document => document.to_string().into_bytes(),
    };
    let id =
        || json::parse_lenient(&bytes).and_then(|document| Some(document.get("id")?.as_str()?.to_owned()));
    let dir_name = dir_name.map(ToOwned::to_owned).or_else(id).unwrap_or_default();
    let file =
        if bytes.len() as u64 > json::MAX_BYTES { ManifestFile::TooBig } else { ManifestFile::Bytes(&bytes) };
    let draft = Draft::read(&dir_name, file, app.engine.base().contract());
    Desk { file: std::path::PathBuf::new(), draft, facts: None }
}

fn document(verdict: &Verdict, file: Option<&std::path::Path>) -> Value {
    let folder = file.and_then(std::path::Path::parent).map(folder_uri).unwrap_or_default();
    sarif(verdict, &folder, gsd_proto::VERSION)
}

fn folder_uri(folder: &std::path::Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    let text = folder.to_string_lossy();
    let encoded = text
        .bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("file://{}", encoded.collect::<String>())
}

fn finding(finding: Finding) -> wire_types::Finding {
    let problem = finding.problem;
    wire_types::Finding {
        rule: problem.rule.as_str().to_owned(),
        pointer: shown_up_to(&problem.pointer, 1000),
        line: problem.line,
        column: problem.column,
        message: shown_up_to(&problem.message, 1000),
        fix: problem.fix,
        file: finding.file.map(|file| shown(&file)),
    }
}
