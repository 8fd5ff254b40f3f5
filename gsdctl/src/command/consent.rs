//! `gsdctl consent …`.

use std::fmt::Write as _;

use gsd_proto::api::capability::{
    ConsentList, ConsentListParams, ConsentRevoke, ConsentRevokeParams, ConsentRow, ConsentShow,
    ConsentShowParams,
};
use serde_json::{Value, json};

use super::disclosure::groups;
use super::{Outcome, install};
use crate::args::{ConsentVerb, Global};
use crate::connect::{self, Options};
use crate::output::{Report, clean};
use crate::screen::Screen;

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &ConsentVerb) -> (&'static str, Outcome) {
    match verb {
        ConsentVerb::List => ("consent-list", list(options)),
        ConsentVerb::Show { id } => ("consent-show", show(global, options, id)),
        ConsentVerb::Preview { what, integrity } => {
            ("consent-preview", install::preview(global, options, what, integrity.as_deref()))
        }
        ConsentVerb::Grant { id, wish } => ("consent-grant", install::grant(global, options, id, wish)),
        ConsentVerb::Revoke { id, project } => {
            ("consent-revoke", revoke(global, options, id, project.clone()))
        }
    }
}

fn list(options: &Options) -> Outcome {
    let mut connection = connect::connect(options)?;
    let listed = connection.call::<ConsentList>(&ConsentListParams { ctx: connection.context() })?;
    let mut text = String::new();
    for record in &listed.records {
        let linked = record.linked.as_ref().map(|folder| format!("  (linked: {})", folder.display()));
        let _ = writeln!(
            text,
            "{}  {}  {}  {}{}",
            clean(&record.id),
            record.scope,
            clean(&record.project_root),
            clean(&record.consented_at),
            clean(&linked.unwrap_or_default()),
        );
    }
    let rows: Vec<_> = listed.records.iter().map(record).collect();
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "consent-list", data: json!(rows), text, warnings, ..Report::default() })
}

/// The records of a list without what only we know of them.
pub(super) fn upstream(listed: &Report) -> Value {
    let mut rows = listed.data.clone();
    for row in rows.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for ours in ["consent_digest", "blanket", "destination"] {
            row.remove(ours);
        }
    }
    rows
}

/// Upstream's members in upstream's spelling, ours beside them.
fn record(row: &ConsentRow) -> Value {
    json!({
        "id": row.id,
        "scope": row.scope,
        "projectRoot": row.project_root,
        "integrity": row.integrity,
        "disclosureSignature": row.disclosure_signature,
        "contentHash": row.content_hash,
        "consentedAt": row.consented_at,
        "linked": row.linked,
        "consent_digest": row.consent_digest,
        "blanket": row.blanket,
        "destination": row.destination,
    })
}

fn show(global: &Global, options: &Options, id: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let shown = connection.call::<ConsentShow>(&ConsentShowParams {
        ctx: connection.context(),
        id: id.to_owned(),
        scope: global.scope.map(|scope| scope.word().to_owned()),
        full: global.verbose > 0,
    })?;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<9} {}", clean(value));
        }
    };
    let row = &shown.record;
    let how = match (row.blanket, row.how.as_str()) {
        (true, _) => "without looking (--yes)",
        (false, "first-seen") => "recorded by upstream, first seen here",
        (false, _) => "by digest or at the question",
    };
    line("id", &row.id);
    line("scope", &format!("{} ({})", row.scope, row.project_root));
    line("agreed", &format!("{} {how}", row.consented_at));
    line("revoked", shown.revoked_at.as_deref().unwrap_or_default());
    line("content", &row.content_hash);
    line("digest", &row.consent_digest);
    line("sends to", row.destination.as_deref().unwrap_or_default());
    line("linked", &row.linked.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default());
    line("state", &shown.state);
    if shown.disclosure.is_empty() {
        line("content", "not in the store; what it lets run can't be shown");
    }
    groups(&mut text, Screen::of_stdout(global), &shown.disclosure, shown.tokens);
    let data = json!({
        "record": record(row),
        "revoked_at": shown.revoked_at,
        "state": shown.state,
        "disclosure": shown.disclosure,
        "executable": shown.executable,
        "instructing": shown.instructing,
        "tokens": shown.tokens,
    });
    let mut warnings = shown.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "consent-show", data, text, warnings, ..Report::default() })
}

fn revoke(global: &Global, options: &Options, id: &str, project: Option<std::path::PathBuf>) -> Outcome {
    let mut connection = connect::connect(options)?;
    if global.dry_run {
        let text = format!("would take back the agreement to {}\n", clean(id));
        return Ok(Report { command: "consent-revoke", data: json!({"id": id}), text, ..Report::default() });
    }
    let done = connection.call::<ConsentRevoke>(&ConsentRevokeParams {
        ctx: connection.context(),
        id: id.to_owned(),
        project,
        scope: global.scope.map(|scope| scope.word().to_owned()),
    })?;
    let text = match done.changed {
        true => format!("the agreement to {} is taken back; nothing of it runs any more\n", clean(id)),
        false => format!("there was no agreement to {}\n", clean(id)),
    };
    let mut warnings = done.warnings;
    warnings.extend(connection.warnings());
    let data = json!({"status": "revoked", "id": id});
    Ok(Report { command: "consent-revoke", changed: done.changed, data, text, warnings, ..Report::default() })
}
