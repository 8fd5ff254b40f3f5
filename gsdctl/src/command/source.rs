//! `gsdctl source …`, `gsdctl inspect` and `gsdctl hash`.

use std::fmt::Write as _;

use gsd_proto::Code;
use gsd_proto::api::source::{
    Hash, HashParams, Inspect, InspectParams, InspectResult, Parse, ParseParams, Resolve, ResolveParams,
    ResolveResult,
};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::disclosure::groups;
use crate::args::{Global, HashArgs, InspectArgs, SourceVerb};
use crate::connect::{self, Options, offline};
use crate::output::{Report, clean};
use crate::screen::Screen;

/// Versions that people are shown; there may be thousands.
const MOST_VERSIONS: usize = 30;

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &SourceVerb) -> (&'static str, Outcome) {
    match verb {
        SourceVerb::Resolve { spec } => ("source-resolve", resolve(global, options, spec)),
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

fn resolve(global: &Global, options: &Options, spec: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let params = ResolveParams {
        ctx: connection.context(),
        spec: spec.to_owned(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        offline: offline(global),
    };
    let resolved = connection.call::<Resolve>(&params)?;
    let taken = resolved.taken.as_ref().map(|taken| {
        json!({
            "version": taken.version,
            "exact": taken.exact,
            "commit": taken.commit,
            "url": taken.url,
            "integrity": taken.integrity,
            "content_hash": taken.content_hash,
            "attestation": taken.attestation,
        })
    });
    let considered: Vec<Value> = resolved
        .considered
        .iter()
        .map(|row| json!({"version": row.version, "verdict": row.verdict, "reason": row.reason}))
        .collect();
    let data = json!({
        "kind": resolved.kind,
        "source": resolved.source,
        "taken": taken,
        "considered": considered,
        "title": resolved.title,
        "publisher": resolved.publisher,
        "publisher_key": resolved.publisher_key,
    });
    let text = resolved_text(&resolved);
    let exit = if resolved.taken.is_some() { 0 } else { Code::NotFound.exit() };
    let mut warnings = resolved.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "source-resolve", data, text, warnings, exit, ..Report::default() })
}

fn resolved_text(resolved: &ResolveResult) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<&String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<11} {}", clean(value));
        }
    };
    line("source", Some(&resolved.source));
    line("title", resolved.title.as_ref());
    line("publisher", resolved.publisher.as_ref());
    line("key", resolved.publisher_key.as_ref());
    match &resolved.taken {
        None => line("version", Some(&"none of them".to_owned())),
        Some(taken) => {
            line("version", taken.version.as_ref());
            line("exact", taken.exact.as_ref());
            line("commit", taken.commit.as_ref());
            line("from", taken.url.as_ref());
            line("integrity", taken.integrity.as_ref());
            line("content", taken.content_hash.as_ref());
            line("attestation", taken.attestation.as_ref());
        }
    }
    for row in resolved.considered.iter().take(MOST_VERSIONS) {
        let _ = writeln!(text, "  {:<16} {}", clean(&row.version), clean(&row.reason));
    }
    if let Some(more) = resolved.considered.len().checked_sub(MOST_VERSIONS).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … {more} older ones; --json has all");
    }
    text
}

/// Discloses a bundle that is thrown away afterwards.
pub(super) fn inspect(global: &Global, options: &Options, args: &InspectArgs) -> Outcome {
    let mut connection = connect::connect(options)?;
    let inspected = connection.call::<Inspect>(&InspectParams {
        ctx: connection.context(),
        what: args.what.clone(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        offline: offline(global),
        full: global.verbose > 0,
    })?;
    let data = json!({
        "id": inspected.id,
        "version": inspected.version,
        "title": inspected.title,
        "source": inspected.source,
        "resolved": inspected.resolved,
        "commit": inspected.commit,
        "integrity": inspected.integrity,
        "attestation": inspected.attestation,
        "valid": inspected.valid,
        "problems": inspected.problems,
        "content_hash": inspected.content_hash,
        "disclosure_signature": inspected.signature,
        "consent_digest": inspected.consent_digest,
        "disclosure": inspected.disclosure,
        "executable": inspected.executable,
        "instructing": inspected.instructing,
        "inert": {"files": inspected.files, "bytes": inspected.bytes},
        "tokens": inspected.tokens,
    });
    let text = inspected_text(global, &inspected);
    let mut warnings = inspected.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "inspect", data, text, warnings, ..Report::default() })
}

fn inspected_text(global: &Global, inspected: &InspectResult) -> String {
    let mut text =
        format!("{} {} — {}\n", clean(&inspected.id), clean(&inspected.version), clean(&inspected.title));
    let lines = [
        ("from", Some(&inspected.source)),
        ("version", inspected.resolved.as_ref()),
        ("commit", inspected.commit.as_ref()),
        ("archive", inspected.integrity.as_ref()),
        ("attested", inspected.attestation.as_ref()),
        ("content", Some(&inspected.content_hash)),
        ("digest", Some(&inspected.consent_digest)),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            let _ = writeln!(text, "  {name:<8} {}", clean(value));
        }
    }
    let _ = writeln!(text, "  files    {} ({} bytes)", inspected.files, inspected.bytes);
    for problem in &inspected.problems {
        let _ = writeln!(text, "  NOT valid: {}", clean(problem));
    }
    groups(&mut text, Screen::of_stdout(global), &inspected.disclosure, inspected.tokens);
    text
}
