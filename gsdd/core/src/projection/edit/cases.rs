//! Files as reported by people, one by one, with the exact text that we make of them.

use serde_json::{Value, json};

use super::*;

fn keys(path: &[&str]) -> Vec<String> {
    path.iter().map(|key| (*key).to_owned()).collect()
}

fn bell() -> Insert {
    Insert::Item {
        container: keys(&["hooks", "Stop"]),
        value: json!({"_mark": "bell", "hooks": [{"type": "command", "command": "ring"}]}),
    }
}

fn rings(handler: &Value) -> bool {
    handler.get("command").and_then(Value::as_str) == Some("ring")
}

fn without_bell(current: &str, undo: &Undo) -> Option<String> {
    let dialect = dialect_of(current.as_bytes()).unwrap();
    let container = keys(&["hooks", "Stop"]);
    let target = Target::NestedItem { container: &container, inner: "hooks", is_ours: &rings };
    let left = remove(current.as_bytes(), dialect, &[target], undo).unwrap();
    left.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[track_caller]
fn check(original: &str, expected: &str) {
    let dialect = dialect_of(original.as_bytes()).unwrap();
    let (edited, undo) = apply(Some(original.as_bytes()), dialect, &[bell()]).unwrap();
    assert_eq!(String::from_utf8(edited).unwrap(), expected);
    assert_eq!(without_bell(expected, &undo).as_deref(), Some(original));
}

#[track_caller]
fn check_refused(original: &str, insert: &Insert, kind: EditRefusalKind, pointer: &str) {
    let refusal = apply(Some(original.as_bytes()), Dialect::Jsonc, std::slice::from_ref(insert)).unwrap_err();
    assert_eq!((refusal.kind, refusal.pointer.as_str()), (kind, pointer), "{refusal}");
}

#[test]
fn fr001_comments_and_trailing_commas_stay() {
    check(
        "{\n  // chosen by the pilot\n  \"model\": \"opus\",\n  \"permissions\": {\"allow\": [\"Bash(ls)\"],},\n}\n",
        r#"{
  // chosen by the pilot
  "model": "opus",
  "permissions": {"allow": ["Bash(ls)"],},
  "hooks": {
    "Stop": [
      {
        "_mark": "bell",
        "hooks": [
          {
            "type": "command",
            "command": "ring"
          }
        ]
      }
    ]
  },
}
"#,
    );
    check(
        "\u{feff}{\n  // keep\n  \"model\": \"opus\",\n}\n",
        "\u{feff}{\n  // keep\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"_mark\": \"bell\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"ring\"\n          }\n        ]\n      }\n    ]\n  },\n}\n",
    );
}

#[test]
fn fr001_a_comment_behind_the_last_value_stays_with_it() {
    let expected = "{\n  \"hooks\": {\n    \"Stop\": [\n      {}, // theirs\n      {\n        \"_mark\": \"bell\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"ring\"\n          }\n        ]\n      }\n    ]\n  }\n}";
    check("{\n  \"hooks\": {\n    \"Stop\": [\n      {} // theirs\n    ]\n  }\n}", expected);
}

#[test]
fn fr007_line_ends_tabs_and_numbers_stay() {
    check(
        "{\r\n\t\"budget\": 12345678901234567890,\r\n\t\"ratio\": 1.0,\r\n\t\"z\": 1, \"a\": 2\r\n}\r\n",
        "{\r\n\t\"budget\": 12345678901234567890,\r\n\t\"ratio\": 1.0,\r\n\t\"z\": 1, \"a\": 2,\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{\r\n\t\t\t\t\"_mark\": \"bell\",\r\n\t\t\t\t\"hooks\": [\r\n\t\t\t\t\t{\r\n\t\t\t\t\t\t\"type\": \"command\",\r\n\t\t\t\t\t\t\"command\": \"ring\"\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n",
    );
}

#[test]
fn fr009_empty_containers_that_existed_stay() {
    check(
        "{\"hooks\":{},\"mcpServers\":{},\"model\":\"opus\"}\n",
        "{\"hooks\":{\"Stop\":[{\"_mark\":\"bell\",\"hooks\":[{\"type\":\"command\",\"command\":\"ring\"}]}]},\"mcpServers\":{},\"model\":\"opus\"}\n",
    );
    for original in
        ["{}", "{ }", "{}\n", "{\n}\n", "{\"hooks\": {\"Stop\": [ ]}}", "{\n  \"hooks\": {\n\n  }\n}\n"]
    {
        let (edited, undo) = apply(Some(original.as_bytes()), Dialect::StrictJson, &[bell()]).unwrap();
        let edited = String::from_utf8(edited).unwrap();
        assert_eq!(without_bell(&edited, &undo).as_deref(), Some(original));
    }
}

#[test]
fn fr009_what_we_created_goes() {
    let (edited, undo) = apply(None, Dialect::StrictJson, &[bell()]).unwrap();
    let edited = String::from_utf8(edited).unwrap();
    assert!(edited.starts_with("{\n  \"hooks\": {\n    \"Stop\": [\n      {\n"), "{edited}");
    assert!(edited.ends_with("}\n"));
    assert_eq!(without_bell(&edited, &undo), None);
    // A comment of the person keeps the file.
    let commented = edited.replacen('{', "{ // mine", 1);
    assert_eq!(without_bell(&commented, &undo).as_deref(), Some("{ // mine\n}\n"));
}

