//! What must hold for any bytes: shared by the everyday property tests and the fuzz targets in `fuzz/`.
//!
//! Each function panics when something does not hold.

use std::path::Path;
use std::sync::Arc;

use gsdd_core::bundle::check_member;
use gsdd_core::bundle::pax::{PaxRecords, read_pax};
use gsdd_core::compose::{Candidate, ConsentVerdict, LedgerState, ManifestRead, Scope, compose};
use gsdd_core::json::{JsonProblem, MAX_DEPTH, locate, parse_lenient, parse_strict};
use gsdd_core::manifest::{Document, assess};
use gsdd_core::policy::{FileText, Layer, Policy, Sought, read_layer};
use gsdd_core::registry::{Base, BaseParts, HostContract, View};
use gsdd_core::source::address::{judge_address, judge_host_text};
use gsdd_core::source::oci::{layer_of, read_challenge};
use gsdd_core::source::{PathStyle, SourceSpec};
use gsdd_core::trust::{Disclosure, disclosure_signature};
use gsdd_core::validate::{BundleFacts, Draft, ManifestFile, sarif};
use gsdd_core::version::{EngineRange, HostVersion, has_range_shape, is_full_semver};
use serde_json::Value;

/// Bytes as a manifest: a verdict, the same one twice, in words that are safe to print, and a set that composes.
pub(crate) fn manifest(bytes: &[u8]) {
    let contract = HostContract::builtin();
    let assessed = assess("acme", bytes, &contract);
    assert_eq!(assessed.manifest.is_some(), assessed.problems.is_empty(), "a verdict");
    assert_eq!(assess("acme", bytes, &contract).problems, assessed.problems, "the same verdict");
    for problem in assessed.problems.iter().chain(&assessed.warnings) {
        assert!(problem.line > 0 && problem.column > 0, "a place: {problem:?}");
        assert!(!problem.message.chars().any(char::is_control), "safe words: {problem:?}");
    }
    let draft = Draft::read("acme", ManifestFile::Bytes(bytes), &contract);
    let verdict = draft.judge(Some(&BundleFacts::default()));
    assert!(
        assessed.problems.len() <= verdict.problems.len(),
        "a bundle has no fewer problems than its manifest"
    );
    let document = sarif(&verdict, "", "0.0.0");
    let results = document["runs"][0]["results"].as_array().map_or(0, Vec::len);
    assert_eq!(results, verdict.problems.len() + verdict.warnings.len(), "every finding is told");
    if let Some(raw) = &assessed.document.as_ref().map(Document::read) {
        let disclosure = Disclosure::collect(raw);
        assert_eq!(disclosure, Disclosure::collect(raw), "the same disclosure");
        assert!(!disclosure_signature(raw).is_empty(), "a signature");
    }
    let Ok(base) = Base::build(BaseParts::default()) else { panic!("an empty base composes") };
    let gates = assessed.gates.len();
    let candidate = Candidate {
        dir_name: "acme".to_owned(),
        scope: Scope::Global,
        demoted: false,
        bundle_dir: "/b/acme".to_owned(),
        ledger: LedgerState::Committed,
        consent: ConsentVerdict::NotNeeded,
        manifest: ManifestRead::Read(Arc::new(assessed)),
        fragments: Arc::default(),
        config_home: None,
    };
    let composition = compose(&base, &[candidate]);
    assert_eq!(composition.accepted.len() + composition.skips.len(), 1, "used or left out");
    if !composition.skips.is_empty() {
        assert_eq!(composition.blocked_gates.len(), gates, "no gate is lost without a word");
    }
    drop(composition.registry.view(View::All, Some(&composition)));
}

