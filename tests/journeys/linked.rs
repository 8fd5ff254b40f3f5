//! Linked folders: what their author saves is what runs, and what can't run changes nothing.

use std::path::PathBuf;

use gsd_tests::{Bundle, World, link, put, text_of, wait_for, write_of};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

fn linked(world: &World, bundle: &Bundle) {
    world
        .gsdctl(["install", &bundle.spec(), "--link", "--runtime", "claude", "--yes"])
        .run()
        .succeeds()
        .says("LINKED: every later change in")
        .says("runs without another question");
}

fn settings(world: &World) -> PathBuf {
    world.path("home/.claude/settings.json")
}

/// What a write is answered.
fn objection(world: &World) -> String {
    let answer = world.hook_of(&settings(world), "PreToolUse").input(write_of("a.txt")).run();
    format!("{}{}", answer.stdout, answer.stderr)
}

fn row(world: &World, id: &str) -> Value {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    listed["data"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned().unwrap_or_default()
}

fn refusal(words: &str) -> String {
    format!("#!/bin/sh\necho {words} >&2\nexit 2\n")
}

fn contents(world: &World) -> usize {
    let listed = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let homes = listed(world.path("home/.local/share/gsd"));
    homes.flat_map(|home| listed(home.path().join("objects"))).count()
}

#[test]
fn what_is_saved_is_what_runs_and_nothing_is_left_of_it() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    put(settings(&world), "{\n  \"model\": \"opus\"\n}\n");
    let _ = world.start_daemon();
    let before = world.tree();
    linked(&world, &bundle);
    assert!(objection(&world).contains("acme-lint refuses"));
    assert_eq!(row(&world, "acme-lint")["linked"], json!(bundle.spec()));
    world.gsdctl(["list"]).run().succeeds().prints(&format!("(linked: {})", bundle.spec()));
    world.gsdctl(["consent", "list"]).run().succeeds().prints(&format!("(linked: {})", bundle.spec()));
    world.gsdctl(["ledger", "list"]).run().succeeds().prints(&format!("  linked    {}", bundle.spec()));
    let original = text_of(bundle.path("hooks/refuse.sh"));

    for round in 0..8 {
        put(bundle.path("hooks/refuse.sh"), refusal(&format!("round {round} says no")));
        assert!(objection(&world).contains(&format!("round {round} says no")), "round {round}");
    }
    assert!(contents(&world) <= 2, "saved contents pile up");
    let past = world.gsdctl(["ledger", "list", "--json"]).run().succeeds().json();
    assert_eq!(past["data"][0]["past"], json!([]), "saving is no release");

    // A new surface reaches the host without anybody asking.
    put(bundle.path("hooks/refuse.sh"), &original);
    let bundle = bundle.with_skill("acme-lint");
    let skill = world.path("home/.claude/skills/gsd-acme-lint/SKILL.md");
    wait_for("the skill in the host's folder", || skill.exists());
    put(bundle.path("skills/acme-lint/SKILL.md"), "---\nname: a\ndescription: b\n---\nOtherwise.\n");
    wait_for("the new text of the skill", || text_of(&skill).contains("Otherwise."));
    assert_eq!(row(&world, "acme-lint")["status"], "active");
    world.gsdctl(["ledger", "verify"]).run().succeeds();
    world.gsdctl(["update", "acme-lint"]).run().succeeds().prints("current");
    assert_eq!(row(&world, "acme-lint")["linked"], json!(bundle.spec()), "an update keeps the link");

    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    drop(Bundle::at(&bundle.path(""), "acme-lint").with_refusal());
    world.gsdctl(["list"]).run().succeeds();
    world.is_as(&before, "removed");
    assert_eq!(contents(&world), 0);
}

#[test]
fn what_does_not_pass_changes_nothing_until_it_is_repaired() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    linked(&world, &bundle);
    let manifest = text_of(bundle.path("capability.json"));
    let active = world.tree();
    let still = |what: &str, why: &str| {
        assert!(objection(&world).contains("acme-lint refuses"), "{what}");
        let row = row(&world, "acme-lint");
        let reason = row["reason"].as_str().unwrap_or_default();
        assert_eq!(row["status"], "active", "{what}: {row}");
        assert!(reason.contains("is not taken over") && reason.contains(why), "{what}: {row}");
        world.gsdctl(["ledger", "verify"]).run().succeeds().says("is not taken over").says(why);
        world.gsdctl(["daemon", "status"]).run().succeeds().says("is not taken over");
    };

    put(bundle.path("capability.json"), &manifest[..manifest.len() / 2]);
    still("half a manifest", "capability.json");
    put(bundle.path("capability.json"), manifest.replace("hooks/refuse.sh", "hooks/absent.sh"));
    still("a script that is not there", "hooks/absent.sh");
    put(bundle.path("capability.json"), manifest.replace("\"acme-lint\"", "\"acme-other\""));
    still("another id", "acme-other");
    put(bundle.path("capability.json"), &manifest);
    link(bundle.path("hosts"), "/etc/hosts");
    still("a symlink in it", "hosts");
    std::fs::remove_file(bundle.path("hosts")).unwrap();
    assert_eq!(row(&world, "acme-lint")["reason"], Value::Null);
    world.is_as(&active, "in order again");

    let elsewhere = world.path("src/elsewhere");
    std::fs::rename(bundle.path(""), &elsewhere).unwrap();
    still("no folder", "the folder is gone");
    drop(Bundle::at(&world.path("src/evil"), "acme-lint").with_hook(
        "PreToolUse",
        "hooks/refuse.sh",
        &refusal("evil"),
    ));
    link(world.path("src/acme-lint"), world.path("src/evil"));
    still("a symlink in its place", "somewhere else");
    std::fs::remove_file(world.path("src/acme-lint")).unwrap();
    std::fs::rename(&elsewhere, world.path("src/acme-lint")).unwrap();
    put(bundle.path("hooks/refuse.sh"), refusal("repaired"));
    assert!(objection(&world).contains("repaired"));
    assert_eq!(row(&world, "acme-lint")["reason"], Value::Null);
    let status = world.gsdctl(["daemon", "status", "--json"]).run().succeeds().json();
    assert_eq!(status["warnings"], json!([]));
}

