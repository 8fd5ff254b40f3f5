//! Installed by one, updated by the other, removed by either.

use gsd_tests::{World, put, text_of, write_of};
use serde_json::{Value, json};

use crate::other_side::OtherSide;

const FILE: &str = ".claude/settings.json";

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

/// Version `version` of the capability at its source; its hook refuses with `words`.
fn source(world: &World, version: &str, words: &str) -> String {
    let script = format!("#!/bin/sh\necho {words} >&2\nexit 2\n");
    let bundle = world
        .bundle("acme-lint")
        .with("version", version.into())
        .with("mcpServers", json!({"notes": {"command": "notes-server", "args": [words]}}));
    bundle.with_hook("PreToolUse", "hooks/refuse.sh", &script).spec()
}

fn document(world: &World) -> Value {
    serde_json::from_str(&text_of(world.path("proj").join(FILE))).unwrap()
}

/// Runs what the shared file registers, as a host does; says what was answered.
#[track_caller]
fn guard(world: &World) -> String {
    let hook = world.hook_of(&world.path("proj").join(FILE), "PreToolUse");
    let answer = hook.input(write_of("x")).run();
    answer.stdout + &answer.stderr
}

#[track_caller]
fn listed(world: &World) -> Value {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    let rows = listed["data"].as_array().or_else(|| listed["data"]["capabilities"].as_array()).cloned();
    let row = rows.unwrap_or_default().into_iter().find(|row| row["id"] == "acme-lint");
    row.unwrap_or(Value::Null)
}

#[test]
fn what_they_installed_is_listed_updated_and_removed_by_us() {
    let world = world();
    let they = OtherSide(&world);
    let spec = source(&world, "1.0.0", "first");
    put(world.path("proj").join(FILE), "{\n  \"model\": \"opus\"\n}\n");
    let before = world.tree();
    they.install(&spec, &[FILE]);
    assert!(guard(&world).contains("first"));
    let row = listed(&world);
    assert_eq!((&row["version"], &row["scope"]), (&json!("1.0.0"), &json!("project")), "{row}");
    assert_eq!(row["status"], "active", "their consent counts for us: {row}");

    // A new version at the recorded source; nothing about the wiring is repeated.
    let _ = source(&world, "2.0.0", "second");
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    assert!(guard(&world).contains("second"));
    let groups = document(&world)["hooks"]["PreToolUse"].clone();
    assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
    assert_eq!(groups[0]["_gsdCapability"], "acme-lint", "they have to be able to strip it: {groups}");
    let judged = they.judge("acme-lint");
    assert_eq!(judged["entry"]["version"], "2.0.0", "{judged}");
    assert_eq!(judged["entry"]["sharedEdits"], json!([{"file": FILE, "marker": "acme-lint"}]), "{judged}");
    assert_eq!((&judged["granted"], &judged["keys"]), (&json!(true), &json!(true)), "{judged}");

    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let judged = they.judge("acme-lint");
    assert_eq!((&judged["entry"], &judged["records"]), (&Value::Null, &json!(0)), "{judged}");
    // Empty containers that we have not made may be the person's and stay; so do folders that they have made.
    let empty = json!({"model": "opus", "hooks": {"PreToolUse": []}, "mcpServers": {}});
    assert_eq!(document(&world), empty);
    let but = |tree: gsd_tests::Tree| {
        ["src", "proj/.gsd", "home/.gsd", "proj/.claude"].iter().fold(tree, |tree, path| tree.without(path))
    };
    let difference = but(before).difference(&but(world.tree()));
    assert!(difference.is_empty(), "{difference}");
}

