//! The generated reference: the committed copies are what the code writes, and the schema agrees with the rules.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test reads files, and a broken vector file should stop it"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use gsdd_core::manifest::reference::{NOT_IN_SCHEMA, rules_page, schema, unknown_members};
use gsdd_core::manifest::{Document, RuleId, assess};
use gsdd_core::registry::HostContract;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use support::{cases, repository, text};

/// Compares a committed file with what the code writes; `UPDATE_REFERENCE=1` writes it.
#[track_caller]
fn committed(name: &str, expected: &str) {
    let file = repository().join("docs").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is not up to date: UPDATE_REFERENCE=1 cargo test -p gsdd-core --test reference"
    );
}

#[test]
fn the_page_of_rules_is_up_to_date() {
    committed("reference/manifest-rules.md", &rules_page());
}

#[test]
fn the_schema_is_up_to_date() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    committed("reference/capability.schema.json", &text);
}

#[test]
fn the_schema_of_a_registry_index_is_up_to_date() {
    let text = format!("{}\n", serde_json::to_string_pretty(&gsdd_core::source::index::schema()).unwrap());
    committed("formats/registry-index.schema.json", &text);
}

fn documents() -> Vec<(String, String, Vec<u8>)> {
    let mut all = Vec::new();
    for file in ["text", "envelope", "feature", "config-slice", "loop-hooks", "runtime", "reviewer"] {
        for case in cases(&format!("manifest/single-{file}.json")) {
            let bytes = match case.get("manifest_raw") {
                Some(raw) => raw.as_str().unwrap().as_bytes().to_vec(),
                None => case["manifest"].to_string().into_bytes(),
            };
            all.push((text(&case, "name").to_owned(), text(&case, "dir_name").to_owned(), bytes));
        }
    }
    all
}

#[test]
fn the_schema_agrees_with_the_rules() {
    let schema = schema();
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("not a schema: {error}"));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let contract = HostContract::builtin();
    let inexpressible: BTreeSet<RuleId> = NOT_IN_SCHEMA.iter().map(|row| row.rule).collect();
    let (mut compared, mut differing) = (0, Vec::new());
    let mut let_through: BTreeMap<RuleId, usize> = BTreeMap::new();
    for (name, dir_name, bytes) in documents() {
        let assessed = assess(&dir_name, &bytes, &contract);
        let Some(document) = assessed.document.as_ref().map(Document::read) else { continue };
        compared += 1;
        let rules: BTreeSet<RuleId> = assessed.problems.iter().map(|problem| problem.rule).collect();
        let accepted = validator.is_valid(&document);
        if accepted && rules.is_subset(&inexpressible) {
            for rule in rules {
                *let_through.entry(rule).or_default() += 1;
            }
        } else if accepted || rules.is_empty() {
            let why: Vec<String> = validator
                .iter_errors(&document)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            differing.push(format!("{name}: schema {accepted}, rules {rules:?} {why:?}"));
        }
    }
    println!("{compared} documents compared, left to the rules: {let_through:?}");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
}

/// Every rule in the list is one that the schema really lets through.
#[test]
fn the_list_of_exceptions_is_not_longer_than_needed() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let contract = HostContract::builtin();
    let mut seen = BTreeSet::new();
    let mut all = documents();
    // The recorded cases have no witness for these.
    for (key, value) in [
        ("skills", r#"["con"]"#),
        ("agents", r#"["e\u0301t\u0301"]"#),
        ("config", r#"{"a\u202eb":{"type":"string","default":"","description":"d"}}"#),
        ("compatVersions", r#"{"1.0.0":"-1"}"#),
    ] {
        let mut document: Value = serde_json::from_str(
            r#"{"id":"a","role":"feature","version":"1.0.0","title":"T","description":"D","tier":"full","requires":[],
            "runtimeCompat":{"supported":["*"],"unsupported":[]},"skills":[],"agents":[],"config":{},"steps":[],
            "contributions":[],"gates":[]}"#,
        )
        .unwrap();
        document[key] = serde_json::from_str(value).unwrap();
        all.push((key.to_owned(), "a".to_owned(), document.to_string().into_bytes()));
    }
    for (_, dir_name, bytes) in all {
        let assessed = assess(&dir_name, &bytes, &contract);
        if assessed.document.as_ref().is_none_or(|document| validator.is_valid(&document.read())) {
            seen.extend(assessed.problems.iter().map(|problem| problem.rule));
        }
    }
    let unneeded: Vec<&str> = NOT_IN_SCHEMA
        .iter()
        .filter(|row| !seen.contains(&row.rule) && row.rule != RuleId::ParseSize)
        .map(|row| row.rule.as_str())
        .collect();
    assert!(unneeded.is_empty(), "{unneeded:?}");
}

#[test]
fn what_is_shipped_and_shown_fits_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let mut count = 0;
    for folder in ["capabilities", "docs/examples"] {
        for entry in std::fs::read_dir(repository().join(folder)).unwrap() {
            let file = entry.unwrap().path().join("capability.json");
            let Ok(bytes) = std::fs::read(&file) else { continue };
            let document: Value = serde_json::from_slice(&bytes).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&document)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}", file.display());
            let unknown = unknown_members(&document);
            assert!(unknown.is_empty(), "{}: {unknown:?}", file.display());
            count += 1;
        }
    }
    assert!(count > 40);
}

