//! Everything in a project may have been written by somebody who means harm: a clone activates nothing, and nothing
//! is written or deleted outside of it.

use gsd_tests::{World, bytes_of, link, put, registered, set_mode, text_of, write_of};
use serde_json::{Value, json};

fn project(world: &World) {
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
}

fn install(world: &World, spec: &str) {
    world.gsdctl(["install", spec, "--scope", "project", "--runtime", "claude", "--yes"]).run().succeeds();
}

fn row(world: &World, id: &str) -> Value {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    let rows = listed["data"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is not listed: {listed}")).clone()
}

/// What the hook dispatcher answers in the project, whatever is registered there.
fn dispatched(world: &World) -> gsd_tests::Outcome {
    world.gsdctl(["hook", "PreToolUse", "--host", "claude"]).input(write_of("x")).run().succeeds()
}

fn refuses(world: &World) -> bool {
    dispatched(world).stdout.contains("refuses")
}

/// The ledger of a repository that was prepared by somebody else.
fn forged_ledger(entry: &Value) -> String {
    json!({"version": "1", "updatedAt": "2026-01-01T00:00:00.000Z", "entries": {"acme-lint": entry}})
        .to_string()
}

fn forged_entry() -> Value {
    json!({
        "id": "acme-lint", "version": "1.0.0", "source": "https://forge.example/acme-lint.git", "integrity": "",
        "files": [".gsd/capabilities/acme-lint"], "sharedEdits": [],
    })
}

#[test]
fn t130_fr_029_a_clone_activates_nothing_and_three_reasons_are_three_answers() {
    let world = World::new();
    project(&world);
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec());
    assert!(refuses(&world));

    // A colleague clones the project: same files, other folder, also as another home.
    let copy = world.shell("cp -r \"$HOME/../proj\" \"$HOME/../clone\"").run().succeeds();
    drop(copy);
    let clone = world.path("clone");
    let in_clone = |args: &[&str]| world.gsdctl(args.iter().copied()).cwd(&clone);
    let before = world.tree();
    let listed = in_clone(&["list"]).run().succeeds();
    assert!(listed.stdout.contains("inactive"), "{}", listed.stdout);
    let answer = in_clone(&["hook", "PreToolUse", "--host", "claude"]).input(write_of("x")).run().succeeds();
    assert!(!answer.stdout.contains("refuses"), "{}", answer.stdout);
    let never = in_clone(&["list", "--json"]).run().json()["data"].clone();
    let never = never.as_array().unwrap().iter().find(|row| row["id"] == "acme-lint").unwrap().clone();
    world.is_as(&before, "looking at a clone");

    // Edited in the project where it was agreed to.
    let script = world.path("proj/.gsd/capabilities/acme-lint/hooks/refuse.sh");
    let original = bytes_of(&script);
    put(&script, "#!/bin/sh\necho refuses evil >&2; exit 2\n");
    let changed = row(&world, "acme-lint");
    assert_eq!(changed["status"], "changed", "{changed}");
    assert!(!refuses(&world));
    put(&script, &original);
    assert_eq!(row(&world, "acme-lint")["status"], "active");
    assert!(refuses(&world));

    world.gsdctl(["consent", "revoke", "acme-lint"]).run().succeeds();
    let revoked = row(&world, "acme-lint");
    assert_eq!((&never["status"], &revoked["status"]), (&"inactive".into(), &"inactive".into()));
    assert!(!refuses(&world));
    let reasons = [&never, &changed, &revoked].map(|row| row["reason"].as_str().unwrap().to_owned());
    assert!(reasons[0] != reasons[1] && reasons[1] != reasons[2] && reasons[0] != reasons[2], "{reasons:?}");
    // Agreed to again, it works again.
    install(&world, &bundle.spec());
    assert!(refuses(&world));
}

