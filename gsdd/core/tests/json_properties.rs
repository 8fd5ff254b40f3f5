//! The strict reader against an independent one.

use gsdd_core::json::{MAX_DEPTH, locate, parse_lenient, parse_strict};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| json!(f)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Text that is almost JSON.
fn almost() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"", "\\", "\\u00e9", "\\ud83d", "\\ude00", "\\n",
        "1", "-", "0", ".", "e", "+", "9", "true", "false", "null", " ", "\n", "é", "\u{1}", "\u{feff}",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

/// Equal, but for the last digit of a fraction: the other reader rounds it its own way.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= a.abs() * 1e-12
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_survive(document in document(), pretty in any::<bool>()) {
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        prop_assert_eq!(parse_strict(text.as_bytes()).unwrap(), document);
    }

    /// Whatever we accept, the other reader reads the same; whatever it accepts and we refuse has a duplicate key.
    #[test]
    fn verdicts_agree(text in almost()) {
        let other = serde_json::from_str::<Value>(&text);
        match (parse_strict(text.as_bytes()), other) {
            (Ok(ours), Ok(theirs)) => prop_assert!(same(&ours, &theirs), "{ours} {theirs}"),
            (Err(problem), Ok(theirs)) => {
                prop_assert_eq!(problem.rule, "parse.duplicate-key");
                prop_assert!(parse_lenient(text.as_bytes()).is_some_and(|ours| same(&ours, &theirs)));
            }
            (Ok(ours), Err(error)) => prop_assert!(false, "{ours} {error}"),
            (Err(problem), Err(_)) => prop_assert!(problem.line >= 1 && problem.column >= 1),
        }
    }

    /// Every value can be found again.
    #[test]
    fn every_value_has_a_place(document in document()) {
        let text = format!("{document:#}");
        let mut open = vec![(String::new(), &document)];
        while let Some((pointer, value)) = open.pop() {
            let (line, column) = locate(&text, &pointer).unwrap();
            let rest: String =
                text.split('\n').nth(line as usize - 1).unwrap().chars().skip(column as usize - 1).collect();
            let first = value.to_string().chars().next().unwrap();
            prop_assert_eq!(rest.chars().next(), Some(first));
            match value {
                Value::Array(items) => {
                    open.extend(items.iter().enumerate().map(|(i, item)| (format!("{pointer}/{i}"), item)));
                }
                Value::Object(map) => open.extend(map.iter().map(|(key, item)| {
                    (format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), item)
                })),
                _ => {}
            }
        }
    }

    #[test]
    fn depth_decides(depth in 1..120_usize) {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        prop_assert_eq!(parse_strict(text.as_bytes()).is_ok(), depth <= MAX_DEPTH);
    }
}
