//! `ledger list`, `ledger verify`, `reconcile`: what is recorded, whether it is so, and bringing it in order.

use gsd_tests::{World, put, text_of};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

/// `kind path` of each difference, and of each note.
fn verified(world: &World, exit: u8) -> (Vec<String>, Vec<String>) {
    let found = world.gsdctl(["ledger", "verify", "--json"]).run().exits(exit).json();
    let listed = |severity: &str| -> Vec<String> {
        let findings = found["data"]["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["severity"] == severity)
            .map(|finding| {
                let path = finding["path"].as_str().unwrap_or_default();
                format!("{} {}", finding["kind"].as_str().unwrap(), path.rsplit('/').next().unwrap())
            })
            .collect()
    };
    (listed("difference"), listed("note"))
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn what_we_wrote_is_told_apart_from_what_others_edit() {
    let world = world();
    let settings = world.path("home/.claude/settings.json");
    put(&settings, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    assert_eq!(verified(&world, 0), (none(), none()));

    // The person edits their own part.
    let edited = text_of(&settings).replace("\"x\"", "\"y\"");
    put(&settings, &edited);
    assert_eq!(verified(&world, 0), (none(), vec!["edited-by-others settings.json".to_owned()]));

    // Our registration is lost.
    put(&settings, "{\n  // mine\n  \"model\": \"y\"\n}\n");
    let (differences, _) = verified(&world, 11);
    assert_eq!(differences, ["registration-differs settings.json"]);
    world
        .gsdctl(["ledger", "verify"])
        .run()
        .exits(11)
        .prints("+    \"PreToolUse\": [")
        .prints("gsdctl update acme-lint");
    world.gsdctl(["update", "acme-lint"]).run().succeeds();
    assert_eq!(verified(&world, 0), (none(), none()));

    // A skill is changed by hand, another file of it is lost, a script is changed in the bundle.
    put(world.path("home/.claude/skills/gsd-acme-lint/SKILL.md"), "mine\n");
    put(world.path("home/.gsd/capabilities/acme-lint/hooks/refuse.sh"), "#!/bin/sh\necho evil\n");
    std::fs::remove_file(world.path("home/.gsd/capabilities/acme-lint/skills/acme-lint/SKILL.md")).unwrap();
    put(world.path("home/.gsd/capabilities/acme-lint/extra"), "x");
    let (differences, _) = verified(&world, 11);
    assert_eq!(
        differences,
        [
            "content-changed refuse.sh",
            "content-changed SKILL.md",
            "content-changed extra",
            "changed-by-hand ",
        ]
    );
    world.gsdctl(["ledger", "verify"]).run().exits(11).prints("+echo evil");
    drop(bundle);
}

#[test]
fn the_list_says_what_a_person_needs_to_know() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    drop(bundle.with("version", json!("1.1.0")));
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    let listed = world.gsdctl(["ledger", "list", "--json"]).run().succeeds().json();
    let row = &listed["data"][0];
    assert_eq!((&row["id"], &row["entry"]["version"]), (&json!("acme-lint"), &json!("1.1.0")));
    assert_eq!(row["past"][0]["version"], "1.0.0");
    assert!(row["wiredInto"][0].as_str().unwrap().ends_with("home/.claude/settings.json"), "{row}");
    world
        .gsdctl(["ledger", "list"])
        .run()
        .succeeds()
        .prints("acme-lint 1.1.0 (global scope)")
        .prints("rollback  1.0.0");
}

#[test]
fn fr_001_registrations_of_what_is_gone_are_taken_out() {
    let world = world();
    let settings = world.path("home/.claude/settings.json");
    put(&settings, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    let before = text_of(&settings);
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    // Upstream removes bundle and entry, and knows nothing of what we wrote into the host.
    std::fs::remove_dir_all(world.path("home/.gsd/capabilities/acme-lint")).unwrap();
    put(
        world.path("home/.gsd-capabilities.json"),
        "{\n  \"version\": \"1\",\n  \"updatedAt\": \"2026-01-01T00:00:00.000Z\",\n  \"entries\": {}\n}\n",
    );
    assert_eq!(verified(&world, 11).0, ["stale-registration "]);
    let tree = world.tree();
    world
        .gsdctl(["reconcile", "--dry-run"])
        .run()
        .succeeds()
        .prints("would take the registrations of acme-lint out of hosts")
        .prints("-    \"PreToolUse\": [");
    world.is_as(&tree, "only shown");
    let done = world.gsdctl(["reconcile", "--json"]).run().succeeds().json();
    assert_eq!((&done["changed"], &done["data"]["actions"][0]["id"]), (&json!(true), &json!("acme-lint")));
    assert_eq!(text_of(&settings), before);
    assert!(!world.path("home/.claude/skills").exists());
    let again = world.gsdctl(["reconcile", "--json"]).run().succeeds().json();
    assert_eq!(again["changed"], false, "{again}");
    world.gsdctl(["reconcile"]).run().succeeds().prints("everything is in order");
    assert_eq!(verified(&world, 0).0, none());
}

#[test]
fn a_launcher_that_was_deleted_comes_back() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    std::fs::remove_dir_all(world.path("home/.gsd/bin")).unwrap();
    assert_eq!(verified(&world, 11).0, ["launcher-missing gsdctl"]);
    world.gsdctl(["reconcile"]).run().succeeds().prints("gsdctl leads to");
    assert!(world.path("home/.gsd/bin/gsdctl").exists());
    assert_eq!(verified(&world, 0).0, none());
}

#[test]
fn t132_a_forged_intent_in_a_cloned_project_writes_nothing() {
    let world = world();
    let clone = world.path("proj/.gsd/capabilities/acme-evil");
    let evil = gsd_tests::Bundle::at(&clone, "acme-evil").with_refusal();
    let entry = json!({
        "id": "acme-evil", "version": "1.0.0", "source": "./x", "integrity": "",
        "files": [".gsd/capabilities/acme-evil"], "sharedEdits": [],
        "_pending": {"kind": "upgrade", "backupName": null, "sharedFiles": [".claude/settings.local.json"]},
    });
    let ledger =
        json!({"version": "1", "updatedAt": "2026-01-01T00:00:00.000Z", "entries": {"acme-evil": entry}});
    put(world.path("proj/.gsd-capabilities.json"), serde_json::to_vec_pretty(&ledger).unwrap());
    let before = world.tree();
    let done = world.gsdctl(["reconcile", "--json"]).run().succeeds().json();
    assert_eq!(done["data"]["actions"], json!([]));
    assert_eq!(done["data"]["findings"][0]["kind"], "foreign-intent");
    world.is_as(&before, "reconciled");
    // Nor does any other command act on it.
    let other = world.bundle("acme-log").with_skill("acme-log");
    world
        .gsdctl(["install", &other.spec(), "--scope", "project", "--runtime", "claude", "--yes"])
        .run()
        .succeeds();
    assert!(!world.path("proj/.claude/settings.local.json").exists());
    let consents: Value = serde_json::from_str(&text_of(world.path("home/.gsd/consent.json"))).unwrap();
    assert_eq!(consents["records"].as_object().unwrap().len(), 1, "{consents}");
    drop((evil, other));
}
