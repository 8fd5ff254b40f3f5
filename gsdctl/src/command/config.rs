//! `gsdctl config …`.

use std::fmt::Write as _;

use gsd_proto::api::config::{
    Changed, Get, GetParams, List, ListParams, Set, SetParams, Setting, Unset, UnsetParams,
};
use gsd_proto::{Code, WireError};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{ConfigVerb, Global};
use crate::connect::{self, Connection, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &ConfigVerb) -> (&'static str, Outcome) {
    match verb {
        ConfigVerb::Get { key, show_origin } => ("config-get", get(options, key, *show_origin)),
        ConfigVerb::Set { key, value } => ("config-set", set(global, options, key, value)),
        ConfigVerb::Unset { key } => ("config-unset", unset(global, options, key)),
        ConfigVerb::List { show_origin } => ("config-list", list(options, *show_origin)),
    }
}

fn get(options: &Options, key: &str, show_origin: bool) -> Outcome {
    let mut connection = connect::connect(options)?;
    let got = connection.call::<Get>(&GetParams { ctx: connection.context(), key: key.to_owned() })?;
    let Some(setting) = got.setting else {
        return Err(WireError::new(Code::NotFound, format!("{} is not set", clean(key)))
            .with_fix("see what is set", &["gsdctl", "config", "list"]));
    };
    let text = match show_origin {
        true => format!("{}\t{}\n", origin(&setting), clean(&setting.value)),
        false => format!("{}\n", clean(&setting.value)),
    };
    let mut warnings = got.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "config-get", data: row(&setting), text, warnings, ..Report::default() })
}

fn list(options: &Options, show_origin: bool) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<List>(&ListParams { ctx: connection.context() })?;
    let mut text = String::new();
    for setting in &listed.items {
        if show_origin {
            let _ = write!(text, "{}\t", origin(setting));
        }
        let _ = writeln!(text, "{} = {}", clean(&setting.key), clean(&setting.value));
    }
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    let data = Value::Array(listed.items.iter().map(row).collect());
    Ok(Report { command: "config-list", data, text, warnings, ..Report::default() })
}

fn set(global: &Global, options: &Options, key: &str, value: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = SetParams {
        ctx: connection.context(),
        key: key.to_owned(),
        value: value.to_owned(),
        dry_run: global.dry_run,
    };
    let changed = connection.call::<Set>(&params)?;
    Ok(told("config-set", global, &connection, changed))
}

fn unset(global: &Global, options: &Options, key: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = UnsetParams { ctx: connection.context(), key: key.to_owned(), dry_run: global.dry_run };
    let changed = connection.call::<Unset>(&params)?;
    Ok(told("config-unset", global, &connection, changed))
}

fn told(command: &'static str, global: &Global, connection: &Connection, changed: Changed) -> Report {
    let would = if global.dry_run { "would be " } else { "" };
    let key = clean(&changed.key);
    let text = match (&changed.after, changed.changed) {
        (Some(value), true) => format!("{key} = {} ({would}written to ", clean(value)),
        (Some(value), false) => format!("{key} = {} (as before in ", clean(value)),
        (None, true) => format!("{key} {would}unset ("),
        (None, false) => format!("{key} is not set ("),
    };
    let text = format!("{text}{})\n", clean(&changed.file.display().to_string()));
    let mut warnings = changed.warnings;
    warnings.extend(connection.warnings());
    Report {
        command,
        changed: changed.changed && !global.dry_run,
        data: json!({
            "status": if global.dry_run { "planned" } else { "done" },
            "key": changed.key,
            "before": changed.before,
            "after": changed.after,
            "file": changed.file,
        }),
        text,
        warnings,
        ..Report::default()
    }
}

fn origin(setting: &Setting) -> String {
    match &setting.file {
        Some(file) => format!("{} ({})", clean(&setting.origin), clean(&file.display().to_string())),
        None => clean(&setting.origin),
    }
}

fn row(setting: &Setting) -> Value {
    json!({"key": setting.key, "value": setting.value, "origin": setting.origin, "file": setting.file})
}
