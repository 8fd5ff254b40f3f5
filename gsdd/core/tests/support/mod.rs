//! Reading the vectors and the list of deviations, and the table of results.

#[cfg(unix)]
pub(crate) mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A JSON file below `tests/vectors`.
pub(crate) fn vectors(path: &str) -> Value {
    let file = repository().join("tests/vectors").join(path);
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The cases of a vector file.
pub(crate) fn cases(path: &str) -> Vec<Value> {
    vectors(path)["cases"].as_array().unwrap().clone()
}

/// The strings of a list, sorted.
pub(crate) fn set(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// The value under a key as text.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// What a case came to.
enum Row {
    Passed,
    Deviating,
    Pending,
    Failed,
}

/// Collects results and holds them against `docs/deviations.md`.
pub(crate) struct Table {
    listed: BTreeMap<String, String>,
    seen: BTreeSet<String>,
    prefixes: &'static [&'static str],
    counts: BTreeMap<String, [usize; 4]>,
    failures: Vec<String>,
}

impl Table {
    /// A table whose cases have names that start with one of `prefixes`.
    pub(crate) fn new(prefixes: &'static [&'static str]) -> Self {
        let file = repository().join("docs/deviations.md");
        let document = std::fs::read_to_string(&file).unwrap_or_default();
        let mut listed = BTreeMap::new();
        for line in document.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            if let [case, _, value] = cells.as_slice() {
                let case = case.trim_matches(['|', ' ', '`']);
                let value = value.trim_matches([' ', '`']).replace("\\|", "|");
                assert!(listed.insert(case.to_owned(), value).is_none(), "{case} is listed twice");
            }
        }
        Self { listed, seen: BTreeSet::new(), prefixes, counts: BTreeMap::new(), failures: Vec::new() }
    }

    fn count(&mut self, file: &str, row: Row) {
        self.counts.entry(file.to_owned()).or_default()[row as usize] += 1;
    }

    /// Counts a case that needs parts outside this crate.
    pub(crate) fn pending(&mut self, file: &str) {
        self.count(file, Row::Pending);
    }

    /// Compares one case: `agrees`, or else our value must be the listed one.
    pub(crate) fn case(&mut self, file: &str, name: &str, agrees: bool, ours: &str, expected: &str) {
        if agrees {
            self.count(file, Row::Passed);
            return;
        }
        if self.listed.get(name).is_some_and(|value| value == ours) {
            self.seen.insert(name.to_owned());
            self.count(file, Row::Deviating);
            return;
        }
        self.count(file, Row::Failed);
        self.failures.push(format!("| `{name}` | ? | `{ours}` |   expected {expected}"));
    }

    /// Prints the table and fails on anything unexpected.
    pub(crate) fn finish(self) {
        println!("{:<24} {:>7} {:>10} {:>8} {:>7}", "file", "passed", "deviating", "pending", "failed");
        let mut total = [0; 4];
        for (file, counts) in &self.counts {
            let [passed, deviating, pending, failed] = counts;
            println!("{file:<24} {passed:>7} {deviating:>10} {pending:>8} {failed:>7}");
            for (sum, count) in total.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let [passed, deviating, pending, failed] = total;
        println!("{:<24} {passed:>7} {deviating:>10} {pending:>8} {failed:>7}", "total");
        for failure in &self.failures {
            println!("{failure}");
        }
        let stale: Vec<&String> = self
            .listed
            .keys()
            .filter(|name| self.prefixes.iter().any(|prefix| name.starts_with(prefix)))
            .filter(|name| !self.seen.contains(*name))
            .collect();
        assert!(self.failures.is_empty(), "{} differences are not listed", self.failures.len());
        assert!(stale.is_empty(), "listed deviations that no longer occur: {stale:?}");
    }
}