#[test]
fn what_we_installed_is_read_updated_and_removed_by_them() {
    let world = world();
    let they = OtherSide(&world);
    let spec = source(&world, "1.0.0", "first");
    put(world.path("proj").join(FILE), "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n");
    let install = ["install", &spec, "--scope", "project", "--shared-file", FILE, "--yes"];
    world.gsdctl(install).run().succeeds();
    let judged = they.judge("acme-lint");
    assert_eq!(judged["ids"], json!(["acme-lint"]), "{judged}");
    assert_eq!(judged["entry"]["source"], spec.as_str(), "{judged}");
    assert_eq!(judged["entry"]["files"], json!([".gsd/capabilities/acme-lint"]), "{judged}");
    assert_eq!((&judged["granted"], &judged["keys"]), (&json!(true), &json!(true)), "{judged}");

    // They update it: their entries take the place of ours.
    let _ = source(&world, "2.0.0", "second");
    they.install(&spec, &[FILE]);
    let groups = document(&world)["hooks"]["PreToolUse"].clone();
    assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
    assert!(guard(&world).contains("second"));
    let row = listed(&world);
    assert_eq!((&row["version"], &row["status"]), (&json!("2.0.0"), &json!("active")), "{row}");
    // We go on from there.
    let _ = source(&world, "3.0.0", "third");
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    assert!(guard(&world).contains("third"));
    assert_eq!(they.judge("acme-lint")["entry"]["version"], "3.0.0");

    let removed = they.remove("acme-lint");
    assert_eq!(removed["strippedEdits"], 2, "the hook and the server: {removed}");
    assert_eq!(document(&world), json!({"model": "opus"}));
    assert_eq!(listed(&world), Value::Null);
    world.gsdctl(["remove", "acme-lint"]).run().exits(7);
    // What we remember of it is in nobody's way.
    world.gsdctl(install).run().succeeds();
    assert!(guard(&world).contains("third"));
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    assert_eq!(document(&world), json!({"model": "opus"}));
}

#[test]
fn their_rewriting_in_between_disturbs_nothing() {
    let world = world();
    let they = OtherSide(&world);
    let spec = source(&world, "1.0.0", "first");
    let other = world.bundle("acme-other").with_hook("Stop", "stop.js", "process.exit(0)\n").spec();
    put(world.path("proj").join(FILE), "{\"model\":\"opus\"}\n");
    let install = ["install", &spec, "--scope", "project", "--shared-file", FILE, "--yes"];
    world.gsdctl(install).run().succeeds();
    // Members that nobody knows: those of entries survive everybody, those of the envelope only us.
    let ledger = world.path("proj/.gsd-capabilities.json");
    let mut document: Value = serde_json::from_str(&text_of(&ledger)).unwrap();
    document["later"] = 1.into();
    document["entries"]["acme-lint"]["x-note"] = "of a later version".into();
    put(&ledger, document.to_string());
    for round in 0..3 {
        they.install(&other, &[FILE]);
        they.rewrite();
        let version = format!("1.{}.0", round + 1);
        let _ = source(&world, &version, &version);
        world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
        assert!(guard(&world).contains(&version), "round {round}");
        let entry = they.judge("acme-lint")["entry"].clone();
        assert_eq!((&entry["version"], &entry["x-note"]), (&json!(version), &json!("of a later version")));
        assert_eq!(they.judge("acme-other")["granted"], true, "round {round}: ours wrote over theirs");
        let current = world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
        assert!(current.stdout.starts_with("current"), "round {round}: {}", current.stdout);
    }
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let left: Value = serde_json::from_str(&text_of(world.path("proj").join(FILE))).unwrap();
    assert_eq!(left["model"], "opus");
    let stop = &left["hooks"]["Stop"][0];
    assert_eq!(stop["_gsdCapability"], "acme-other", "theirs stays: {left}");
    assert!(left["hooks"].get("PreToolUse").is_none() && left.get("mcpServers").is_none(), "{left}");
    assert_eq!(they.judge("acme-other")["ids"], json!(["acme-other"]));
    they.remove("acme-other");
    let left: Value = serde_json::from_str(&text_of(world.path("proj").join(FILE))).unwrap();
    assert_eq!(left, json!({"model": "opus"}));
}

#[test]
fn content_that_they_change_for_the_person_has_to_be_agreed_to_here() {
    let world = World::new();
    let they = OtherSide(&world);
    let spec = source(&world, "1.0.0", "first");
    let home = they.home();
    they.run("install", &[&home, "-", &spec]);
    // The first look counts as agreed, a later difference does not (D-06).
    assert_eq!(listed(&world)["version"], "1.0.0");
    let _ = source(&world, "2.0.0", "second");
    they.run("install", &[&home, "-", &spec]);
    let row = listed(&world);
    assert_eq!(row["version"], "2.0.0", "{row}");
    let hook = || world.gsdctl(["hook", "PreToolUse", "--host", "claude"]).input(write_of("x")).run();
    assert!(!hook().stdout.contains("second"), "nobody has agreed to it here");
    world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
    assert!(hook().stdout.contains("second"));
    they.run("remove", &[&home, "-", "acme-lint"]);
    assert!(!hook().stdout.contains("second"), "it is not installed any more");
}