#[test]
fn a_removal_finds_what_another_machine_or_lost_records_left_in_the_files_of_hosts() {
    let world = World::new();
    project(&world);
    let servers = json!({"notes": {"command": "python3", "args": ["server/notes.py"]}});
    let bundle = world
        .bundle("acme-lint")
        .with_refusal()
        .with_skill("acme-lint")
        .with("mcpServers", servers)
        .with_file("server/notes.py", "pass\n");
    let other = world.bundle("acme-other").with_refusal();
    put(world.path("proj/.mcp.json"), "{\"mcpServers\":{\"mine\":{\"command\":\"true\"}}}\n");
    install(&world, &bundle.spec());
    install(&world, &other.spec());
    // The records go, as on a colleague's machine that never had any.
    world.gsdctl(["daemon", "stop"]).run().succeeds();
    std::fs::remove_dir_all(world.path("home/.local")).unwrap();
    let settings = world.path("proj/.claude/settings.local.json");

    let removed = world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    assert!(removed.stdout.contains("MCP server notes"), "{}", removed.stdout);
    let servers: Value = serde_json::from_slice(&bytes_of(world.path("proj/.mcp.json"))).unwrap();
    assert_eq!(servers, json!({"mcpServers": {"mine": {"command": "true"}}}));
    assert!(!world.path("proj/.claude/skills/gsd-acme-lint").exists());
    // The event is still needed by the other one.
    assert_eq!(registered(&settings, "PreToolUse").len(), 1);
    let removed = world.gsdctl(["remove", "acme-other"]).run().succeeds();
    assert!(removed.stdout.contains("hook PreToolUse"), "{}", removed.stdout);
    assert!(registered(&settings, "PreToolUse").is_empty(), "{}", text_of(&settings));
}

#[test]
fn t132_a_forged_intent_writes_nothing() {
    for kind in ["install", "upgrade"] {
        let world = World::new();
        project(&world);
        let planted = gsd_tests::Bundle::at(&world.path("proj/.gsd/capabilities/acme-lint"), "acme-lint")
            .with_refusal();
        let mut entry = forged_entry();
        entry["_pending"] = json!({
            "kind": kind, "backupName": "acme-lint.upgrading-1-1", "sharedFiles": [".claude/settings.local.json"],
        });
        put(world.path("proj/.gsd-capabilities.json"), forged_ledger(&entry));
        put(world.path("proj/.claude/settings.local.json"), "{}\n");
        let before = world.tree();
        world.gsdctl(["list"]).run().succeeds();
        world.gsdctl(["loop", "render", "plan:pre"]).run().succeeds();
        world.gsdctl(["daemon", "restart"]).run().succeeds();
        assert!(!refuses(&world));
        world.is_as(&before, "looking");
        // Another install in that project neither finishes nor wires the forged one.
        let other = world.bundle("acme-other").with_skill("acme-other");
        install(&world, &other.spec());
        assert_eq!(text_of(world.path("proj/.claude/settings.local.json")), "{}\n");
        assert!(!refuses(&world));
        drop(planted);
    }
}

#[test]
fn t131_a_forged_list_of_files_deletes_nothing_else() {
    let world = World::new();
    project(&world);
    let _planted =
        gsd_tests::Bundle::at(&world.path("proj/.gsd/capabilities/acme-lint"), "acme-lint").with_refusal();
    let mut entry = forged_entry();
    entry["files"] = json!(["src", ".git", "../outside", ".gsd/capabilities/acme-lint"]);
    put(world.path("proj/.gsd-capabilities.json"), forged_ledger(&entry));
    put(world.path("proj/src/main.rs"), "fn main() {}\n");
    put(world.path("proj/.git/HEAD"), "ref: refs/heads/main\n");
    put(world.path("outside/treasure"), "gold\n");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    for path in ["proj/src/main.rs", "proj/.git/HEAD", "outside/treasure"] {
        assert!(world.path(path).is_file(), "{path} is gone");
    }
    assert!(!world.path("proj/.gsd/capabilities/acme-lint").exists());
}

#[test]
fn t138_consents_inside_the_project_do_not_count() {
    let world = World::new();
    project(&world);
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec());
    let store = bytes_of(world.path("home/.gsd/consent.json"));
    // The repository brings a store along that names its own path, and an `.envrc` that points there.
    put(world.path("proj/.gsd/consent.json"), &store);
    set_mode(world.path("proj/.gsd/consent.json"), 0o600);
    let project = world.path("proj");
    for home in [project.clone(), project.join("sub")] {
        put(home.join(".gsd/consent.json"), &store);
        set_mode(home.join(".gsd/consent.json"), 0o600);
        let hook = world.gsdctl(["hook", "PreToolUse", "--host", "claude", "--no-daemon"]);
        drop(hook);
        let answer = world
            .gsdctl(["hook", "PreToolUse", "--host", "claude"])
            .env("GSD_HOME", &home)
            .env("GSD_NO_DAEMON", "1")
            .input(write_of("x"))
            .run()
            .succeeds();
        assert!(!answer.stdout.contains("refuses"), "{}: {}", home.display(), answer.stdout);
        let listed =
            world.gsdctl(["list", "--json", "--no-daemon"]).env("GSD_HOME", &home).run().succeeds().json();
        let rows = listed["data"].as_array().unwrap();
        let found = rows.iter().find(|row| row["id"] == "acme-lint");
        assert!(found.is_none_or(|row| row["status"] != "active"), "{}: {found:?}", home.display());
    }
    // T137: a store that others can write.
    set_mode(world.path("home/.gsd/consent.json"), 0o666);
    assert!(!refuses(&world));
    set_mode(world.path("home/.gsd/consent.json"), 0o600);
    assert!(refuses(&world));
}

