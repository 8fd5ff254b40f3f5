//! Every state of `tests/vectors/lifecycle/reconcile.json` through the programs: what upstream left half done in a home,
//! and what one reconciliation makes of it.
//!
//! A case passes, or is listed in `docs/deviations.md` with exactly our value, or fails the test. Empty folders, and a
//! ledger without entries against none, say the same to both implementations and are not told apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gsd_tests::{World, put, text_of};
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../vectors/lifecycle/reconcile.json");
const DEVIATIONS: &str = include_str!("../../docs/deviations.md");
const LEDGER: &str = ".gsd-capabilities.json";

fn deviations() -> BTreeMap<String, String> {
    DEVIATIONS
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split(" | ").collect();
            let [case, "reconcile.json", _why, ours] = cells.as_slice() else { return None };
            Some((case.trim().to_owned(), ours.trim().trim_matches('`').to_owned()))
        })
        .collect()
}

/// Every file below the root that is not settings, ledger or ours.
fn files(root: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, root, out);
            } else {
                out.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    let ours = [".local/", ".gsd/bin/", "settings.json"];
    found.retain(|path| path != LEDGER && !ours.iter().any(|prefix| path.starts_with(prefix)));
    found.sort();
    found
}

/// The bundle that a list of files stands for: the manifest names the script that lies beside it.
fn write_bundle(folder: &Path, files: &[String], version: &str) {
    let scripts: Vec<&String> = files.iter().filter(|file| file.ends_with(".js")).collect();
    let hooks: Vec<Value> = scripts.iter().map(|script| json!({"event": "Stop", "script": script})).collect();
    let _bundle =
        gsd_tests::Bundle::at(folder, "demo-cap").with("version", json!(version)).with("hooks", json!(hooks));
    for script in scripts {
        put(folder.join(script), format!("// {script}\n"));
    }
}

fn plant(root: &Path, case: &Value) {
    let before = &case["before"];
    let mut bundles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in before["tree"].as_array().unwrap().iter().filter_map(Value::as_str) {
        match path.rsplit_once('/') {
            Some((folder, file)) if folder.starts_with(".gsd/capabilities") => {
                bundles.entry(folder.to_owned()).or_default().push(file.to_owned());
            }
            _ => put(root.join(path), ""),
        }
    }
    for (folder, files) in &bundles {
        let is_live = folder == ".gsd/capabilities/demo-cap";
        let version = before["live_version"].as_str().filter(|_| is_live).unwrap_or("1.0.0");
        write_bundle(&root.join(folder), files, version);
    }
    match &before["ledger"] {
        Value::Null => {}
        Value::String(text) => put(root.join(LEDGER), text),
        ledger => {
            let mut ledger = ledger.clone();
            ledger["updatedAt"] = json!("2026-01-01T00:00:00.000Z");
            put(root.join(LEDGER), serde_json::to_string_pretty(&ledger).unwrap());
        }
    }
    if let Some(settings) = before["settings"].as_str() {
        put(root.join("settings.json"), settings);
    }
    let title = case["title"].as_str().unwrap();
    let aged = |path: &str, minutes: u64| {
        let then = SystemTime::now() - Duration::from_secs(minutes * 60);
        std::fs::File::open(root.join(path)).unwrap().set_modified(then).unwrap();
    };
    if title.contains("older than 10 min") {
        aged(".gsd/capabilities/.staging/demo-cap-1-2", 11);
    }
    if title.contains("older than 5 min") {
        aged(".gsd-capabilities.json.tmp.1-aa", 6);
    }
}

