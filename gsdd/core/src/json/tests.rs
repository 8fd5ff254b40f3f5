use super::*;

#[track_caller]
fn check(text: &str, expected: Result<&str, (&str, u32, u32, &str)>) {
    let found = parse_strict(text.as_bytes());
    match (&found, expected) {
        (Ok(value), Ok(wanted)) => assert_eq!(value.to_string(), wanted),
        (Err(p), Err(wanted)) => assert_eq!((p.rule, p.line, p.column, p.pointer.as_str()), wanted, "{p:?}"),
        _ => panic!("{text:?}: {found:?}"),
    }
}

#[test]
fn plain_documents_pass() {
    check(
        r#" {"a":[1,-2,3.5,1e2,true,null,"é\n\u00e9\ud83d\ude00"]} "#,
        Ok("{\"a\":[1,-2,3.5,100.0,true,null,\"é\\né😀\"]}"),
    );
    check("0", Ok("0"));
    check("18446744073709551615", Ok("18446744073709551615"));
    check("[]", Ok("[]"));
}

#[test]
fn t50_t51_t52_everything_else_names_its_place() {
    check("", Err(("parse.json", 1, 1, "")));
    check("\u{feff}{}", Err(("parse.json", 1, 1, "")));
    check("{\n \"a\": 1,\n \"a\": 2}", Err(("parse.duplicate-key", 3, 2, "/a")));
    check(r#"{"a":{"b/c":[1,}]}}"#, Err(("parse.json", 1, 16, "/a/b~1c/1")));
    for bad in [
        "{,}",
        "[1,]",
        "01",
        "1.",
        "-",
        "+1",
        ".5",
        "1e",
        "NaN",
        "1e999",
        "-1e999",
        "'a'",
        "{a:1}",
        "[1 2]",
        "nul",
        "\"\u{1}\"",
        r#""\x""#,
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\u0041""#,
        r#""\u12g4""#,
        "1 2",
        "/*x*/1",
        "\"a",
        "{\"a\"",
        "{\"a\":",
        "[",
        "tru\u{e9}",
    ] {
        assert_eq!(parse_strict(bad.as_bytes()).unwrap_err().rule, "parse.json", "{bad}");
        assert_eq!(parse_lenient(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(parse_strict(b"\"a\xff\"").unwrap_err().column, 3);
}

#[test]
fn t49_depth_has_a_bound() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse_strict(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(parse_strict(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    assert!(parse_lenient("[".repeat(1_000_000).as_bytes()).is_none());
}

#[test]
fn the_number_of_values_has_a_bound() {
    let list = |n: usize| format!("[{}0]", "0,".repeat(n));
    assert!(parse_strict(list(100_000).as_bytes()).is_ok());
    assert!(parse_strict(list(MAX_VALUES).as_bytes()).is_err());
    assert!(parse_lenient(list(MAX_VALUES).as_bytes()).is_some());
}

#[test]
fn lenient_reading_takes_the_last_duplicate() {
    assert_eq!(parse_lenient(br#"{"a":1,"b":2,"a":3}"#).unwrap().to_string(), r#"{"a":3,"b":2}"#);
}

#[test]
fn values_are_found_in_the_text() {
    let text = "{\n  \"é\": [1, {\"a/b\": true}],\n  \"x\": 2\n}";
    assert_eq!(locate(text, ""), Some((1, 1)));
    assert_eq!(locate(text, "/é/1/a~1b"), Some((2, 20)));
    assert_eq!(locate(text, "/x"), Some((3, 8)));
    assert_eq!(locate(text, "/y"), None);
    assert_eq!(locate_all(text, &["/x", "/é/0"]), [Some((3, 8)), Some((2, 9))]);
}
