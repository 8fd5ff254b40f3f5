//! `gsdctl consent …`.

use std::fmt::Write as _;

use gsd_proto::api::capability::{ConsentList, ConsentListParams, ConsentRevoke, ConsentRevokeParams};
use serde_json::json;

use super::{Outcome, acceptance, install};
use crate::args::{ConsentVerb, Global};
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &ConsentVerb) -> (&'static str, Outcome) {
    match verb {
        ConsentVerb::List => ("consent-list", list(options)),
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
        let signer = record.signer.as_ref();
        let signer = signer.map(|signer| format!("  (signed by {})", acceptance::called(signer)));
        let _ = writeln!(
            text,
            "{}  {}  {}  {}  {}{}{}",
            clean(&record.id),
            record.scope,
            clean(&record.project_root),
            clean(&record.consented_at),
            clean(&record.level),
            signer.unwrap_or_default(),
            clean(&linked.unwrap_or_default()),
        );
    }
    let rows: Vec<_> = listed
        .records
        .iter()
        .map(|record| {
            json!({
                "id": record.id,
                "scope": record.scope,
                "projectRoot": record.project_root,
                "integrity": record.integrity,
                "disclosureSignature": record.disclosure_signature,
                "contentHash": record.content_hash,
                "consentedAt": record.consented_at,
                "linked": record.linked,
                "level": record.level,
                "signer": acceptance::row(record.signer.as_ref()),
            })
        })
        .collect();
    let mut warnings = listed.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "consent-list", data: json!(rows), text, warnings, ..Report::default() })
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
