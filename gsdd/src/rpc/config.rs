//! `config.*`: the person's own configuration file.

use gsd_proto::api::config::{
    Changed, Get, GetParams, GetResult, List, ListParams, ListResult, Set, SetParams, Setting, Unset,
    UnsetParams,
};
use gsd_proto::{Code, Context, WireError};
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::user_config::{ConfigKey, KeyProblem};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register_blocking, wire};
use crate::app::App;
use crate::user_config;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register_blocking::<List, _>(module, |app, params| list(app, &params))?;
    register_blocking::<Get, _>(module, |app, params| get(app, &params))?;
    register_blocking::<Set, _>(module, |app, params| set(app, &params))?;
    register_blocking::<Unset, _>(module, |app, params| unset(app, &params))
}

fn list(app: &App, params: &ListParams) -> Result<ListResult, WireError> {
    let (items, warnings) = settings(app, &params.ctx);
    Ok(ListResult { snapshot: app.engine.generation(), warnings, items })
}

fn get(app: &App, params: &GetParams) -> Result<GetResult, WireError> {
    let key = key(&params.key)?.to_string();
    let (items, warnings) = settings(app, &params.ctx);
    let setting = items.into_iter().find(|item| item.key == key);
    Ok(GetResult { snapshot: app.engine.generation(), warnings, setting })
}

fn set(app: &App, params: &SetParams) -> Result<Changed, WireError> {
    change(app, &params.ctx, &params.key, Some(&params.value), params.dry_run)
}

fn unset(app: &App, params: &UnsetParams) -> Result<Changed, WireError> {
    change(app, &params.ctx, &params.key, None, params.dry_run)
}

fn change(
    app: &App,
    ctx: &Context,
    raw: &str,
    value: Option<&str>,
    dry_run: bool,
) -> Result<Changed, WireError> {
    let key = key(raw)?;
    let file = user_config::path(ctx, &app.engine.places().user_home);
    let change = user_config::change(ctx, &file, &key, value, dry_run)?;
    Ok(Changed {
        snapshot: app.engine.generation(),
        warnings: Vec::new(),
        changed: change.changed,
        key: key.to_string(),
        before: change.before.as_deref().map(shown),
        after: change.after.as_deref().map(shown),
        file,
    })
}

/// What the file says and what is so without it, sorted.
fn settings(app: &App, ctx: &Context) -> (Vec<Setting>, Vec<gsd_proto::api::Warning>) {
    let file = user_config::path(ctx, &app.engine.places().user_home);
    let config = user_config::read(&file);
    let mut items: Vec<Setting> = config
        .set
        .iter()
        .map(|(key, value)| Setting {
            key: key.to_string(),
            value: shown_up_to(value, 4096),
            origin: "user".to_owned(),
            file: Some(file.clone()),
        })
        .collect();
    if !config.set.iter().any(|(key, _)| *key == ConfigKey::WhenUnavailable) {
        let key = ConfigKey::WhenUnavailable.to_string();
        items.push(Setting { key, value: "pass".to_owned(), origin: "default".to_owned(), file: None });
    }
    items.sort_by(|left, right| left.key.cmp(&right.key));
    let place = file.display().to_string();
    let told = |why: &String| wire::warning("config.unusable", &format!("{place}: {why}"));
    (items, config.objections.iter().map(told).collect())
}

fn key(raw: &str) -> Result<ConfigKey, WireError> {
    ConfigKey::parse(raw).map_err(|problem| {
        let error = WireError::new(Code::UsageInvalid, format!("{}: {problem}", shown(raw)));
        match problem {
            KeyProblem::RegistryName | KeyProblem::PublisherName => error,
            KeyProblem::Unknown { near } if near.is_empty() => {
                error.with_fix(format!("the keys are {}", ConfigKey::all().join(", ")), &[])
            }
            KeyProblem::Unknown { near } => {
                near.into_iter().fold(error, |error, key| error.with_fix(format!("did you mean {key}?"), &[]))
            }
        }
    })
}
