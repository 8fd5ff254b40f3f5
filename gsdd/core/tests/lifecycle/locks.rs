//! The lock file.

use gsdd_core::ledger::lock::{HolderFacts, LockBody, LockFacts, LockVerdict, judge};
use serde_json::{Value, json};

use super::{Suite, run};

const NOW_MS: i64 = 1_800_000_000_000;

pub(crate) fn lock() -> Suite {
    run("lock.json", include_str!("../../../../tests/vectors/lifecycle/lock.json"), |_, case| {
        let expected = case["expect"].as_str().unwrap().to_owned();
        if case["body"].is_null()
            && case["body_text"].is_null()
            && case["body_size"].is_null()
            && case["special"].is_null()
        {
            return None;
        }
        let text = match (&case["body"], &case["body_text"], &case["body_size"]) {
            (Value::Object(body), _, _) => Some(body_text(body)),
            (_, Value::String(text), _) => Some(text.clone()),
            (_, _, Value::Number(size)) => Some(" ".repeat(usize::try_from(size.as_u64().unwrap()).unwrap())),
            _ => None,
        };
        let seconds = |key: &str| case[key].as_i64().unwrap_or_default();
        let facts = LockFacts {
            body: text.and_then(|text| LockBody::parse(text.as_bytes())),
            now_ms: NOW_MS,
            mtime_ms: NOW_MS - seconds("mtime_age_s") * 1000,
            hostname: "SELF".to_owned(),
            holder: HolderFacts {
                alive: case["pid_alive"].as_bool().unwrap_or_default(),
                start_time: case["observed_start_time"].as_str().map(str::to_owned),
                ours: true,
            },
            planted: matches!(case["special"].as_str(), Some("dangling" | "symlink")),
        };
        let ours = match judge(&facts) {
            LockVerdict::Held(_) => "blocked",
            LockVerdict::Stealable(_) => "acquired",
        };
        Some((expected, ours.to_owned()))
    })
}

fn body_text(body: &serde_json::Map<String, Value>) -> String {
    let mut members = body.clone();
    if let Some(age) = members.remove("ts_age").and_then(|age| age.as_i64()) {
        members.insert("ts".to_owned(), json!(NOW_MS - age * 1000));
    }
    Value::Object(members).to_string()
}