/// Bytes as a range of versions: what can be read has an answer, and a version satisfies itself.
pub(crate) fn range(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let hosts = ["0.0.0", "0.0.1", "1.6.0", "1.10.0-rc.1", "2.0.0+x", "18446744073709551615.0.0", &text];
    for parsed in [EngineRange::parse(&text), EngineRange::parse_compat(&text)].into_iter().flatten() {
        for host in hosts {
            let host = HostVersion::parse_lossy(host);
            assert_eq!(parsed.satisfies(host), parsed.clone().satisfies(host), "the same answer");
        }
    }
    if is_full_semver(&text) && text.len() < 20 {
        let own = HostVersion::parse_lossy(&text);
        assert!(has_range_shape(&text), "a version looks like a range");
        let (exact, least) = (EngineRange::parse(&text), EngineRange::parse_compat(&text));
        assert!(exact.is_ok_and(|range| range.satisfies(own)), "a version satisfies itself");
        assert!(least.is_ok_and(|range| range.satisfies(own)), "a version satisfies itself as a minimum");
    }
}

/// Bytes as JSON: what we accept an independent reader accepts too and reads alike.
pub(crate) fn json(bytes: &[u8]) {
    let lenient = parse_lenient(bytes);
    let theirs = serde_json::from_slice::<Value>(bytes).ok();
    match parse_strict(bytes) {
        Ok(document) => {
            assert!(lenient.as_ref() == Some(&document), "strict is lenient without duplicates");
            assert!(theirs.is_some_and(|theirs| same(&document, &theirs)), "both read alike");
            let written = document.to_string();
            assert!(parse_strict(written.as_bytes()).as_ref() == Ok(&document), "what is written is read");
            assert!(std::str::from_utf8(bytes).is_ok_and(|text| locate(text, "").is_some()), "a place");
        }
        Err(JsonProblem { rule, line, column, .. }) => {
            assert!(line > 0 && column > 0, "a place");
            if let Some(lenient) = &lenient {
                assert_eq!(rule, "parse.duplicate-key", "only duplicates are a matter of strictness");
                assert!(theirs.is_some_and(|theirs| same(lenient, &theirs)), "both read alike");
            }
        }
    }
    if let Some(lenient) = lenient {
        assert!(depth(&lenient) <= MAX_DEPTH, "no deeper than allowed");
    }
}

/// Bytes as an extended header of an archive: what is taken from it is in it.
pub(crate) fn pax(bytes: &[u8]) {
    for global in [false, true] {
        let Ok(records) = read_pax(bytes, global) else { continue };
        if let Some(path) = records.path {
            assert!(!global && bytes.windows(path.len().max(1)).any(|part| part == path || path.is_empty()));
            if let Ok(member) = check_member(path) {
                assert!(path.len() < 1026 && !member.as_str().starts_with('/'), "a safe name");
            }
        }
        assert!(!global || records == PaxRecords::default(), "a header for all members says nothing of one");
    }
}

/// Bytes as a source and a host of one: what is accepted reads back, and no spelling of an address
/// that is not public passes.
pub(crate) fn source(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(spec) = SourceSpec::parse_for(&text, PathStyle::Posix) {
        let recorded = spec.recorded();
        assert_eq!(
            SourceSpec::parse_for(&recorded, PathStyle::Posix),
            Ok(spec),
            "what is recorded reads back"
        );
    }
    if let (Ok(address), Ok(())) = (text.parse::<std::net::IpAddr>(), judge_host_text(&text)) {
        assert_eq!(judge_address(address), Ok(()), "text and address are judged alike");
    }
    drop((read_challenge(&text), layer_of(bytes)));
}

/// Bytes as a policy file of each layer: every answer of a policy with it is at most as wide as without it.
pub(crate) fn policy(bytes: &[u8]) {
    let read = |layer| read_layer(layer, Path::new("policy.toml"), &FileText::Bytes(bytes));
    let closed = read_layer(
        Layer::User,
        Path::new("policy.toml"),
        &FileText::Bytes(b"network.private_hosts = []\nsources.allow = []\nconsent.yes = false"),
    );
    for layer in Layer::ALL {
        let policy = Policy::new([read(layer), closed.clone()]);
        assert!(!policy.network().allows("localhost", 443), "an empty list of one layer allows nothing");
        assert!(policy.judge_source(&Sought::NOWHERE).is_err() && policy.judge_blanket().is_err());
        for setting in policy.settings() {
            assert!(
                setting.rule.is_none_or(|rule| rule.problem().is_none_or(|problem| problem.len() < 2000))
            );
        }
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Equal, but for the last digit of a fraction: the other reader may round it its own way.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= a.abs() * 1e-12
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}
