//! Judging one manifest: bytes in, everything there is to say out.

use std::sync::Arc;

use serde_json::Value;

use super::capability::Manifest;
use super::document::Document;
use super::findings::{At, Findings, Object};
use super::problem::Problem;
use super::rule::{When, rule_by_id};
use super::rule_table::RuleId;
use super::{config_slice, contract_rules, envelope, feature, reviewer_lane, runtime_body, typed};
use crate::json::{locate_all, parse_lenient, parse_strict};
use crate::registry::HostContract;

/// Most gates that are read from one broken manifest.
const MAX_DECLARED_GATES: usize = 1_000;

/// Which rules a manifest is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Every rule: for what is installed.
    Installed,
    /// Upstream's rules only: for what a host ships, which may be another base than ours.
    Shipped,
}

/// A gate that a manifest declares, read even when the manifest is broken: its loss is reported.
///
/// Source: overlay model, "The one place where a skip must be loud: gates".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredGate {
    /// The point as written; it need not exist.
    pub point: String,
}

/// Everything there is to say about one manifest.
#[derive(Clone, Debug)]
pub struct Assessed {
    /// Name of the folder that holds it.
    pub dir_name: String,
    /// The manifest, when no rule is broken.
    pub manifest: Option<Arc<Manifest>>,
    /// The document, when the text is JSON.
    pub document: Option<Document>,
    /// Broken rules, in reading order of the rules.
    pub problems: Vec<Problem>,
    /// Findings that break nothing.
    pub warnings: Vec<Problem>,
    /// Gates with a readable point, declared order.
    pub gates: Vec<DeclaredGate>,
    /// Fragment files that have to be read: those named without an inline text.
    pub fragment_paths: Vec<String>,
    /// The manifest, when at most rules of the host contract are broken.
    pub(crate) draft: Option<Arc<Manifest>>,
}

/// Assesses an installed manifest. Total: any bytes get an answer.
#[must_use]
pub fn assess(dir_name: &str, bytes: &[u8], contract: &HostContract) -> Assessed {
    assess_as(Strictness::Installed, dir_name, bytes, contract)
}

/// [`assess`] under the rules that `strictness` selects.
#[must_use]
pub fn assess_as(strictness: Strictness, dir_name: &str, bytes: &[u8], contract: &HostContract) -> Assessed {
    assess_and_keep(strictness, dir_name, bytes, contract).0
}

/// [`assess_as`] with the document that was read, for callers that look at more of it.
pub(crate) fn assess_and_keep(
    strictness: Strictness,
    dir_name: &str,
    bytes: &[u8],
    contract: &HostContract,
) -> (Assessed, Option<Value>) {
    let raw = match parse_strict(bytes) {
        Ok(raw) => raw,
        Err(fault) => {
            let rule = rule_by_id(fault.rule).map_or(RuleId::ParseJson, |rule| rule.key);
            let mut problem = Problem::new(rule, fault.pointer, fault.message);
            (problem.line, problem.column) = (fault.line, fault.column);
            let assessed = Assessed {
                dir_name: dir_name.to_owned(),
                manifest: None,
                document: None,
                problems: vec![problem],
                warnings: Vec::new(),
                // A reader that is less strict would have found these: their loss is reported too.
                gates: parse_lenient(bytes)
                    .and_then(|document| document.as_object().map(declared_gates))
                    .unwrap_or_default(),
                fragment_paths: Vec::new(),
                draft: None,
            };
            return (assessed, None);
        }
    };
    let mut findings = Findings::new(strictness);
    // What is JSON is UTF-8.
    let document = std::str::from_utf8(bytes).ok().map(Document::new);
    let draft =
        document.as_ref().and_then(|document| examine(&mut findings, dir_name, (&raw, document), contract));
    let (clean, object) = (findings.is_clean(), raw.as_object());
    let mut problems = findings.into_problems();
    let mut warnings = object.map(reviewer_lane::warnings).unwrap_or_default();
    place(bytes, problems.iter_mut().chain(&mut warnings));
    let assessed = Assessed {
        dir_name: dir_name.to_owned(),
        manifest: draft.clone().filter(|_| clean),
        problems,
        warnings,
        gates: object.map(declared_gates).unwrap_or_default(),
        fragment_paths: draft.as_deref().map(fragment_paths).unwrap_or_default(),
        draft,
        document,
    };
    (assessed, Some(raw))
}

impl Assessed {
    /// Whether the manifest breaks a rule other than those of the host contract.
    pub(crate) fn own_problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.rule.rule().when != When::Contract)
    }

    /// The broken rules of the host contract.
    pub(crate) fn contract_problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.rule.rule().when == When::Contract)
    }
}

fn examine(
    findings: &mut Findings,
    dir_name: &str,
    (raw, document): (&Value, &Document),
    contract: &HostContract,
) -> Option<Arc<Manifest>> {
    let Some(object) = raw.as_object() else {
        findings.add(RuleId::ManifestObject, &At::Root);
        return None;
    };
    envelope::check(findings, object, dir_name);
    let role = object.get("role").and_then(Value::as_str).unwrap_or_default();
    match role {
        "feature" => feature::check(findings, object),
        "runtime" => {
            runtime_body::check(findings, object);
            reviewer_lane::check_lane(findings, object);
        }
        "reviewer" => reviewer_lane::check_reviewer(findings, object),
        _ => {}
    }
    if !findings.is_clean() {
        return None;
    }
    config_slice::check_slices(findings, object, role == "feature");
    if role == "runtime" {
        runtime_body::check_format_parity(findings, object);
    }
    if !findings.is_clean() {
        return None;
    }
    let Some(manifest) = typed::build(raw, document) else {
        findings.add(RuleId::ManifestObject, &At::Root);
        return None;
    };
    contract_rules::check(findings, &manifest, contract);
    Some(Arc::new(manifest))
}

/// Fills in the line and column of problems.
pub(crate) fn place<'p>(bytes: &[u8], problems: impl Iterator<Item = &'p mut Problem>) {
    let mut problems: Vec<&mut Problem> = problems.collect();
    if problems.is_empty() {
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A missing member is shown at the object that should have it.
    let mut wanted: Vec<&str> = Vec::with_capacity(problems.len() * 2);
    for problem in &problems {
        wanted.push(&problem.pointer);
        wanted.push(problem.pointer.rsplit_once('/').map_or("", |(parent, _)| parent));
    }
    let mut places = locate_all(text, &wanted).into_iter();
    let mut found = Vec::with_capacity(problems.len());
    while let (Some(exact), Some(parent)) = (places.next(), places.next()) {
        found.push(exact.or(parent).unwrap_or((1, 1)));
    }
    for (problem, (line, column)) in problems.iter_mut().zip(found) {
        problem.line = line;
        problem.column = column;
    }
}

fn declared_gates(manifest: &Object) -> Vec<DeclaredGate> {
    let gates = manifest.get("gates").and_then(Value::as_array);
    gates
        .into_iter()
        .flatten()
        .filter_map(|gate| gate.as_object()?.get("point")?.as_str())
        .take(MAX_DECLARED_GATES)
        .map(|point| DeclaredGate { point: point.to_owned() })
        .collect()
}

fn fragment_paths(manifest: &Manifest) -> Vec<String> {
    let steps = manifest.steps.iter().filter_map(|step| step.fragment.as_ref());
    let contributions = manifest.contributions.iter().map(|contribution| &contribution.fragment);
    let mut paths: Vec<String> = steps
        .chain(contributions)
        .filter(|fragment| fragment.inline.is_none())
        .filter_map(|fragment| fragment.path.clone())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
