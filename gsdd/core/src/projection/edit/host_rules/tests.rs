use serde_json::json;

use super::*;

fn rules() -> HookFileRules {
    serde_json::from_value(json!({
        "events": ["Before", "After"],
        "handlerTypes": [{"name": "command", "required": ["command"]}, {"name": "http", "required": ["url"]}],
        "words": [{"member": "shell", "words": ["bash", "powershell"]}],
        "typed": [
            {"path": ["env"], "is": "text-object"},
            {"path": ["permissions", "allow"], "is": "text-list"},
        ],
    }))
    .unwrap()
}

#[track_caller]
fn check(document: &Value, expected: &[(&str, HostEffect)]) {
    let found = judge(document, &rules());
    let found: Vec<_> = found.iter().map(|problem| (problem.pointer.as_str(), problem.effect)).collect();
    assert_eq!(found, expected, "{document}");
}

fn with_handler(handler: &Value) -> Value {
    json!({"hooks": {"Before": [{"hooks": [handler]}]}})
}

#[test]
fn a_sound_file_has_no_problems() {
    check(&json!({}), &[]);
    check(
        &json!({
            "env": {"A": "b"}, "permissions": {"allow": ["x"], "deny": 5}, "other": null,
            "hooks": {"Before": [{"matcher": "", "_mark": 1, "hooks": [
                {"type": "command", "command": "x", "timeout": 0.5, "shell": "bash", "extra": {}},
                {"type": "http", "url": "u"},
            ]}], "After": []},
        }),
        &[],
    );
}

#[test]
fn one_malformed_entry_drops_the_file() {
    let drops = |pointer: &'static str| [(pointer, HostEffect::DropsFile)];
    let handler = "/hooks/Before/0/hooks/0";
    check(&json!([]), &drops(""));
    check(&json!({"env": {"A": 1}}), &drops("/env"));
    check(&json!({"permissions": {"allow": "x"}}), &drops("/permissions/allow"));
    check(&json!({"hooks": []}), &drops("/hooks"));
    check(&json!({"hooks": {"Before": {}}}), &drops("/hooks/Before"));
    check(&json!({"hooks": {"Before": [{"type": "command", "command": "x"}]}}), &drops("/hooks/Before/0"));
    check(&json!({"hooks": {"Before": [{"matcher": "x"}]}}), &drops("/hooks/Before/0"));
    for matcher in [json!(null), json!(1), json!([])] {
        check(
            &json!({"hooks": {"Before": [{"matcher": matcher, "hooks": []}]}}),
            &drops("/hooks/Before/0/matcher"),
        );
    }
    for timeout in [json!(0), json!(-1), json!("5"), json!(null)] {
        let document = with_handler(&json!({"type": "command", "command": "x", "timeout": timeout}));
        check(&document, &drops("/hooks/Before/0/hooks/0/timeout"));
    }
    check(&with_handler(&json!({"type": "command"})), &drops(handler));
    check(
        &with_handler(&json!({"type": "command", "command": 5})),
        &drops("/hooks/Before/0/hooks/0/command"),
    );
    check(&with_handler(&json!({"type": "later"})), &drops("/hooks/Before/0/hooks/0/type"));
    check(&with_handler(&json!({"command": "x"})), &drops(handler));
    check(
        &with_handler(&json!({"type": "command", "command": "x", "shell": "fish"})),
        &drops("/hooks/Before/0/hooks/0/shell"),
    );
}

#[test]
fn an_unknown_event_costs_itself_only() {
    check(&json!({"hooks": {"AfterHighTide": 5}}), &[("/hooks/AfterHighTide", HostEffect::IgnoresEntry)]);
}

#[test]
fn a_strict_host_takes_known_members_only() {
    let rules: HookFileRules = serde_json::from_value(json!({
        "topLevel": ["hooks", "version"],
        "fixed": [{"path": ["version"], "values": [1]}],
        "grouped": false,
        "handlerMembers": ["command", "timeout"],
        "malformedEntry": "drops-section",
        "malformedTable": "refuses-to-start",
    }))
    .unwrap();
    let document = json!({
        "version": 2, "_mark": 1,
        "hooks": {"Before": [{"command": "x", "_mark": 1}], "After": 5},
    });
    let found: Vec<_> =
        judge(&document, &rules).into_iter().map(|problem| (problem.pointer, problem.effect)).collect();
    assert_eq!(
        found,
        [
            ("/_mark".to_owned(), HostEffect::RefusesToStart),
            ("/version".to_owned(), HostEffect::RefusesToStart),
            ("/hooks/Before/0/_mark".to_owned(), HostEffect::DropsSection),
            ("/hooks/After".to_owned(), HostEffect::RefusesToStart),
        ]
    );
}

#[test]
fn text_is_judged_by_the_habits_of_the_host() {
    let strict = HostTextRules::default();
    let lenient = HostTextRules { comments: true, trailing_commas: true, ..strict };
    let count = |text: &str, rules: &HostTextRules| judge_text(text.as_bytes(), rules).len();
    for text in ["{}", "\u{feff}{\"a\": [1]}"] {
        assert_eq!(count(text, &strict), 0, "{text}");
    }
    for text in ["{} // c", "{\"a\": [1,]}", "", "{", "\u{feff}"] {
        assert_eq!(count(text, &strict), 1, "{text}");
    }
    assert_eq!(count("{\"a\": [1,]} // c", &strict), 2);
    assert_eq!(count("{\"a\": [1,]} // c", &lenient), 0);
    assert_eq!(count("\u{feff}{}", &HostTextRules { byte_order_mark: false, ..strict }), 1);
}