/// One line that says everything about a state and what was reported.
fn line(state: &Value, report: &Value, root: &str) -> String {
    let list = |value: &Value| -> String {
        let mut items: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        items.sort_unstable();
        items.join(",")
    };
    let ledger = match &state["ledger"] {
        Value::String(text) => text.clone(),
        ledger => {
            let entries = ledger["entries"].as_object().into_iter().flatten();
            let entries = entries.map(|(id, entry)| {
                let pending = if entry.get("_pending").is_some() { ":pending" } else { "" };
                format!("{id}:{}{pending}", entry["version"].as_str().unwrap())
            });
            entries.collect::<Vec<_>>().join(",")
        }
    };
    let settings = state["settings"].as_str().map_or("none".to_owned(), |text| {
        let value: Value = serde_json::from_str(&text.replace("{{ROOT}}", root)).unwrap();
        value.to_string().replace(root, "{{ROOT}}")
    });
    let missing = report["ledger_orphans"].as_array().into_iter().flatten();
    let missing: Vec<&str> = missing.filter_map(|row| row["id"].as_str()).collect();
    format!(
        "back={} forward={} swept={} missing={} warnings={} live={} tree={} ledger={ledger} settings={settings}",
        list(&report["rolled_back"]),
        list(&report["rolled_forward"]),
        list(&report["orphans_removed"]),
        missing.join(","),
        report["warnings"],
        state["live_version"].as_str().unwrap_or("none"),
        list(&state["tree"]),
    )
}

fn state_of(root: &Path) -> Value {
    let read = |path: &str| root.join(path).exists().then(|| text_of(root.join(path)));
    let live = read(".gsd/capabilities/demo-cap/capability.json");
    let live: Option<Value> = live.map(|text| serde_json::from_str(&text).unwrap());
    let ledger = read(LEDGER).map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
    json!({
        "tree": files(root),
        "live_version": live.map(|manifest| manifest["version"].clone()),
        "settings": read("settings.json"),
        "ledger": ledger,
    })
}

fn report_of(answer: &Value) -> Value {
    if answer["ok"] == false {
        assert_eq!(answer["error"]["code"], "ledger.corrupt", "{answer}");
        return json!({"rolled_back": [], "rolled_forward": [], "orphans_removed": [], "warnings": 1});
    }
    let actions = || answer["data"]["actions"].as_array().unwrap().iter();
    let name = |action: &Value| action["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let swept: Vec<String> = actions().filter(|action| action["kind"] == "swept").map(name).collect();
    let (backups, others): (Vec<String>, Vec<String>) =
        swept.into_iter().partition(|name| name.contains(".upgrading-"));
    let back = actions().filter(|action| action["kind"].as_str().unwrap().ends_with("-taken-back"));
    let missing = answer["data"]["findings"].as_array().unwrap().iter();
    json!({
        "rolled_back": back.map(|action| action["id"].clone()).collect::<Vec<_>>(),
        "rolled_forward": backups.iter().map(|name| name.split('.').next().unwrap()).collect::<Vec<_>>(),
        "orphans_removed": others,
        "warnings": answer["warnings"].as_array().unwrap().len(),
        "ledger_orphans": missing.filter(|it| it["kind"] == "bundle-missing").collect::<Vec<_>>(),
    })
}

#[test]
fn every_state_that_upstream_leaves_is_settled() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let mut listed = deviations();
    let (mut passed, mut deviating, mut failures) = (0, 0, Vec::new());
    for case in vectors["vectors"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let world = World::new();
        let root = world.home();
        let root_text = root.to_string_lossy().into_owned();
        // A start settles such states by itself; here the command is to be seen doing it.
        let _ = world.gsdctl(["reconcile"]).run().succeeds();
        plant(&root, case);
        let run = world.gsdctl(["reconcile", "--scope", "global", "--json"]).run();
        let answer = run.json();
        let ours = line(&state_of(&root), &report_of(&answer), &root_text);
        let mut after = case["after"].clone();
        let empty = |path: &Value| path.as_str().is_some_and(|path| path.ends_with('/'));
        after["tree"].as_array_mut().unwrap().retain(|path| !empty(path));
        let expected = line(&after, &case["report"], &root_text);
        let on_purpose = listed.remove(id);
        if expected == ours && on_purpose.is_none() {
            passed += 1;
        } else if expected != ours && on_purpose.as_deref() == Some(&ours) {
            deviating += 1;
        } else {
            failures.push(format!("{id}: expected `{expected}`\n  listed {on_purpose:?}\n  ours `{ours}`"));
        }
        let before = world.tree();
        let _ = world.gsdctl(["reconcile", "--scope", "global", "--json"]).run();
        world.is_as(&before, &format!("{id}: a second time"));
    }
    println!("reconcile.json: {passed} passed, {deviating} deviating, {} failed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(listed.is_empty(), "deviations of cases that do not exist: {listed:?}");
}
