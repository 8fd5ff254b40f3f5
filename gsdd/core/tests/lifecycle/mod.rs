//! One function per vector file.

mod engine_range;
mod locks;
mod records;
mod sources;
mod splices;
mod trust;

use serde_json::Value;

/// The outcome of one file: `(case, expected, ours)`.
pub(crate) struct Suite {
    pub(crate) file: &'static str,
    pub(crate) results: Vec<(String, String, String)>,
    pub(crate) shell_only: usize,
}

/// All files that are covered.
pub(crate) fn all() -> Vec<Suite> {
    vec![
        trust::content_hash(),
        trust::signature(),
        records::ledger(),
        records::consent(),
        locks::lock(),
        sources::spec_parse(),
        sources::integrity(),
        sources::strict_registries(),
        sources::strict_registries_config(),
        sources::compat_versions(),
        sources::outdated_peek(),
        splices::shared_file_splice(),
    ]
}

/// Runs `judge` over the cases of a file; `None` marks a case that only the shell can answer.
fn run(
    file: &'static str,
    text: &str,
    mut judge: impl FnMut(&Value, &Value) -> Option<(String, String)>,
) -> Suite {
    let document: Value = serde_json::from_str(text).expect("a vector file is JSON");
    let mut suite = Suite { file, results: Vec::new(), shell_only: 0 };
    for case in document["vectors"].as_array().expect("a vector file has `vectors`") {
        let id = case["id"].as_str().expect("a case has an `id`").to_owned();
        match judge(&document, case) {
            Some((expected, ours)) => suite.results.push((id, expected, ours)),
            None => suite.shell_only += 1,
        }
    }
    suite
}