#[test]
fn fr004_a_handler_of_the_person_in_our_group_survives() {
    let (edited, undo) = apply(None, Dialect::StrictJson, &[bell()]).unwrap();
    let mut document = read(&edited, Dialect::StrictJson).unwrap();
    let lint = json!({"type": "command", "command": "harbour-lint"});
    document["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(lint.clone());
    let left = without_bell(&document.to_string(), &undo).unwrap();
    let left = read(left.as_bytes(), Dialect::StrictJson).unwrap();
    assert_eq!(left, json!({"hooks": {"Stop": [{"_mark": "bell", "hooks": [lint]}]}}));
}

#[test]
fn fr004_a_group_that_the_person_extended_stays() {
    let (edited, undo) = apply(None, Dialect::StrictJson, &[bell()]).unwrap();
    let mut document = read(&edited, Dialect::StrictJson).unwrap();
    document["hooks"]["Stop"][0]["note"] = json!("mine");
    let left = without_bell(&document.to_string(), &undo).unwrap();
    let left = read(left.as_bytes(), Dialect::StrictJson).unwrap();
    assert_eq!(left, json!({"hooks": {"Stop": [{"_mark": "bell", "hooks": [], "note": "mine"}]}}));
}

#[test]
fn fr005_a_lost_marker_does_not_keep_the_group() {
    let (edited, undo) = apply(None, Dialect::StrictJson, &[bell()]).unwrap();
    let mut document = read(&edited, Dialect::StrictJson).unwrap();
    document["hooks"]["Stop"][0].as_object_mut().unwrap().shift_remove("_mark");
    assert_eq!(without_bell(&document.to_string(), &undo), None);
}

#[test]
fn fr010_containers_of_another_shape_are_refused() {
    let shape = EditRefusalKind::WrongShape;
    check_refused("{\"hooks\":{\"Stop\":{\"note\":1}}}", &bell(), shape, "/hooks/Stop");
    check_refused("{\"hooks\":[]}", &bell(), shape, "/hooks");
    check_refused("{\"hooks\":null}", &bell(), shape, "/hooks");
    check_refused("[]", &bell(), shape, "");
    let server =
        Insert::Member { container: keys(&["mcpServers"]), key: "tides".to_owned(), value: Value::Null };
    check_refused("{\"mcpServers\":[]}", &server, shape, "/mcpServers");
}

#[test]
fn fr011_a_taken_name_is_refused() {
    let server =
        Insert::Member { container: keys(&["mcpServers"]), key: "tides".to_owned(), value: json!({}) };
    let original = "{\"mcpServers\":{\n\"tides\":{\"command\":\"my-own-tides\"}}}";
    check_refused(original, &server, EditRefusalKind::KeyTaken, "/mcpServers/tides");
    let refusal = apply(Some(original.as_bytes()), Dialect::StrictJson, &[server]).unwrap_err();
    assert_eq!((refusal.line, refusal.column), (2, 1));
}

#[test]
fn duplicate_keys_on_the_way_are_refused_and_elsewhere_kept() {
    check_refused("{\"hooks\":{},\"hooks\":{}}", &bell(), EditRefusalKind::DuplicateKey, "/hooks");
    let target = keys(&["hooks", "Stop"]);
    let target = Target::Item { container: &target, is_ours: &|_| true };
    let twice = b"{\"hooks\":{\"Stop\":[1]},\"hooks\":{}}";
    let refusal = remove(twice, Dialect::StrictJson, &[target], &Undo::default()).unwrap_err();
    assert_eq!(refusal.kind, EditRefusalKind::DuplicateKey);
    let original = "{\"a\":1,\"a\":2}";
    let (edited, undo) = apply(Some(original.as_bytes()), Dialect::StrictJson, &[bell()]).unwrap();
    let edited = String::from_utf8(edited).unwrap();
    assert!(edited.starts_with("{\"a\":1,\"a\":2,\"hooks\":"), "{edited}");
    assert_eq!(without_bell(&edited, &undo).as_deref(), Some(original));
}

#[test]
fn removal_never_swallows_text_into_a_comment() {
    let current = "{\"a\": [1, // one\n \"ours\" ], \"b\": 2}";
    let container = keys(&["a"]);
    let target = Target::Item { container: &container, is_ours: &|item| item == "ours" };
    let left = remove(current.as_bytes(), Dialect::Jsonc, &[target], &Undo::default()).unwrap().unwrap();
    assert_eq!(String::from_utf8(left.clone()).unwrap(), "{\"a\": [1 // one\n  ], \"b\": 2}");
    assert_eq!(read(&left, Dialect::Jsonc).unwrap(), json!({"a": [1], "b": 2}));
}

#[test]
fn nothing_of_ours_changes_nothing() {
    for current in ["", " \n", "{}", "{\"hooks\":5}", " { \"hooks\" : {\"Stop\":[{\"hooks\":[]},7]} } "] {
        assert_eq!(without_bell(current, &Undo::default()).as_deref(), Some(current));
    }
}
