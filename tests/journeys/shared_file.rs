//! `--shared-file`: hooks and servers one by one in a file that the person names, beside upstream's entries.

use gsd_tests::{World, link, put, registered, text_of, write_of};
use serde_json::{Value, json};

use crate::round_trip::SETTINGS;

const FILE: &str = "proj/.claude/settings.json";

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

fn install(world: &World, spec: &str) -> gsd_tests::Outcome {
    let args = ["install", spec, "--scope", "project", "--shared-file", ".claude/settings.json", "--yes"];
    world.gsdctl(args).run()
}

fn document(world: &World) -> Value {
    serde_json::from_str(&text_of(world.path(FILE))).unwrap()
}

#[test]
fn the_host_runs_the_script_itself_and_removal_gives_back_every_byte() {
    let world = world();
    let bundle = world
        .bundle("acme-lint")
        .with_hook(
            "PreToolUse",
            "hooks/lint.sh",
            "#!/bin/sh\nif grep -q secret; then echo no >&2; exit 2; fi\necho fine\n",
        )
        .with("mcpServers", json!({"notes": {"command": "notes-server", "args": ["--stdio"]}}));
    for (name, text) in SETTINGS {
        put(world.path(FILE), text);
        let before = world.tree();
        install(&world, &bundle.spec()).succeeds();
        let command = "\"$HOME\"/.gsd/bin/gsdctl hook exec acme-lint hooks/lint.sh";
        assert!(text_of(world.path(FILE)).contains("_gsdCapability"), "{name}");
        if !text.contains("//") {
            let hook = registered(&world.path(FILE), "PreToolUse").pop().unwrap();
            assert_eq!(hook, command, "{name}");
            world.shell(&hook).input(write_of("secret")).run().exits(2).says("no");
            world.shell(&hook).input(write_of("x")).run().succeeds().silent().prints("fine");
        }
        let again = install(&world, &bundle.spec()).succeeds();
        assert!(again.stdout.starts_with("current"), "{name}: {}", again.stdout);
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        world.is_as(&before, name);
    }
}

#[test]
fn what_was_not_agreed_to_does_not_run_and_does_not_block() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec()).succeeds();
    let hook = world.hook_of(&world.path(FILE), "PreToolUse");
    hook.input(write_of("x")).run().exits(2).says("acme-lint refuses");
    let script = world.path("proj/.gsd/capabilities/acme-lint/hooks/refuse.sh");
    let agreed = text_of(&script);
    put(&script, "#!/bin/sh\necho harm\n");
    let hook = || world.hook_of(&world.path(FILE), "PreToolUse").input(write_of("x")).run();
    let told = hook().exits(1).says("did NOT run");
    assert!(!told.stdout.contains("harm"), "{}", told.stdout);
    put(&script, agreed);
    hook().exits(2);
    world.gsdctl(["consent", "revoke", "acme-lint"]).run().succeeds();
    hook().exits(1).says("did NOT run");
}

#[test]
fn a_registration_that_stayed_behind_says_so_and_passes() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec()).succeeds();
    let hook = registered(&world.path(FILE), "PreToolUse").pop().unwrap();
    // The file goes to a colleague, who never installed it.
    let other = self::world();
    let _pid = other.start_daemon();
    other
        .gsdctl(["hook", "exec", "acme-lint", "hooks/refuse.sh"])
        .input(write_of("x"))
        .run()
        .exits(1)
        .says("acme-lint is not active here");
    assert!(hook.ends_with("hook exec acme-lint hooks/refuse.sh"), "{hook}");
}

#[test]
fn upstreams_entries_are_replaced_by_an_install_and_stripped_by_a_removal() {
    let upstream = |world: &World| {
        let script = world.path("proj/.gsd/capabilities/acme-lint/hooks/refuse.sh");
        let command = format!("'{}'", std::fs::canonicalize(script).unwrap().display());
        let theirs = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]});
        let ours = json!({"_gsdCapability": "acme-lint", "hooks": [{"type": "command", "command": command}], "matcher": "Write"});
        let servers = json!({"notes": {"command": "notes-server", "_gsdCapability": "acme-lint"}, "mine": {"command": "mine"}});
        let settings = json!({"hooks": {"PreToolUse": [theirs, ours]}, "mcpServers": servers});
        put(world.path(FILE), serde_json::to_string_pretty(&settings).unwrap());
    };
    let bundle = |world: &World| {
        let server = json!({"notes": {"command": "notes-server"}});
        world.bundle("acme-lint").with_refusal().with("mcpServers", server)
    };
    for verb in ["install", "remove"] {
        let world = world();
        let bundle = bundle(&world);
        // Installed without any host; then the entries appear as upstream writes them, with its note in the ledger.
        world.gsdctl(["install", &bundle.spec(), "--scope", "project", "--yes"]).run().succeeds();
        upstream(&world);
        let ledger = world.path("proj/.gsd-capabilities.json");
        let mut entries: Value = serde_json::from_str(&text_of(&ledger)).unwrap();
        entries["entries"]["acme-lint"]["sharedEdits"] =
            json!([{"file": ".claude/settings.json", "marker": "acme-lint"}]);
        put(&ledger, serde_json::to_string_pretty(&entries).unwrap());
        if verb == "install" {
            install(&world, &bundle.spec()).succeeds();
            let hooks = registered(&world.path(FILE), "PreToolUse");
            assert_eq!(hooks, ["true", "\"$HOME\"/.gsd/bin/gsdctl hook exec acme-lint hooks/refuse.sh"]);
        } else {
            world.gsdctl(["remove", "acme-lint"]).run().succeeds();
            assert_eq!(registered(&world.path(FILE), "PreToolUse"), ["true"]);
            assert_eq!(document(&world)["mcpServers"], json!({"mine": {"command": "mine"}}));
        }
    }
}

