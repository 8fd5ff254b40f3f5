//! Entries in files of the person: same meaning as upstream, other bytes (ours are the person's).

use std::collections::BTreeMap;

use gsdd_core::bundle::RelPath;
use gsdd_core::projection::edit::marked::{
    HOOKS, SERVERS, is_marked, is_writable_hook, marked_hook, marked_server,
};
use gsdd_core::projection::edit::{
    Dialect, EditRefusal, Insert, Removal, Target, Undo, apply, dialect_of, read, remove_keeping_undo,
};
use gsdd_core::text::always_shell_quoted;
use serde_json::{Value, json};

use super::{Suite, run};

type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn shared_file_splice() -> Suite {
    let text = include_str!("../../../../tests/vectors/lifecycle/shared-file-splice.json");
    run("shared-file-splice.json", text, |_, case| {
        let expected = format!("install same, {} stripped, removal same", case["stripped"]);
        Some((expected, outcome(case)))
    })
}

fn outcome(case: &Value) -> String {
    let root = format!("/scope/{}", case["root_name"].as_str().unwrap());
    let id = case["cap_id"].as_str().unwrap();
    let mut files: Files = case["before"]
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.as_bytes().to_vec())))
        .collect();
    let before = files.clone();
    let shared: Vec<&str> = case["shared_files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .filter(|path| RelPath::parse(path).is_ok())
        .collect();
    let mut undos: BTreeMap<String, Undo> = BTreeMap::new();
    let mut installs =
        vec![(id, &case["manifest"]); usize::try_from(case["apply_times"].as_u64().unwrap_or(1)).unwrap()];
    if let Value::Object(second) = &case["second"] {
        installs.push((second["cap_id"].as_str().unwrap(), &second["manifest"]));
    }
    for (id, manifest) in installs {
        let inserts = inserts(manifest, id, &root);
        for path in shared.iter().filter(|_| !inserts.is_empty()) {
            let current = files.get(*path).map(Vec::as_slice);
            let dialect = current.map_or(Dialect::StrictJson, |text| dialect_of(text).unwrap());
            match apply(current, dialect, &inserts) {
                Ok((edited, undo)) => {
                    files.insert((*path).to_owned(), edited);
                    undos.entry((*path).to_owned()).or_default().absorb(undo);
                }
                Err(refusal) => return format!("refused {}", refusal.kind.name()),
            }
        }
    }
    let install = compare(&files, &case["after_install"], &root);
    edit_as_person(&mut files, &case["user_edit"]);
    let mut stripped = 0;
    for path in &shared {
        let Some(current) = files.get(*path).cloned() else { continue };
        let undo = undos.get(*path).cloned().unwrap_or_default();
        let removal = strip_marked(&current, dialect_of(&current).unwrap(), id, &undo).unwrap();
        stripped += removal.removed;
        match removal.bytes {
            Some(left) => files.insert((*path).to_owned(), left),
            None => files.remove(*path),
        };
    }
    if case["user_edit"].is_null() && case["second"].is_null() {
        assert_eq!(files, before, "{}: removal restores every byte", case["id"]);
    }
    format!(
        "install {install}, {stripped} stripped, removal {}",
        compare(&files, &case["after_removal"], &root)
    )
}

/// What upstream would insert, in its order.
fn inserts(manifest: &Value, id: &str, root: &str) -> Vec<Insert> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let hooks = manifest["hooks"].as_array().into_iter().flatten();
    let mut inserts: Vec<Insert> = hooks
        .filter(|hook| is_writable_hook(&text(hook, "event"), &text(hook, "script")))
        .map(|hook| {
            let path = format!("{root}/.gsd/capabilities/{id}/{}", text(hook, "script"));
            marked_hook(id, &text(hook, "event"), &upstream_command(&path), hook["matcher"].as_str())
        })
        .collect();
    match &manifest["mcpServers"] {
        Value::Object(servers) => {
            inserts.extend(servers.iter().map(|(name, config)| marked_server(id, name, config)));
        }
        Value::Array(servers) => inserts.extend(servers.iter().map(|server| {
            let config = server.get("config").unwrap_or(server);
            marked_server(id, server["name"].as_str().unwrap(), config)
        })),
        _ => {}
    }
    inserts
}

fn compare(files: &Files, expected: &Value, root: &str) -> &'static str {
    let mut verdict = "same";
    for (path, text) in expected.as_object().unwrap() {
        match (files.get(path), text.as_str()) {
            (None, None) => {}
            (None, Some(_)) => verdict = "absent",
            (Some(ours), Some(text)) => {
                let quoted = |text: &str| json!(text).to_string().trim_matches('"').to_owned();
                let text = text
                    .replace("{{ROOT_SQ}}", &quoted(&root.replace('\'', r"'\''")))
                    .replace("{{ROOT}}", &quoted(root));
                let ours = read(ours, dialect_of(ours).unwrap()).unwrap();
                if canonical(&ours) != canonical(&serde_json::from_str(&text).unwrap()) {
                    verdict = "other";
                }
            }
            (Some(_), None) => verdict = "other",
        }
    }
    verdict
}

fn canonical(value: &Value) -> String {
    gsdd_core::trust::canonical_json::canonical(value)
}

fn edit_as_person(files: &mut Files, edit: &Value) {
    let Some(operation) = edit["op"].as_str() else { return };
    for text in files.values_mut() {
        let mut document: Value = serde_json::from_slice(text).unwrap();
        let entries = document["hooks"][edit["event"].as_str().unwrap()].as_array_mut().unwrap();
        if operation == "add-user-hook" {
            entries.insert(0, json!({"hooks": [{"type": "command", "command": edit["command"]}]}));
        } else {
            let index = usize::try_from(edit["index"].as_u64().unwrap()).unwrap();
            entries[index].as_object_mut().unwrap().shift_remove("_gsdCapability");
        }
        *text = serde_json::to_vec_pretty(&document).unwrap();
    }
}

/// The command line that upstream writes for a script: its path in quotes, behind `node` for JavaScript.
fn upstream_command(script_path: &str) -> String {
    let is_javascript = [".js", ".cjs", ".mjs"].iter().any(|extension| script_path.ends_with(extension));
    let quoted = always_shell_quoted(script_path);
    if is_javascript { format!("node {quoted}") } else { quoted }
}

/// Removes every marked entry of `id`, whoever wrote it.
fn strip_marked(current: &[u8], dialect: Dialect, id: &str, undo: &Undo) -> Result<Removal, EditRefusal> {
    let document = read(current, dialect)?;
    let table = |key: &str| document.get(key).and_then(Value::as_object).into_iter().flatten();
    let events: Vec<Vec<String>> =
        table(HOOKS).map(|(event, _)| vec![HOOKS.to_owned(), event.clone()]).collect();
    let is_ours = |entry: &Value| is_marked(entry, id);
    let servers_table = [SERVERS.to_owned()];
    let mut targets: Vec<Target<'_>> =
        events.iter().map(|container| Target::Item { container, is_ours: &is_ours }).collect();
    let servers = table(SERVERS).filter(|(_, config)| is_marked(config, id));
    targets.extend(servers.map(|(key, _)| Target::Member { container: &servers_table, key }));
    remove_keeping_undo(current, dialect, &targets, undo)
}
