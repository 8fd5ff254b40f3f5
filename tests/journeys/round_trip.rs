//! Install, use, remove: what the person had before is there afterwards, to the byte.

use std::path::PathBuf;

use gsd_tests::{World, bytes_of, link, mode_of, put, registered, set_mode, text_of, write_of};

/// Settings as people have them: each has to come back exactly.
pub(crate) const SETTINGS: &[(&str, &str)] = &[
    ("tidy", "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"]\n  }\n}\n"),
    ("no final newline, odd indent", "{ \"a\":1,\n\n      \"b\" : [ 1,2 , 3 ]\n   }"),
    (
        "CRLF and tabs",
        "{\r\n\t\"budget\": 12345678901234567890,\r\n\t\"ratio\": 1.0,\r\n\t\"z\": 1, \"a\": 2\r\n}\r\n",
    ),
    ("byte order mark", "\u{feff}{\n  \"model\": \"opus\"\n}\n"),
    ("empty object", "{}"),
    ("empty object, new line", "{}\n"),
    ("empty containers", "{\"hooks\":{},\"mcpServers\":{},\"model\":\"opus\"}\n"),
    ("empty list of the event", "{\"hooks\":{\"PreToolUse\":[]}}\n"),
    (
        "hooks of the person",
        "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}\n        ],\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo done\"}]}]\n    }\n}\n",
    ),
    (
        "comments and trailing commas",
        "{\n  // chosen by the pilot\n  \"model\": \"opus\",\n  \"x\": [1,],\n}\n",
    ),
    ("only blanks", "  \n"),
    ("nothing at all", ""),
];

struct Place {
    scope: &'static str,
    settings: &'static str,
}

const PLACES: [Place; 2] = [
    Place { scope: "global", settings: "home/.claude/settings.json" },
    Place { scope: "project", settings: "proj/.claude/settings.local.json" },
];

fn install(world: &World, spec: &str, scope: &str) {
    world.gsdctl(["install", spec, "--scope", scope, "--runtime", "claude", "--yes"]).run().succeeds();
}

fn remove(world: &World, id: &str) {
    world.gsdctl(["remove", id]).run().succeeds();
}

#[test]
fn a_hook_is_installed_denies_allows_and_goes_without_a_trace() {
    for place in PLACES {
        let world = World::new();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        let bundle = world
            .bundle("acme-lint")
            .with_hook(
                "PreToolUse",
                "hooks/lint.sh",
                "#!/bin/sh\nif grep -q secret; then echo 'no secrets here' >&2; exit 2; fi\n",
            )
            .with_skill("acme-lint");
        let before = world.tree();
        install(&world, &bundle.spec(), place.scope);
        let settings = world.path(place.settings);
        let hook = |input: String| world.hook_of(&settings, "PreToolUse").input(input).run().succeeds();

        let denied = hook(write_of("secret.txt")).json();
        let answer = &denied["hookSpecificOutput"];
        assert_eq!(answer["permissionDecision"], "deny", "{denied}");
        assert!(answer["permissionDecisionReason"].as_str().unwrap().contains("no secrets here"), "{denied}");
        assert_eq!(hook(write_of("public.txt")).stdout, "");
        // Another tool than the matcher names.
        let read =
            r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"secret"}}"#;
        assert_eq!(hook(read.to_owned()).silent().stdout, "");

        let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
        let row = listed["data"].as_array().unwrap().iter().find(|row| row["id"] == "acme-lint").unwrap();
        assert_eq!((&row["status"], &row["scope"]), (&"active".into(), &place.scope.into()));
        let again = world
            .gsdctl(["install", &bundle.spec(), "--scope", place.scope, "--runtime", "claude", "--json"])
            .run()
            .succeeds()
            .json();
        assert_eq!((&again["changed"], &again["data"]["status"]), (&false.into(), &"current".into()));

        remove(&world, "acme-lint");
        world.is_as(&before, place.scope);
        world.gsdctl(["remove", "acme-lint"]).run().exits(7).says("not installed");
    }
}

