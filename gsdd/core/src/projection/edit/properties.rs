//! The promises of this module over thousands of random files.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// White space and comments as people leave them.
fn trivia(with_comments: bool) -> BoxedStrategy<String> {
    let white = prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("  \n\n    ".to_owned()),
        1 => Just("\t".to_owned()),
    ];
    if !with_comments {
        return white.boxed();
    }
    prop_oneof![
        6 => white,
        1 => Just(" /* note */".to_owned()),
        1 => Just("/* a\n b */ ".to_owned()),
        1 => Just(" // note, {\n".to_owned()),
        1 => Just("// note  \r\n  ".to_owned()),
        1 => Just("\n  // one\n  // two\n".to_owned()),
    ]
    .boxed()
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("1.0".to_owned()),
        Just("12345678901234567890123".to_owned()),
        Just("-0e400".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just(r#""Bash(ls)""#.to_owned()),
        Just(r#""// no comment, \" \ud800 é😀""#.to_owned()),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Habits {
    comments: bool,
    trailing_commas: bool,
}

fn list(parts: Vec<(String, String, String)>, inner: &str, brackets: (char, char), trailing: bool) -> String {
    let mut out = String::from(brackets.0);
    let count = parts.len();
    if count == 0 {
        out.push_str(inner);
    }
    for (index, (before, part, after)) in parts.into_iter().enumerate() {
        out.push_str(&before);
        out.push_str(&part);
        out.push_str(&after);
        if index + 1 < count || trailing {
            out.push(',');
            if index + 1 == count {
                out.push_str(inner);
            }
        }
    }
    out.push(brackets.1);
    out
}

fn value(habits: Habits) -> BoxedStrategy<String> {
    let space = trivia(habits.comments);
    scalar()
        .prop_recursive(3, 16, 4, move |inner| {
            let part = (space.clone(), inner.clone(), space.clone());
            let member = (space.clone(), 0..6_usize, space.clone(), inner, space.clone()).prop_map(
                |(before, key, colon, value, after)| {
                    (before, format!("\"k{key}\"{colon}:{colon}{value}"), after)
                },
            );
            let flags = (space.clone(), any::<bool>());
            prop_oneof![
                (prop::collection::vec(part, 0..4), flags.clone()).prop_map(
                    move |(parts, (empty, comma))| {
                        list(parts, &empty, ('[', ']'), comma && habits.trailing_commas)
                    }
                ),
                (prop::collection::vec(member, 0..4), flags).prop_map(move |(parts, (empty, comma))| {
                    list(parts, &empty, ('{', '}'), comma && habits.trailing_commas)
                }),
            ]
        })
        .boxed()
}

/// A settings file: members of its own, and the containers that we insert into in every state.
fn document(habits: Habits) -> impl Strategy<Value = String> {
    let space = trivia(habits.comments);
    let list_of = {
        let space = space.clone();
        move |item: BoxedStrategy<String>, most: usize| {
            (
                prop::collection::vec((space.clone(), item, space.clone()), 0..most),
                space.clone(),
                any::<bool>(),
            )
                .prop_map(move |(parts, empty, comma)| {
                    list(parts, &empty, ('[', ']'), comma && habits.trailing_commas)
                })
        }
    };
    let object_of = {
        let space = space.clone();
        move |members: BoxedStrategy<Vec<(String, String)>>| {
            (members, prop::collection::vec(space.clone(), 10), any::<bool>()).prop_map(
                move |(members, spaces, comma)| {
                    let parts = members
                        .into_iter()
                        .enumerate()
                        .map(|(index, (key, value))| {
                            let at = |offset: usize| spaces[(index * 3 + offset) % spaces.len()].clone();
                            (at(0), format!("\"{key}\":{}{value}", at(1)), at(2))
                        })
                        .collect();
                    list(parts, &spaces[9], ('{', '}'), comma && habits.trailing_commas)
                },
            )
        }
    };
    let maybe = |key: &'static str, value: BoxedStrategy<String>| {
        prop::option::of(value.prop_map(move |value| (key.to_owned(), value)))
    };
    let own = (0..20_usize, value(habits)).prop_map(|(key, value)| (format!("own{key}"), value));
    let group =
        prop_oneof![Just(r#"{"hooks":[{"type":"command","command":"theirs"}]}"#.to_owned()), value(habits)];
    let events = (maybe("Stop", list_of(group.boxed(), 3).boxed()), maybe("Other", value(habits)))
        .prop_map(|(stop, other)| [other, stop].into_iter().flatten().collect::<Vec<_>>());
    let hooks = object_of(events.boxed());
    let servers =
        object_of(maybe("theirs", value(habits)).prop_map(|one| one.into_iter().collect::<Vec<_>>()).boxed());
    let members = (
        prop::collection::vec(own, 0..4),
        maybe("hooks", hooks.boxed()),
        maybe("mcpServers", servers.boxed()),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut members, hooks, servers, at)| {
            members.extend(hooks);
            let at = at.index(members.len() + 1);
            if let Some(servers) = servers {
                members.insert(at, servers);
            }
            members
        });
    let root = object_of(members.boxed());
    let bom = prop_oneof![4 => Just(""), 1 => Just("\u{feff}")];
    (bom, space.clone(), root, space)
        .prop_map(|(bom, before, root, after)| format!("{bom}{before}{root}{after}"))
}

fn habits() -> impl Strategy<Value = Habits> {
    (any::<bool>(), any::<bool>())
        .prop_map(|(comments, trailing_commas)| Habits { comments, trailing_commas })
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn group(owner: &str, number: usize) -> Value {
    json!({
        "matcher": "Edit",
        "_owner": owner,
        "hooks": [{"type": "command", "command": format!("ours {owner} {number}"), "timeout": 1.5}],
    })
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    StopGroup,
    NewEventGroup,
    Server,
    RootMember,
    DeepItem,
}

fn insert(owner: &str, number: usize, kind: Kind) -> Insert {
    match kind {
        Kind::StopGroup => Insert::Item { container: path(&["hooks", "Stop"]), value: group(owner, number) },
        Kind::NewEventGroup => {
            Insert::Item { container: path(&["hooks", "Fresh"]), value: group(owner, number) }
        }
        Kind::Server => Insert::Member {
            container: path(&["mcpServers"]),
            key: format!("{owner}{number}"),
            value: json!({"command": "é\n\"", "args": [], "env": {}, "n": 12345678901234567890_u64}),
        },
        Kind::RootMember => Insert::Member {
            container: vec![],
            key: format!("{owner}{number}"),
            value: json!([1, {"a": null}]),
        },
        Kind::DeepItem => {
            Insert::Item { container: path(&["a", "b", "c"]), value: json!(format!("ours {owner} {number}")) }
        }
    }
}

fn inserts(owner: &'static str) -> impl Strategy<Value = Vec<Insert>> {
    let kind = prop::sample::select(vec![
        Kind::StopGroup,
        Kind::StopGroup,
        Kind::NewEventGroup,
        Kind::Server,
        Kind::RootMember,
        Kind::DeepItem,
    ]);
    prop::collection::vec(kind, 1..5).prop_map(move |kinds| {
        kinds.into_iter().enumerate().map(|(number, kind)| insert(owner, number, kind)).collect()
    })
}

/// Removes what an owner inserted, handler by handler where it inserted groups.
fn take_away(current: &[u8], dialect: Dialect, owner: &str, undo: &Undo, nested: bool) -> Removal {
    let ours = format!("ours {owner} ");
    let is_command = |handler: &Value| {
        handler.get("command").and_then(Value::as_str).is_some_and(|command| command.starts_with(&ours))
    };
    let is_group = |group: &Value| group.get("_owner").and_then(Value::as_str) == Some(owner);
    let is_text = |item: &Value| item.as_str().is_some_and(|text| text.starts_with(&ours));
    let (stop, fresh) = (path(&["hooks", "Stop"]), path(&["hooks", "Fresh"]));
    let (servers, root, deep) = (path(&["mcpServers"]), path(&[]), path(&["a", "b", "c"]));
    let names: Vec<String> = (0..5).map(|number| format!("{owner}{number}")).collect();
    let mut targets = Vec::new();
    for container in [&stop, &fresh] {
        targets.push(if nested {
            Target::NestedItem { container, inner: "hooks", is_ours: &is_command }
        } else {
            Target::Item { container, is_ours: &is_group }
        });
    }
    for name in &names {
        targets.push(Target::Member { container: &servers, key: name });
        targets.push(Target::Member { container: &root, key: name });
    }
    targets.push(Target::Item { container: &deep, is_ours: &is_text });
    remove_keeping_undo(current, dialect, &targets, undo).unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Settings of a property that runs over `cases` random files.
fn over(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(over(2200))]

    /// Removing what was inserted gives back the bytes from before, whatever they were; in between, the file reads
    /// as before plus ours, in its own dialect.
    #[test]
    fn removal_restores_every_byte(
        (habits, original) in habits().prop_flat_map(|habits| (Just(habits), document(habits))),
        inserts in inserts("x"),
        nested in any::<bool>(),
    ) {
        let dialect = dialect_of(original.as_bytes()).unwrap();
        prop_assert!(dialect == Dialect::StrictJson || habits.comments || habits.trailing_commas);
        match apply(Some(original.as_bytes()), dialect, &inserts) {
            Ok((edited, undo)) => {
                prop_assert_eq!(dialect_of(&edited).unwrap(), dialect);
                prop_assert!(edited.len() > original.len());
                let removal = take_away(&edited, dialect, "x", &undo, nested);
                let left = removal.bytes.unwrap();
                prop_assert_eq!(text(&left), &original, "edited:\n{}", text(&edited));
                prop_assert_eq!(removal.removed, inserts.len());
                prop_assert!(removal.undo.created.is_empty());
            }
            // A member of the random file may stand where we need a container.
            Err(refusal) => prop_assert_ne!(refusal.kind, EditRefusalKind::Internal, "{}", refusal),
        }
    }

}

proptest! {
    #![proptest_config(over(500))]

    /// Two owners come and go in any order; the file ends as it began.
    #[test]
    fn owners_do_not_disturb_each_other(
        original in habits().prop_flat_map(document),
        first in inserts("x"),
        second in inserts("y"),
        in_order in any::<bool>(),
        nested in any::<bool>(),
    ) {
        let dialect = dialect_of(original.as_bytes()).unwrap();
        let Ok((one, mut undo)) = apply(Some(original.as_bytes()), dialect, &first) else { return Ok(()) };
        let Ok((both, later)) = apply(Some(&one), dialect, &second) else { return Ok(()) };
        undo.absorb(later);
        let order = if in_order { ["x", "y"] } else { ["y", "x"] };
        let half = take_away(&both, dialect, order[0], &undo, nested);
        let half_text = half.bytes.unwrap();
        if !in_order {
            prop_assert_eq!(text(&half_text), text(&one));
        }
        let done = take_away(&half_text, dialect, order[1], &half.undo, nested);
        let done = done.bytes.unwrap();
        prop_assert_eq!(text(&done), &original, "both:\n{}", text(&both));
    }

    /// An edit of the person elsewhere in between stays, byte for byte, and ours goes.
    #[test]
    fn edits_in_between_survive(
        original in habits().prop_flat_map(document),
        inserts in inserts("x"),
        at_end in any::<bool>(),
    ) {
        let dialect = dialect_of(original.as_bytes()).unwrap();
        let theirs = Insert::Member { container: vec![], key: "between".to_owned(), value: json!({"a": [true]}) };
        let Ok((edited, undo)) = apply(Some(original.as_bytes()), dialect, &inserts) else { return Ok(()) };
        let (between, expected) = if at_end {
            // The person adds a member behind ours.
            let (between, _) = apply(Some(&edited), dialect, std::slice::from_ref(&theirs)).unwrap();
            (between, None)
        } else {
            // The person adds a line at the very start of the object.
            let add = |bytes: &[u8]| {
                let open = text(bytes).find('{').unwrap();
                let (before, after) = text(bytes).split_at(open + 1);
                format!("{before}\n  \"between\": 1,{after}").into_bytes()
            };
            let has_members = !read(original.as_bytes(), dialect).unwrap().as_object().unwrap().is_empty();
            // A brace in a leading comment would take the line.
            let starts = text(&edited).trim_start_matches(['\u{feff}', ' ', '\t', '\n', '\r']).starts_with('{');
            if !(has_members && starts) {
                return Ok(());
            }
            (add(&edited), Some(add(original.as_bytes())))
        };
        let removal = take_away(&between, dialect, "x", &undo, true);
        let left = removal.bytes.unwrap();
        if let Some(expected) = expected {
            prop_assert_eq!(text(&left), text(&expected));
        }
        let mut value = read(original.as_bytes(), dialect).unwrap();
        let added = if at_end { json!({"a": [true]}) } else { json!(1) };
        value.as_object_mut().unwrap().insert("between".to_owned(), added);
        prop_assert_eq!(read(&left, dialect).unwrap(), value);
    }

    /// A host that rewrites the whole file in between does not keep us from leaving exactly what was there.
    #[test]
    fn a_file_that_the_host_rewrote_loses_only_ours(
        original in habits().prop_flat_map(document),
        inserts in inserts("x"),
        pretty in any::<bool>(),
        nested in any::<bool>(),
    ) {
        let dialect = dialect_of(original.as_bytes()).unwrap();
        let Ok((edited, undo)) = apply(Some(original.as_bytes()), dialect, &inserts) else { return Ok(()) };
        let value = read(&edited, dialect).unwrap();
        let rewritten = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        let left = take_away(&rewritten, Dialect::StrictJson, "x", &undo, nested).bytes.unwrap();
        let canonical = |bytes: &[u8]| crate::trust::canonical_json::canonical(&read(bytes, dialect).unwrap());
        prop_assert_eq!(canonical(&left), canonical(original.as_bytes()));
    }

    /// Files that do not exist or hold nothing come back as they were.
    #[test]
    fn absent_and_blank_files_come_back(
        blank in prop::option::of("(\u{feff})?[ \t\r\n]{0,5}"),
        inserts in inserts("x"),
    ) {
        let original = blank.as_ref().map(String::as_bytes);
        let (edited, undo) = apply(original, Dialect::StrictJson, &inserts).unwrap();
        prop_assert_eq!(undo.file_created, blank.is_none());
        prop_assert_eq!(edited.last(), Some(&b'\n'));
        let stored: Undo = serde_json::from_str(&serde_json::to_string(&undo).unwrap()).unwrap();
        let removal = take_away(&edited, Dialect::StrictJson, "x", &stored, true);
        prop_assert_eq!(removal.bytes.as_deref(), original);
        prop_assert!(removal.undo.is_empty());
    }

    /// Any bytes can be handed in.
    #[test]
    fn arbitrary_bytes_are_answered(
        bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:/* \n\\a1".to_vec()), 0..30),
        inserts in inserts("x"),
    ) {
        for dialect in [Dialect::StrictJson, Dialect::Jsonc] {
            if let Ok((edited, undo)) = apply(Some(&bytes), dialect, &inserts) {
                let removal = take_away(&edited, dialect, "x", &undo, false);
                prop_assert_eq!(removal.bytes.as_deref(), Some(bytes.as_slice()));
            }
        }
    }
}
