//! `gsdctl source …` and `gsdctl hash`.

use std::fmt::Write as _;

use gsd_proto::api::source::{Hash, HashParams, Parse, ParseParams};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::args::{HashArgs, SourceVerb};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(options: &Options, verb: &SourceVerb) -> (&'static str, Outcome) {
    match verb {
        SourceVerb::Parse { spec } => ("source-parse", parse(options, spec)),
    }
}

fn parse(options: &Options, spec: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let parsed =
        connection.call::<Parse>(&ParseParams { ctx: connection.context(), spec: spec.to_owned() })?;
    let mut data = Map::from_iter([
        ("kind".to_owned(), json!(parsed.kind)),
        ("target".to_owned(), json!(parsed.target)),
    ]);
    let optional = [
        ("ref", &parsed.reference),
        ("folder", &parsed.folder),
        ("selector", &parsed.selector),
        ("registry", &parsed.registry),
        ("host", &parsed.host),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            data.insert(name.to_owned(), json!(value));
        }
    }
    data.insert("recorded".to_owned(), json!(parsed.recorded));
    data.insert("pinned".to_owned(), json!(parsed.pinned));
    let mut text = String::new();
    for (name, value) in &data {
        let value = value.as_str().map_or_else(|| value.to_string(), clean);
        let _ = writeln!(text, "{name:<9} {value}");
    }
    let mut warnings = parsed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "source-parse", data: Value::Object(data), text, warnings, ..Report::default() })
}

/// Content hash of a folder.
pub(super) fn hash(options: &Options, args: &HashArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let hashed = connection.call::<Hash>(&HashParams { ctx: connection.context(), dir: args.dir.clone() })?;
    let mut warnings = hashed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report {
        command: "hash",
        data: json!({"content_hash": hashed.content_hash, "files": hashed.files, "bytes": hashed.bytes}),
        text: format!("{}\n", hashed.content_hash),
        warnings,
        ..Report::default()
    })
}