/// Places of a document, from the outside in.
fn places(document: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match document {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                places(member, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const WORDS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "2",
    "-1",
    "1.5",
    "1e2",
    "\"\"",
    "\" \"",
    "\"a\"",
    "\"A b\"",
    "\"*\"",
    "\"x\"",
    "\"__proto__\"",
    "\"constructor\"",
    "\"..\"",
    "\"../a\"",
    "\"a/../b\"",
    "\"/a\"",
    "\"C:a\"",
    "\"-a\"",
    "\".a\"",
    "\"a.\"",
    "\"a\\nb\"",
    "\"a\\u0000b\"",
    "\"1.0.0\"",
    "\"v1.0.0\"",
    "\"1.0\"",
    "\">=1.6\"",
    "\"feature\"",
    "\"runtime\"",
    "\"reviewer\"",
    "\"none\"",
    "\"skip\"",
    "\"plan:pre\"",
    "\"ship:pre\"",
    "\"undocumented\"",
    "\"x.cjs\"",
    "\"gsd-x\"",
    "[]",
    "[null]",
    "[\"*\"]",
    "[\"a\"]",
    "[\"a\",\"a\"]",
    "[\"*\",\"a\"]",
    "[{}]",
    "{}",
    "{\"a\":1}",
    "{\"kind\":\"none\",\"env\":[]}",
    "{\"skill\":\"a\"}",
    "{\"query\":\"q\"}",
    "{\"inline\":\"x\"}",
    "{\"path\":\"a\"}",
    "{\"__proto__\":1}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for recorded documents in which a few places are something else.
    #[test]
    fn the_schema_agrees_with_the_rules_on_varied_documents(
        case in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.8, select(WORDS))), 1..3),
    ) {
        let (dir_name, mut document) = case.get(&DOCUMENTS).clone();
        for (at, word) in changes {
            let mut found = Vec::new();
            places(&document, "", &mut found);
            let at = at.get(&found).clone();
            match (word, at.rsplit_once('/')) {
                (Some(word), _) => *document.pointer_mut(&at).unwrap() = serde_json::from_str(word).unwrap(),
                (None, Some((parent, key))) => {
                    if let Some(Value::Object(members)) = document.pointer_mut(parent) {
                        members.shift_remove(&key.replace("~1", "/").replace("~0", "~"));
                    }
                }
                (None, None) => {}
            }
        }
        let assessed = assess(&dir_name, document.to_string().as_bytes(), &HostContract::builtin());
        let rules: BTreeSet<RuleId> = assessed.problems.iter().map(|problem| problem.rule).collect();
        let expressible = rules.iter().any(|rule| NOT_IN_SCHEMA.iter().all(|row| row.rule != *rule));
        let accepted = VALIDATOR.is_valid(&document);
        prop_assert!(!rules.is_empty() || accepted, "the schema refuses {document}");
        prop_assert!(!expressible || !accepted, "the schema accepts {document} against {rules:?}");
    }
}

static VALIDATOR: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).unwrap());

static DOCUMENTS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    let parsed = documents().into_iter().map(|(_, dir_name, bytes)| {
        let document = gsdd_core::json::parse_strict(&bytes).ok()?;
        document.is_object().then_some((dir_name, document))
    });
    parsed.flatten().collect()
});

/// Every list of allowed words in a schema.
fn word_lists(schema: &Value, lists: &mut Vec<BTreeSet<String>>) {
    match schema {
        Value::Object(members) => {
            if let Some(words) = members.get("enum").and_then(Value::as_array) {
                lists.push(words.iter().map(Value::to_string).collect());
            }
            members.values().for_each(|member| word_lists(member, lists));
        }
        Value::Array(items) => items.iter().for_each(|item| word_lists(item, lists)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_closed_list_has_the_recorded_words_and_those_of_the_seed() {
    let recorded = include_str!("../../../tests/vectors/manifest/vocabularies.json");
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let mut lists = Vec::new();
    word_lists(&schema(), &mut lists);
    let words = |list: &Value| list.as_array().unwrap().clone();
    for (name, vocabulary) in recorded["vocabularies"].as_object().unwrap() {
        let values = words(&vocabulary["values"]).into_iter().map(|entry| entry["value"].clone());
        let known: BTreeSet<String> =
            values.chain(words(&vocabulary["seed_only"])).map(|value| value.to_string()).collect();
        let or_null: BTreeSet<String> = known.iter().cloned().chain(["null".to_owned()]).collect();
        assert!(lists.iter().any(|list| *list == known || *list == or_null), "{name}: {known:?}");
    }
    for prefix in words(&recorded["reserved_id_prefixes"]) {
        let prefix = prefix.as_str().unwrap();
        assert!(gsdd_core::ids::reserved_prefix(&format!("{prefix}x")).is_some(), "{prefix}");
    }
    for name in words(&recorded["reserved_property_names"]) {
        assert!(gsdd_core::ids::is_reserved_property_name(name.as_str().unwrap()), "{name}");
    }
}

#[test]
fn every_key_of_the_configuration_is_explained() {
    let page = std::fs::read_to_string(repository().join("docs/reference/config.md")).unwrap();
    for key in gsdd_core::user_config::ConfigKey::all() {
        assert!(page.contains(&format!("| `{key}` |")), "{key} is missing");
    }
}