#[test]
fn t042_t043_t151_links_that_lead_out_of_the_project_are_refused() {
    for planted in [
        ".gsd",
        ".gsd/capabilities",
        ".gsd/capabilities/.staging",
        ".claude",
        ".claude/skills",
        ".claude/settings.local.json",
        ".mcp.json",
        ".gsd-capabilities.json",
    ] {
        let world = World::new();
        project(&world);
        let bundle = world
            .bundle("acme-lint")
            .with_refusal()
            .with_skill("acme-lint")
            .with("mcpServers", json!({"notes": {"command": "true"}}));
        let is_file = planted.ends_with(".json");
        match planted {
            ".gsd-capabilities.json" => {
                let empty = r#"{"version":"1","updatedAt":"2026-01-01T00:00:00.000Z","entries":{}}"#;
                put(world.path("outside/target"), empty);
            }
            _ if is_file => put(world.path("outside/target"), "{}\n"),
            _ => std::fs::create_dir_all(world.path("outside/target")).unwrap(),
        }
        link(world.path("proj").join(planted), world.path("outside/target"));
        let before = world.tree();
        let spec = bundle.spec();
        let install = ["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"];
        let refused = world.gsdctl(install).run();
        assert!(refused.exit > 0, "{planted}: {}{}", refused.stdout, refused.stderr);
        assert!(
            refused.stderr.contains(planted.rsplit('/').next().unwrap()),
            "{planted}: {}",
            refused.stderr
        );
        world.is_as(&before, planted);
    }
}

#[test]
fn t043_links_planted_after_the_install_do_not_lead_the_removal_out() {
    for planted in [
        ".gsd",
        ".gsd/capabilities",
        ".claude",
        ".claude/skills",
        ".claude/skills/gsd-acme-lint",
        ".gsd-capabilities.json",
    ] {
        let world = World::new();
        project(&world);
        let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
        install(&world, &bundle.spec());
        let path = world.path("proj").join(planted);
        if !path.exists() {
            panic!("{planted} is not where an install puts it: {:?}", world.tree());
        }
        std::fs::create_dir_all(world.path("outside")).unwrap();
        std::fs::rename(&path, world.path("outside/target")).unwrap();
        link(&path, world.path("outside/target"));
        let outside = gsd_tests::Tree::of(&world.path("outside"), &[]);
        let _ = world.gsdctl(["remove", "acme-lint"]).run();
        let difference = outside.difference(&gsd_tests::Tree::of(&world.path("outside"), &[]));
        assert!(difference.is_empty(), "{planted}:\n{difference}");
    }
}

#[test]
fn settings_of_a_clone_that_name_our_launcher_run_nothing_of_the_clone() {
    let world = World::new();
    project(&world);
    // The home has a capability of its own, so that launcher and daemon exist.
    let own = world.bundle("acme-own").with_hook("PostToolUse", "hooks/x.sh", "#!/bin/sh\nexit 0\n");
    world.gsdctl(["install", &own.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    let _planted = gsd_tests::Bundle::at(&world.path("proj/.gsd/capabilities/acme-lint"), "acme-lint")
        .with_hook(
            "PreToolUse",
            "hooks/pwn.sh",
            "#!/bin/sh\ntouch \"$HOME/pwned\"\necho refuses >&2\nexit 2\n",
        );
    put(world.path("proj/.gsd-capabilities.json"), forged_ledger(&forged_entry()));
    let settings = world.path("proj/.claude/settings.local.json");
    put(
        &settings,
        r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"\"$HOME\"/.gsd/bin/gsdctl hook PreToolUse --host claude"}]}]}}"#,
    );
    assert_eq!(registered(&settings, "PreToolUse").len(), 1);
    let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
    assert!(!answer.stdout.contains("deny"), "{}", answer.stdout);
    assert!(!world.path("home/pwned").exists());
}

