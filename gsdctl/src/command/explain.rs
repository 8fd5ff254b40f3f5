//! `gsdctl registry explain` and `gsdctl registry graph`.

use std::fmt::Write as _;

use gsd_proto::api::registry::{Explain, ExplainParams, Explanation, Graph, GraphParams, Party, Predicate};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::GraphFormat;
use crate::connect::{self, Options};
use crate::output::{Report, clean};

/// Why something is as it is.
pub(super) fn explain(options: &Options, subject: &str) -> Outcome {
    let mut connection = connect::connect(options)?;
    let answer = connection
        .call::<Explain>(&ExplainParams { ctx: connection.context(), subject: subject.to_owned() })?;
    let mut data = row(&answer.explanation);
    let mut text = String::new();
    if answer.meanings.is_empty() {
        block(&mut text, &answer.explanation);
    } else {
        for meaning in &answer.meanings {
            block(&mut text, meaning);
            text.push('\n');
        }
        let _ = writeln!(text, "{}", clean(&answer.explanation.text));
        data["meanings"] = answer.meanings.iter().map(row).collect();
    }
    let mut warnings = answer.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "registry-explain", data, text, warnings, ..Report::default() })
}

fn row(explanation: &Explanation) -> Value {
    let party = |party: &Party| {
        json!({
            "id": party.id, "scope": party.scope, "part": party.part, "status": party.status, "note": party.note,
        })
    };
    let predicate = |predicate: &Predicate| {
        json!({
            "name": predicate.name, "value": predicate.value, "origin": predicate.origin, "holds": predicate.holds,
        })
    };
    json!({
        "subject": explanation.subject,
        "kind": explanation.kind,
        "verdict": explanation.verdict,
        "text": explanation.text,
        "rule": explanation.rule,
        "parties": explanation.parties.iter().map(party).collect::<Vec<_>>(),
        "predicates": explanation.predicates.iter().map(predicate).collect::<Vec<_>>(),
        "fixes": explanation.fixes.iter().map(|fix| json!({"text": fix.text, "argv": fix.argv})).collect::<Vec<_>>(),
    })
}

fn block(out: &mut String, explanation: &Explanation) {
    let _ = writeln!(out, "{} — {}", clean(&explanation.subject), explanation.verdict);
    let _ = writeln!(out, "  {}", clean(&explanation.text));
    if !explanation.rule.is_empty() {
        let _ = writeln!(out, "  rule: {}", clean(&explanation.rule));
    }
    for predicate in &explanation.predicates {
        let mark = if predicate.holds { "yes" } else { "no " };
        let origin = if predicate.origin.is_empty() {
            String::new()
        } else {
            format!("  ({})", clean(&predicate.origin))
        };
        let _ = writeln!(out, "  {mark} {}: {}{origin}", clean(&predicate.name), clean(&predicate.value));
    }
    for party in &explanation.parties {
        let scope = if party.scope.is_empty() { String::new() } else { format!(" ({})", party.scope) };
        let note = if party.note.is_empty() { String::new() } else { format!(": {}", clean(&party.note)) };
        let _ = writeln!(out, "  {} {}{scope}, {}{note}", party.part, clean(&party.id), party.status);
    }
    for fix in &explanation.fixes {
        let command = clean(&fix.argv.join(" "));
        let parts = [command, clean(&fix.text)];
        let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let _ = writeln!(out, "  fix: {}", shown.join("  ·  "));
    }
}

/// Draws the registry.
pub(super) fn graph(options: &Options, format: GraphFormat) -> Outcome {
    let mut connection = connect::connect(options)?;
    let drawn = connection
        .call::<Graph>(&GraphParams { ctx: connection.context(), format: Some(format.word().to_owned()) })?;
    let data = json!({
        "format": drawn.format,
        "text": drawn.text,
        "nodes": drawn.nodes.iter().map(|node| json!({
            "id": node.id, "scope": node.scope, "skipped": node.skipped,
        })).collect::<Vec<_>>(),
        "edges": drawn.edges.iter().map(|edge| json!({
            "from": edge.from, "to": edge.to, "kind": edge.kind, "label": edge.label,
        })).collect::<Vec<_>>(),
    });
    let mut warnings = drawn.warnings;
    warnings.extend(connection.warnings());
    Ok(Report { command: "registry-graph", data, text: drawn.text, warnings, ..Report::default() })
}