#[test]
fn an_update_follows_the_manifest_and_keeps_what_the_person_wrapped() {
    let world = world();
    let hook =
        |script: &str, matcher: &str| json!({"event": "PreToolUse", "script": script, "matcher": matcher});
    let ok = "#!/bin/sh\nexit 0\n";
    let bundle = world
        .bundle("acme-lint")
        .with(
            "hooks",
            json!([hook("hooks/a.sh", "Write"), hook("hooks/b.sh", "Write"), hook("hooks/c.sh", "Edit")]),
        )
        .with_file("hooks/a.sh", ok)
        .with_file("hooks/b.sh", ok)
        .with_file("hooks/c.sh", ok);
    install(&world, &bundle.spec()).succeeds();
    let mut settings = document(&world);
    settings["hooks"]["PreToolUse"][0]["hooks"][0] =
        json!({"type": "command", "command": "quiet-launcher", "args": ["hooks/a.sh"]});
    put(world.path(FILE), settings.to_string());
    let bundle = bundle
        .with("version", json!("1.1.0"))
        .with("hooks", json!([hook("hooks/a.sh", "Write"), hook("hooks/c.sh", "Write|Edit")]));
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    let hooks = registered(&world.path(FILE), "PreToolUse");
    assert_eq!(hooks, ["quiet-launcher", "\"$HOME\"/.gsd/bin/gsdctl hook exec acme-lint hooks/c.sh"]);
    let settings = document(&world);
    assert_eq!(settings["hooks"]["PreToolUse"][1]["matcher"], "Write|Edit");
    drop(bundle);
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    assert!(!text_of(world.path(FILE)).contains("hooks/"), "{}", text_of(world.path(FILE)));
}

#[test]
fn t043_a_shared_file_can_not_lead_out_of_the_folder_of_the_scope() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    std::fs::create_dir_all(world.path("elsewhere")).unwrap();
    link(world.path("proj/out"), "../elsewhere");
    put(world.path("elsewhere/theirs.json"), "{}");
    link(world.path("proj/planted.json"), "../elsewhere/theirs.json");
    let before = world.tree();
    let absolute = world.path("elsewhere/x.json").display().to_string();
    for file in ["", "../x.json", "a/../../x.json", &absolute, "out/x.json", "planted.json"] {
        let args = ["install", &bundle.spec(), "--scope", "project", "--yes", "--shared-file", file];
        world.gsdctl(args).run().fails();
        world.is_as(&before, file);
    }
}

#[test]
fn the_same_hook_is_not_registered_twice() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    install(&world, &bundle.spec()).succeeds();
    let before = world.tree();
    let args = ["install", &bundle.spec(), "--scope", "project", "--runtime", "claude", "--yes"];
    world.gsdctl(args).run().exits(8).says("registered twice");
    world.is_as(&before, "refused");
    let listed = world.gsdctl(["hook", "list"]).run().succeeds();
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    assert!(listed.stdout.contains("acme-lint hooks/refuse.sh"), "{}", listed.stdout);
}

#[test]
fn what_a_host_does_not_know_is_not_written_into_its_file() {
    let world = world();
    let bundle = world
        .bundle("acme-lint")
        .with_item("hooks", json!({"event": "AfterHighTide", "script": "hooks/a.sh"}))
        .with_file("hooks/a.sh", "#!/bin/sh\n");
    let before = world.tree();
    install(&world, &bundle.spec()).exits(6).says("AfterHighTide").says("Claude Code does not know");
    world.is_as(&before, "refused");
    // No host is known to read this one, so nobody can say.
    let args =
        ["install", &bundle.spec(), "--scope", "project", "--yes", "--shared-file", "other/hooks.json"];
    world.gsdctl(args).run().succeeds();
    assert!(text_of(world.path("proj/other/hooks.json")).contains("AfterHighTide"));
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "removed");
}