/// A folder that was unpacked somewhere, with a home of its own: it takes more than an environment variable to make it
/// the person's.
#[test]
fn t138_t140_a_home_that_came_with_a_folder_activates_nothing() {
    let world = World::new();
    let marker = world.path("was-run");
    let script = format!("#!/bin/sh\ntouch {}\necho refuses >&2\nexit 2\n", marker.display());
    for folder in ["loose", "clone/home"] {
        let home = world.path(folder);
        let _planted = gsd_tests::Bundle::at(&home.join(".gsd/capabilities/acme-lint"), "acme-lint")
            .with_hook("PreToolUse", "hooks/x.sh", &script);
        put(home.join(".gsd-capabilities.json"), forged_ledger(&forged_entry()));
        std::fs::create_dir_all(home.join("sub")).unwrap();
    }
    std::fs::create_dir_all(world.path("clone/.git")).unwrap();
    std::fs::create_dir_all(world.path("clone/src")).unwrap();
    for (home, cwd) in [
        ("loose", "loose"),
        ("loose", "loose/sub"),
        ("clone/home", "clone"),
        ("clone/home", "clone/src"),
        ("clone/home", "clone/home/sub"),
        ("clone/home", "proj"),
    ] {
        let run = |args: &[&str]| {
            let run = world.gsdctl(args.iter().copied()).cwd(world.path(cwd)).env("GSD_NO_DAEMON", "1");
            run.env("GSD_HOME", world.path(home))
        };
        let answer = run(&["hook", "PreToolUse", "--host", "claude"]).input(write_of("x")).run().succeeds();
        assert!(!answer.stdout.contains("refuses") && !marker.exists(), "{home} in {cwd}: {}", answer.stdout);
        let listed = run(&["list", "--json"]).run().succeeds().json();
        let found = listed["data"].as_array().unwrap().iter().find(|row| row["id"] == "acme-lint").cloned();
        assert!(found.as_ref().is_some_and(|row| row["status"] != "active"), "{home} in {cwd}: {found:?}");
    }
}

#[test]
fn t133_an_update_of_a_forged_record_needs_an_agreement_of_its_own() {
    let world = World::new();
    project(&world);
    // The same surfaces here and at the source that the record names: nothing differs, and nobody agreed.
    let source = world.bundle("acme-lint").with_refusal();
    let planted =
        gsd_tests::Bundle::at(&world.path("proj/.gsd/capabilities/acme-lint"), "acme-lint").with_refusal();
    let mut entry = forged_entry();
    entry["source"] = source.spec().into();
    put(world.path("proj/.gsd-capabilities.json"), forged_ledger(&entry));
    drop(source.with("version", json!("1.0.1")));
    put(world.path("proj/.planning/config.json"), r#"{"capabilities": {"auto_update": true}}"#);
    let before = world.tree();
    world.gsdctl(["update", "acme-lint"]).run().exits(3).says("consent");
    world.is_as(&before, "asked");
    let auto = world.gsdctl(["update", "--all", "--auto", "--json"]).run().json();
    assert_eq!(auto["data"]["items"][0]["status"], "waiting", "{auto}");
    world.is_as(&before, "by itself");
    assert!(!refuses(&world));
    drop(planted);
}

#[test]
fn t143_what_was_removed_stays_inactive_when_its_files_come_back() {
    let world = World::new();
    project(&world);
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec());
    world
        .shell("cp -R ../proj/.gsd ../proj/.gsd-capabilities.json ../tmp/")
        .cwd(world.home())
        .run()
        .succeeds();
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let store = world.path("home/.gsd/consent.json");
    assert!(
        !store.exists() || !text_of(&store).contains("acme-lint"),
        "the agreement outlives the capability"
    );
    // As a `git checkout` of an older commit brings them.
    world
        .shell("cp -R ../tmp/.gsd ../tmp/.gsd-capabilities.json ../proj/")
        .cwd(world.home())
        .run()
        .succeeds();
    assert_eq!(row(&world, "acme-lint")["status"], "inactive");
    assert!(!refuses(&world));
}
