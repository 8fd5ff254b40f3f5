//! Ledger and consent store.

use gsdd_core::consent::ConsentStore;
use gsdd_core::ledger::{LedgerProblem, MAX_LEDGER_BYTES, parse_lenient, parse_strict};
use serde_json::{Value, json};

use super::{Suite, run};

pub(crate) fn ledger() -> Suite {
    run("ledger.json", include_str!("../../../../tests/vectors/lifecycle/ledger.json"), |_, case| {
        let text = match (&case["text"], &case["generated"]) {
            (Value::String(text), _) => text.clone(),
            (_, generated @ Value::Object(_)) => generated_ledger(generated),
            _ => return None,
        };
        let expect = &case["expect"];
        let expected = format!("{} {} {}", expect["strict"], expect["lenient"], expect["entries"]);
        // The shell's bounded read refuses what is larger than the limit; nothing of it reaches the reader.
        let strict = if text.len() > MAX_LEDGER_BYTES {
            "io:EFBIG"
        } else {
            match parse_strict(text.as_bytes()) {
                Ok(_) => "accepted",
                Err(LedgerProblem::Corrupt { .. }) => "corrupt",
                Err(LedgerProblem::UnsupportedVersion(_)) => "unsupported-version",
            }
        };
        let lenient = parse_lenient(text.as_bytes());
        let entries = lenient.as_ref().map_or(Value::Null, |ledger| json!(ledger.len()));
        let verdict = if lenient.is_some() { "accepted" } else { "null" };
        Some((expected, format!("{} {} {entries}", json!(strict), json!(verdict))))
    })
}

fn generated_ledger(generated: &Value) -> String {
    let entry = |id: &str| {
        json!({"id": id, "version": "1.0.0", "source": "./x", "integrity": "",
               "files": [format!(".gsd/capabilities/{id}")], "sharedEdits": []})
    };
    let mut document = json!({"version": "1", "updatedAt": "2026-01-01T00:00:00.000Z", "entries": {}});
    if let Some(length) = generated["pad_to"].as_u64() {
        let text = document.to_string();
        let padding = usize::try_from(length).unwrap() - text.len();
        return text + &" ".repeat(padding);
    }
    let count = generated["count"].as_u64().unwrap();
    let texts = |count: u64| (0..count).map(|index| json!(format!("f{index}"))).collect::<Value>();
    match generated["field"].as_str().unwrap() {
        "entries" => {
            for index in 0..count {
                let id = format!("cap-{index}");
                document["entries"][&id] = entry(&id);
            }
        }
        field => {
            let mut only = entry("a-cap");
            match field {
                "files" => only["files"] = texts(count),
                "sharedEdits" => {
                    only["sharedEdits"] = (0..count)
                        .map(|index| json!({"file": format!("f{index}"), "marker": "a-cap"}))
                        .collect();
                }
                _ => {
                    only["_pending"] =
                        json!({"kind": "install", "backupName": null, "sharedFiles": texts(count)});
                }
            }
            document["entries"]["a-cap"] = only;
        }
    }
    document.to_string()
}

const ROOT: &str = "/real/root";

pub(crate) fn consent() -> Suite {
    run(
        "consent-store.json",
        include_str!("../../../../tests/vectors/lifecycle/consent-store.json"),
        |_, case| {
            let text = match (&case["store_text"], &case["generated"]) {
                (Value::String(text), _) => placeholders(text),
                (_, generated @ Value::Object(_)) => generated_store(generated, &case["query"]),
                (Value::Null, _) if case["special"].is_null() => String::new(),
                _ => return None,
            };
            let query = &case["query"];
            // Links and dots in the queried path are resolved by the shell, which asks with the real path.
            let root = match placeholders(query["root"].as_str().unwrap()) {
                root if root.starts_with(ROOT) || root == "/link" => ROOT.to_owned(),
                root => root,
            };
            let store = ConsentStore::parse(text.as_bytes());
            let granted =
                store.granted(&root, query["id"].as_str().unwrap(), query["content_hash"].as_str().unwrap());
            let expect = &case["expect"];
            Some((
                format!("{} {}", expect["granted"], expect["records_read"]),
                format!("{granted} {}", store.len()),
            ))
        },
    )
}

fn placeholders(text: &str) -> String {
    text.replace("{{ROOT}}", ROOT).replace("{{LINK}}", "/link").replace("{{OTHER}}", "/other")
}

fn generated_store(generated: &Value, query: &Value) -> String {
    let record = |root: &str| {
        json!({"projectRoot": root, "id": query["id"], "scope": "project", "integrity": "",
               "disclosureSignature": "[[],[],[]]", "contentHash": query["content_hash"],
               "consentedAt": "2026-01-01T00:00:00.000Z"})
    };
    let mut document = json!({"version": "1", "records": {"x": record(ROOT)}});
    if let Some(length) = generated["pad_to"].as_u64() {
        let text = document.to_string();
        let padding = usize::try_from(length).unwrap() - text.len();
        return text + &" ".repeat(padding);
    }
    for index in 1..generated["records"].as_u64().unwrap() {
        document["records"][format!("k{index}")] = record(&format!("/p{index}"));
    }
    document.to_string()
}
