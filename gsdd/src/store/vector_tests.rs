//! The recorded cases that are about what lies at a path, which the pure core can't answer.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use gsdd_core::ledger::LedgerProblem;
use serde_json::Value;

use super::shared_files::{LedgerFailure, read_consent, read_ledger};
use crate::fs::atomic::{self, Mode, set_folder_mode};
use crate::fs::bounded_read::ReadFailure;
use crate::fs::bundle_tree::BundleTree;
use gsdd_core::bundle::budget::MAX_BYTES;

const LEDGER: &str = include_str!("../../../tests/vectors/lifecycle/ledger.json");
const CONSENT: &str = include_str!("../../../tests/vectors/lifecycle/consent-store.json");
const CONTENT: &str = include_str!("../../../tests/vectors/lifecycle/content-hash.json");

fn cases(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["vectors"].as_array().unwrap().clone()
}

/// Makes what `special` names at `path`; `text` is what a valid file holds.
fn make(path: &Path, special: &str, text: &str) {
    let put = |path: &Path, mode| atomic::write(path, text.as_bytes(), Mode::Exactly(mode)).unwrap();
    match special {
        "missing" => {}
        "dir" => fs::create_dir(path).unwrap(),
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "dangling" => symlink("nowhere", path).unwrap(),
        "symlink" => {
            put(&path.with_extension("real"), 0o644);
            symlink(path.with_extension("real"), path).unwrap();
        }
        "mode-666" => put(path, 0o666),
        other => panic!("unknown: {other}"),
    }
}

#[test]
fn ledgers_that_are_no_plain_files() {
    let mut seen = 0;
    for case in cases(LEDGER) {
        let Some(special) = case["special"].as_str() else { continue };
        seen += 1;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        make(&path, special, r#"{"version":"1","updatedAt":"2026-01-01T00:00:00.000Z","entries":{}}"#);
        let ours = match read_ledger(&path) {
            Ok(None) => "missing",
            Ok(Some(_)) => "accepted",
            Err(LedgerFailure::Io(ReadFailure::Missing)) => "io:ENOENT",
            Err(LedgerFailure::Io(ReadFailure::NotRegular)) => {
                // Which number the system has for it is not recorded by us.
                if special == "dir" { "io:EISDIR" } else { "io:ENXIO" }
            }
            Err(LedgerFailure::Io(_)) => "io",
            Err(LedgerFailure::Problem(LedgerProblem::UnsupportedVersion(_))) => "unsupported-version",
            Err(LedgerFailure::Problem(_)) => "corrupt",
        };
        assert_eq!(case["expect"]["strict"], ours, "{}", case["id"]);
    }
    assert_eq!(seen, 5);
}

/// Where upstream takes a link or a store that anybody can write, nothing counts for us (RULE 13, T137).
#[test]
fn t137_consent_stores_that_are_no_plain_private_files() {
    let mut seen = 0;
    for case in cases(CONSENT) {
        let Some(special) = case["special"].as_str() else { continue };
        seen += 1;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("consent.json");
        let query = &case["query"];
        let record = serde_json::json!({"projectRoot": "/real/root", "id": query["id"], "scope": "project",
            "integrity": "", "disclosureSignature": "[[],[],[]]", "contentHash": query["content_hash"],
            "consentedAt": "2026-01-01T00:00:00.000Z"});
        make(&path, special, &serde_json::json!({"version": "1", "records": {"x": record}}).to_string());
        let (store, reason) = read_consent(&path);
        assert!(store.is_empty() && reason.is_some(), "{}", case["id"]);
    }
    assert_eq!(seen, 4);
}

#[test]
fn t045_bundles_with_links_and_special_files_have_no_content_hash() {
    let mut seen = 0;
    for case in cases(CONTENT) {
        let Some(error @ ("symlink" | "non-regular")) = case["expect"]["error"].as_str() else { continue };
        seen += 1;
        let dir = tempfile::tempdir().unwrap();
        for entry in case["entries"].as_array().unwrap() {
            let path = dir.path().join(entry["path"].as_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match entry["type"].as_str().unwrap() {
                "dir" => {
                    fs::create_dir(&path).unwrap();
                    set_folder_mode(&path, 0o755).unwrap();
                }
                "file" => atomic::write(&path, b"x", Mode::Keep(0o022)).unwrap(),
                "symlink" => symlink(entry["target"].as_str().unwrap(), &path).unwrap(),
                kind => make(&path, kind, ""),
            }
        }
        let refusal = BundleTree::read(dir.path(), MAX_BYTES).unwrap_err();
        assert_eq!(refusal.code, error, "{}", case["id"]);
    }
    assert_eq!(seen, 5);
}
