//! Findings in the format that editors and code review tools read.

use serde_json::{Map, Value, json};

use super::verdict::{Finding, Verdict};
use crate::manifest::RuleId;
use crate::text::shown;

/// One SARIF 2.1.0 document. `folder` is the bundle as a URI reference, empty when there is none.
#[must_use]
pub fn sarif(verdict: &Verdict, folder: &str, tool_version: &str) -> Value {
    let mut rules: Vec<RuleId> =
        verdict.problems.iter().chain(&verdict.warnings).map(|finding| finding.problem.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let results = |findings: &[Finding], level: &str| {
        findings.iter().map(|finding| result(finding, level, folder, &rules)).collect::<Vec<_>>()
    };
    let mut all = results(&verdict.problems, "error");
    all.extend(results(&verdict.warnings, "warning"));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "gsdctl",
                "version": tool_version,
                "semanticVersion": tool_version,
                "rules": rules.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": all,
        }],
    })
}

fn descriptor(rule: RuleId) -> Value {
    let row = rule.rule();
    json!({
        "id": row.id,
        "shortDescription": {"text": row.text},
        "help": {"text": format!("{}. Demanded by: {}.", row.fix, row.source)},
    })
}

fn result(finding: &Finding, level: &str, folder: &str, rules: &[RuleId]) -> Value {
    let problem = &finding.problem;
    let file = finding.file.as_deref().unwrap_or("capability.json");
    let mut physical = Map::new();
    physical.insert("artifactLocation".to_owned(), json!({"uri": uri(folder, file)}));
    if problem.line > 0 && finding.file.is_none() {
        let region = json!({"startLine": problem.line, "startColumn": problem.column.max(1)});
        physical.insert("region".to_owned(), region);
    }
    let mut location = Map::new();
    location.insert("physicalLocation".to_owned(), Value::Object(physical));
    if !problem.pointer.is_empty() {
        let logical = json!([{"fullyQualifiedName": shown(&problem.pointer), "kind": "value"}]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    json!({
        "ruleId": problem.rule.as_str(),
        "ruleIndex": rules.binary_search(&problem.rule).unwrap_or(0),
        "level": level,
        "message": {"text": format!("{} {}.", shown(&problem.message), problem.fix)},
        "locations": [location],
    })
}

/// A path as a URI reference: everything that is not plain is percent-encoded.
fn uri(folder: &str, file: &str) -> String {
    let mut uri = folder.trim_end_matches('/').to_owned();
    if !uri.is_empty() {
        uri.push('/');
    }
    for byte in file.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