#[test]
fn fr_001_fr_007_fr_009_every_settings_file_comes_back_to_the_byte() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    for place in PLACES {
        for (name, text) in SETTINGS {
            put(world.path(place.settings), text);
            let before = world.tree();
            install(&world, &bundle.spec(), place.scope);
            let now = text_of(world.path(place.settings));
            assert!(now.contains("hook PreToolUse --host claude"), "{name}: {now}");
            for theirs in [
                "\"model\": \"opus\"",
                "\"model\":\"opus\"",
                "12345678901234567890",
                "// chosen",
                "echo done",
            ] {
                assert!(!text.contains(theirs) || now.contains(theirs), "{name} lost {theirs}: {now}");
            }
            assert_eq!(now.starts_with('\u{feff}'), text.starts_with('\u{feff}'), "{name}");
            remove(&world, "acme-lint");
            world.is_as(&before, &format!("{name}, {}", place.scope));
        }
        std::fs::remove_file(world.path(place.settings)).unwrap();
    }
}

#[test]
fn fr_009_a_missing_settings_file_and_its_folder_go_again() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    let before = world.tree();
    for place in PLACES {
        install(&world, &bundle.spec(), place.scope);
        assert!(world.path(place.settings).is_file());
        remove(&world, "acme-lint");
        world.is_as(&before, place.scope);
    }
    // A folder of the person's that was empty stays.
    std::fs::create_dir_all(world.path("home/.claude/skills")).unwrap();
    set_mode(world.path("home/.claude"), 0o700);
    let before = world.tree();
    install(&world, &bundle.spec(), "global");
    remove(&world, "acme-lint");
    world.is_as(&before, "an empty folder of the person's");
}

#[test]
fn fr_008_t150_t152_links_and_modes_of_settings_files_stay() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal();
    put(world.path("home/dots/s.json"), "{\"model\":\"opus\"}\n");
    set_mode(world.path("home/dots/s.json"), 0o600);
    link(world.path("home/.claude/settings.json"), "../dots/s.json");
    put(world.path("proj/dots/s.json"), "{\"model\":\"opus\"}\n");
    link(world.path("proj/.claude/settings.local.json"), "../dots/s.json");
    let before = world.tree();
    for (scope, real) in [("global", "home/dots/s.json"), ("project", "proj/dots/s.json")] {
        let mode = mode_of(world.path(real));
        install(&world, &bundle.spec(), scope);
        assert!(text_of(world.path(real)).contains("gsdctl"), "{scope}");
        assert_eq!(mode_of(world.path(real)), mode);
        assert!(std::fs::symlink_metadata(world.path("home/.claude/settings.json")).unwrap().is_symlink());
        remove(&world, "acme-lint");
        world.is_as(&before, scope);
    }
}

#[test]
fn two_capabilities_on_one_event_are_removed_in_either_order() {
    let world = World::new();
    let first = world.bundle("acme-one").with_refusal();
    let second = world.bundle("acme-two").with_refusal();
    for settings in [None, Some("{\n  \"model\": \"opus\"\n}\n")] {
        if let Some(settings) = settings {
            put(world.path("home/.claude/settings.json"), settings);
        }
        let before = world.tree();
        for order in [["acme-one", "acme-two"], ["acme-two", "acme-one"]] {
            install(&world, &first.spec(), "global");
            install(&world, &second.spec(), "global");
            let settings = world.path("home/.claude/settings.json");
            // One entry per event and host, whatever the number of capabilities.
            let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
            assert!(answer.stdout.contains("acme-one refuses") && answer.stdout.contains("acme-two refuses"));
            remove(&world, order[0]);
            let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
            assert!(
                !answer.stdout.contains(order[0]) && answer.stdout.contains(order[1]),
                "{}",
                answer.stdout
            );
            remove(&world, order[1]);
            world.is_as(&before, &format!("{order:?}"));
        }
    }
}

#[test]
fn the_same_capability_in_home_and_project_is_removed_one_by_one() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal();
    let before = world.tree();
    install(&world, &bundle.spec(), "project");
    let with_project = world.tree();
    install(&world, &bundle.spec(), "global");
    // In a project the global one counts, so another one there could never be active.
    let again = world.gsdctl(["install", &bundle.spec(), "--scope", "project", "--yes"]).run();
    again.exits(8).says("global capability").says("where: capability.json\n");
    world.gsdctl(["remove", "acme-lint"]).run().exits(2).says("--scope project").says("--scope global");
    world.gsdctl(["remove", "acme-lint", "--scope", "global"]).run().succeeds();
    world.is_as(&with_project, "the global one is removed");
    remove(&world, "acme-lint");
    world.is_as(&before, "both are removed");
}

