//! Runs every case of `tests/vectors/lifecycle` that pure code can answer and prints a table.
//!
//! A case passes, or is listed in `docs/deviations.md` with exactly our value, or fails the test. Cases
//! about what sits at a path (a FIFO, a directory, a link) belong to the shell and are only counted here.

#![allow(clippy::unwrap_used, reason = "a test: a panic is the report")]

mod lifecycle;

use std::collections::BTreeMap;

use lifecycle::Suite;

const DEVIATIONS: &str = include_str!("../../../docs/deviations.md");

/// `(file, case)` to the value that we return on purpose.
fn deviations() -> BTreeMap<(String, String), String> {
    DEVIATIONS
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split(" | ").collect();
            let [case, file, _why, ours] = cells.as_slice() else { return None };
            // States of whole roots are played through the programs, in the journeys.
            if !file.trim().ends_with(".json") || file.trim() == "reconcile.json" {
                return None;
            }
            let ours = ours.trim().trim_matches('`').to_owned();
            Some(((file.trim().to_owned(), case.trim().to_owned()), ours))
        })
        .collect()
}

#[test]
fn lifecycle_vectors() {
    let suites: Vec<Suite> = lifecycle::all();
    let mut listed = deviations();
    let mut failures = Vec::new();
    println!("{:<28} {:>6} {:>9} {:>6} {:>6}", "file", "passed", "deviating", "failed", "shell");
    for suite in suites {
        let (mut passed, mut deviating, mut failed) = (0, 0, 0);
        for (case, expected, ours) in suite.results {
            let on_purpose = listed.remove(&(suite.file.to_owned(), case.clone()));
            if expected == ours && on_purpose.is_none() {
                passed += 1;
            } else if expected != ours && on_purpose.as_ref() == Some(&ours) {
                deviating += 1;
            } else {
                failed += 1;
                failures.push(format!("{case}: expected `{expected}`, listed {on_purpose:?}, got `{ours}`"));
            }
        }
        println!("{:<28} {passed:>6} {deviating:>9} {failed:>6} {:>6}", suite.file, suite.shell_only);
    }
    let stale: Vec<_> =
        listed.keys().filter(|(file, case)| file.ends_with(".json") && !case.starts_with('-')).collect();
    assert!(failures.is_empty(), "{} unlisted differences:\n{}", failures.len(), failures.join("\n"));
    assert!(stale.is_empty(), "deviations of cases that do not exist: {stale:?}");
}