#[test]
fn t183_an_agreement_to_a_copy_is_none_to_a_link() {
    let world = world();
    // Even what runs nothing now may run something later.
    for bundle in [world.bundle("acme-lint").with_refusal(), world.bundle("acme-prose").with_skill("prose")] {
        let spec = bundle.spec();
        let digest = |flags: &[&str]| {
            let words = ["install", &spec, "--runtime", "claude", "--dry-run", "--json"];
            let planned = world.gsdctl(words).args(flags.iter().copied()).run().succeeds().json();
            planned["data"]["consent_digest"].as_str().unwrap().to_owned()
        };
        let (copy, link) = (digest(&[]), digest(&["--link"]));
        assert_ne!(copy, link);
        let install = |flags: &[&str]| {
            let words = ["install", &spec, "--runtime", "claude", "--no-input"];
            world.gsdctl(words).args(flags.iter().copied()).run()
        };
        let before = world.tree();
        install(&["--link", "--consent", &copy]).exits(3).says("another content");
        install(&["--consent", &link]).exits(3);
        world.is_as(&before, "refused");
        install(&["--consent", &copy]).succeeds();
        install(&["--link"]).exits(3).says("LINKED").says("--link");
        assert_eq!(
            row(&world, bundle.path("").file_name().unwrap().to_str().unwrap())["linked"],
            Value::Null
        );
        install(&["--link", "--consent", &link]).succeeds();
        // The wider one includes the narrower one.
        install(&["--link"]).succeeds().prints("current");
    }
}

#[test]
fn a_project_is_not_linked() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    let before = world.tree();
    world
        .gsdctl(["install", &bundle.spec(), "--link", "--scope", "project", "--yes"])
        .run()
        .fails()
        .says("can't be linked")
        .says("leave out --scope project");
    world
        .gsdctl(["install", "https://git.example/acme.git#v1", "--link", "--yes"])
        .run()
        .exits(2)
        .says("only a folder can be linked");
    let own = world.path("home/.gsd/capabilities/acme-own");
    drop(Bundle::at(&own, "acme-own"));
    world
        .gsdctl(["install", &own.display().to_string(), "--link", "--yes"])
        .run()
        .fails()
        .says("overlaps with a folder of ours");
    std::fs::remove_dir_all(world.path("home/.gsd")).unwrap();
    world.is_as(&before, "refused");
}

#[test]
fn revoking_and_installing_a_copy_end_a_link() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    let script = world.path("home/.gsd/capabilities/acme-lint/hooks/refuse.sh");
    let copied = || text_of(&script);

    linked(&world, &bundle);
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--no-input"]).run().succeeds();
    assert_eq!(row(&world, "acme-lint")["linked"], Value::Null);
    put(bundle.path("hooks/refuse.sh"), refusal("of a copy"));
    assert!(objection(&world).contains("acme-lint refuses"), "a copy stays as it is");
    assert!(!copied().contains("of a copy"));
    world.gsdctl(["update", "acme-lint", "--no-input"]).run().exits(3);

    linked(&world, &bundle);
    assert!(objection(&world).contains("of a copy"));
    world.gsdctl(["consent", "revoke", "acme-lint"]).run().succeeds();
    put(bundle.path("hooks/refuse.sh"), refusal("after the end"));
    assert!(!objection(&world).contains("after the end"));
    let row = row(&world, "acme-lint");
    assert_eq!((&row["status"], &row["linked"]), (&json!("inactive"), &Value::Null));
    assert!(!copied().contains("after the end"));
    // Agreeing to what lies there is no agreement to what will.
    world.gsdctl(["consent", "grant", "acme-lint", "--yes"]).run().succeeds();
    assert!(objection(&world).contains("of a copy"));
}

#[test]
fn a_link_goes_where_it_was_made_for_and_keeps_no_secret() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    world
        .gsdctl(["install", &bundle.spec(), "--link", "--runtime", "claude", "--yes"])
        .env("CLAUDE_CONFIG_DIR", world.path("home/other"))
        .env("NPM_TOKEN", "a-secret")
        .run()
        .succeeds();
    drop(bundle.with_skill("acme-lint"));
    // Whoever asks next has another environment.
    assert_eq!(row(&world, "acme-lint")["status"], "active");
    assert!(world.path("home/other/skills/gsd-acme-lint/SKILL.md").exists());
    assert!(!world.path("home/.claude/skills").exists());
    let mut records = Vec::new();
    let mut open = vec![world.path("home/.local")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => records.push(entry.path()),
            }
        }
    }
    let state = records.iter().find(|path| path.ends_with("state.json")).expect("our records");
    assert!(text_of(state).contains("CLAUDE_CONFIG_DIR"));
    for record in &records {
        let bytes = gsd_tests::bytes_of(record);
        assert!(!String::from_utf8_lossy(&bytes).contains("a-secret"), "{}", record.display());
    }
}
