//! Config homes of the shipped descriptors against `tests/vectors/runtimes/config-home.json`.
//!
//! Operations other than `config-home`, and cases with Windows path rules, are counted as pending.

#![allow(clippy::unwrap_used, reason = "a test: a panic is the report")]
#![expect(clippy::disallowed_methods, reason = "a test reads the vectors and the shipped capabilities")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gsdd_core::runtime::{ConfigHome, PathFacts};
use serde::Deserialize as _;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn config_home(runtime: &str) -> Option<ConfigHome> {
    let path = repository().join("capabilities").join(runtime).join("capability.json");
    path.exists().then(|| ConfigHome::deserialize(&read(&path)["runtime"]["configHome"]).unwrap())
}

#[test]
fn config_homes_are_where_they_were_seen() {
    let vectors = read(&repository().join("tests/vectors/runtimes/config-home.json"));
    let (mut passed, mut pending) = (0, 0);
    let mut failures = Vec::new();
    for case in vectors["cases"].as_array().unwrap() {
        if case["op"] != "config-home" || case["platform"] == "win32" {
            pending += 1;
            continue;
        }
        let env: BTreeMap<String, String> = serde_json::from_value(case["env"].clone()).unwrap();
        let exists: Vec<String> = serde_json::from_value(case["exists"].clone()).unwrap();
        let facts = PathFacts {
            home: case["home"].as_str().unwrap(),
            env: &env,
            exists: &|path| exists.iter().any(|known| known == path),
        };
        let ours = match config_home(case["runtime"].as_str().unwrap()) {
            Some(home) => home.resolve(&facts).map_or_else(
                |_| serde_json::json!({"error": "no-config-home"}),
                |dir| serde_json::json!({"dir": dir}),
            ),
            None => Value::Null,
        };
        if ours == case["expected"] {
            passed += 1;
        } else {
            failures.push(format!(
                "{}: {} expected {} got {ours}",
                case["id"], case["runtime"], case["expected"]
            ));
        }
    }
    println!("config-home.json: {passed} passed, {} failed, {pending} pending", failures.len());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
}
