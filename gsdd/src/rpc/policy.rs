//! `policy.*`: the rules in effect, and what they say about a source.

use std::sync::Arc;

use gsd_proto::WireError;
use gsd_proto::api::policy::{
    Check, CheckParams, CheckResult, FileRow, Objection, Origin, Setting, Show, ShowParams, ShowResult,
};
use gsdd_core::policy::{Door, Key, Place, Says};
use gsdd_core::text::shown_up_to;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use tokio_util::sync::CancellationToken;

use super::{register, wire};
use crate::app::App;
use crate::{lifecycle, policy, source};

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Show, _, _>(module, show)?;
    register::<Check, _, _>(module, check)
}

async fn show(app: Arc<App>, params: ShowParams) -> Result<ShowResult, WireError> {
    let engine = &app.engine;
    let project = engine.project_of(&params.ctx);
    let snapshot = engine.snapshot(&project).await?;
    let rules = engine.policy(&params.ctx, &project);
    let speaks = |file: &std::path::Path| {
        rules.rules().iter().any(|rule| rule.place.file == file)
            || rules.unknown().iter().any(|unknown| unknown.place.file == file)
    };
    let files = policy::files(&params.ctx, &engine.places().user_home, &project);
    let mut warnings = wire::warnings(&snapshot);
    for unknown in rules.unknown() {
        let message = format!("`{}` says nothing: {} ({})", unknown.key, unknown.why, unknown.place);
        warnings.push(wire::warning("policy.unknown_key", &message));
    }
    for rule in rules.rules() {
        if let Some(problem) = rule.problem() {
            let message = format!("{problem}; what it decides is closed ({})", rule.place);
            warnings.push(wire::warning("policy.unusable", &message));
        }
    }
    let missing = lifecycle::missing_required(engine, &snapshot, &params.ctx);
    warnings.extend(missing.iter().map(|message| wire::warning("policy.required", message)));
    let setting = |setting: gsdd_core::policy::Setting<'_>| Setting {
        key: setting.key.name().to_owned(),
        value: setting.value,
        decides: setting.decides,
        origin: setting.rule.map(|rule| origin(&rule.place)),
        problem: setting.rule.and_then(gsdd_core::policy::Rule::problem),
    };
    Ok(ShowResult {
        snapshot: snapshot.generation,
        warnings,
        files: files
            .into_iter()
            .map(|file| FileRow {
                layer: file.layer.name().to_owned(),
                exists: file.path.exists(),
                speaks: speaks(&file.path),
                file: file.path,
            })
            .collect(),
        settings: rules.settings().into_iter().map(setting).collect(),
    })
}

async fn check(app: Arc<App>, params: CheckParams) -> Result<CheckResult, WireError> {
    let engine = &app.engine;
    let project = engine.project_of(&params.ctx);
    let snapshot = engine.snapshot(&project).await?;
    let spec = source::parse(&params.spec)?;
    let caller = lifecycle::asking(engine, &params.ctx, &project, CancellationToken::new());
    let objection = source::resolve::objection(&spec, &caller)?;
    let refusal = match objection {
        Some(objection) => Some(Objection {
            key: objection.rule.key.name().to_owned(),
            reason: objection.why.clone(),
            origin: Some(origin(&objection.rule.place)),
        }),
        None => source::resolve::unreachable(&spec, &caller).map(|refusal| Objection {
            key: Key::PrivateHosts.name().to_owned(),
            reason: refusal.to_string(),
            origin: None,
        }),
    };
    let later = caller.policy().rules().iter().filter_map(|rule| {
        let reason = match &rule.says {
            Says::MinLevel(level) => format!("the content has to reach the level `{level}`"),
            Says::Forbid(classes) if !classes.is_empty() => {
                let words: Vec<&str> = classes.iter().map(|class| class.words()).collect();
                format!("it must not bring {}", words.join(", "))
            }
            Says::Blanket(false) => "`--yes` is no agreement".to_owned(),
            Says::Unusable { what, door: Door::File | Door::Blanket | Door::Executable(_) } => what.clone(),
            _ => return None,
        };
        Some(Objection { key: rule.key.name().to_owned(), reason, origin: Some(origin(&rule.place)) })
    });
    Ok(CheckResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        source: shown_up_to(&spec.to_string(), 4096),
        allowed: refusal.is_none(),
        refusal,
        later: later.collect(),
    })
}

fn origin(place: &Place) -> Origin {
    Origin { layer: place.layer.name().to_owned(), file: place.file.clone(), line: place.line }
}