#[test]
fn fr_004_t156_a_handler_that_the_person_added_to_our_group_survives() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    let settings = world.path("home/.claude/settings.json");
    install(&world, &bundle.spec(), "global");
    let mut document: serde_json::Value = serde_json::from_slice(&bytes_of(&settings)).unwrap();
    let theirs = serde_json::json!({"type": "command", "command": "harbour-lint"});
    document["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap().push(theirs);
    put(&settings, document.to_string());
    remove(&world, "acme-lint");
    assert_eq!(registered(&settings, "PreToolUse"), ["harbour-lint"]);
}

#[test]
fn fr_005_fr_006_a_rewritten_registration_is_recognised() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    let settings = world.path("home/.claude/settings.json");
    let wrapped = r#"{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"timeout":5,"command":"nice -n 5 \"$HOME\"/.gsd/bin/gsdctl hook PreToolUse --host claude","type":"command"}]}]}}"#;
    let rewritten = |text: &str| {
        install(&world, &bundle.spec(), "global");
        put(&settings, text);
        // A reinstall, from another folder so that it is not simply current, adds nothing.
        world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
        let _ = world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
        assert_eq!(registered(&settings, "PreToolUse").len(), 1, "{}", text_of(&settings));
        remove(&world, "acme-lint");
        if settings.exists() {
            assert!(!text_of(&settings).contains("gsdctl"), "{}", text_of(&settings));
            std::fs::remove_file(&settings).unwrap();
        }
    };
    install(&world, &bundle.spec(), "global");
    let plain: serde_json::Value = serde_json::from_slice(&bytes_of(&settings)).unwrap();
    remove(&world, "acme-lint");
    rewritten(&plain.to_string());
    rewritten(wrapped);
}

#[test]
fn fr_013_t103_paths_with_quotes_blanks_and_dollars_change_nothing() {
    let world = World::new();
    let project: PathBuf = world.path("it's $HOME; é \"q\"");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let source =
        gsd_tests::Bundle::at(&world.path("src 'x'; $(touch pwned)/acme-lint"), "acme-lint").with_refusal();
    let before = world.tree();
    world
        .gsdctl(["install", &source.spec(), "--scope", "project", "--runtime", "claude", "--yes"])
        .cwd(&project)
        .run()
        .succeeds();
    let settings = project.join(".claude/settings.local.json");
    let answer = world.hook_of(&settings, "PreToolUse").cwd(&project).input(write_of("x")).run().succeeds();
    assert!(answer.stdout.contains("acme-lint refuses"), "{} {}", answer.stdout, answer.stderr);
    // FR-015: what goes into a project means the same on a colleague's machine.
    let text = text_of(&settings);
    assert!(!text.contains(world.path("").to_str().unwrap()) && !text.contains("it's"), "{text}");
    world.gsdctl(["remove", "acme-lint"]).cwd(&project).run().succeeds();
    world.is_as(&before, "odd paths");
}

#[test]
fn fr_014_a_script_without_its_execute_bit_still_runs() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    set_mode(bundle.path("hooks/refuse.sh"), 0o644);
    install(&world, &bundle.spec(), "global");
    let answer =
        world.hook_of(&world.path("home/.claude/settings.json"), "PreToolUse").input(write_of("x")).run();
    assert!(answer.succeeds().stdout.contains("acme-lint refuses"));
}

#[test]
fn d08_what_others_require_goes_with_them_or_not_at_all_also_in_a_dry_run() {
    let world = World::new();
    let base = world.bundle("acme-base").with_skill("acme-base");
    let top =
        world.bundle("acme-top").with_skill("acme-top").with("requires", serde_json::json!(["acme-base"]));
    for bundle in [&base, &top] {
        world.gsdctl(["install", &bundle.spec(), "--runtime", "claude"]).run().succeeds();
    }
    let before = world.tree();
    for more in [&[][..], &["--dry-run"]] {
        let refused = world.gsdctl(["remove", "acme-base"]).args(more.iter().copied()).run().exits(8);
        refused.says("acme-base is required by acme-top").says("--cascade");
    }
    let planned = world.gsdctl(["remove", "acme-base", "--cascade", "--dry-run"]).run().succeeds();
    planned.prints("forget acme-top in").prints("forget acme-base in");
    world.is_as(&before, "only planned");
    world.gsdctl(["remove", "acme-base", "--cascade"]).run().succeeds();
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    assert_eq!(listed["data"], serde_json::json!([]));
}
