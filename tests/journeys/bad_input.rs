//! Broken and hostile input: named, refused before anything is written, and never waited for.

use std::time::Instant;

use gsd_tests::{Bundle, World, link, put, text_of};
use serde_json::{Value, json};

fn install(world: &World, spec: &str) -> gsd_tests::Outcome {
    world.gsdctl(["install", spec, "--runtime", "claude", "--yes"]).run()
}

const VALID: &str = r#"{"id":"acme-lint","role":"feature","version":"1.0.0","title":"T","description":"D","tier":"full","requires":[],"engines":{"gsd":">=1.6.0"},"runtimeCompat":{"supported":["*"],"unsupported":[]},"skills":[],"agents":[],"config":{},"steps":[],"gates":[],"contributions":[]}"#;

#[test]
fn t52_t55_t101_t102_t125_manifests_that_are_none_are_refused_with_all_their_problems() {
    let world = World::new();
    let before = world.tree();
    let folder = world.path("src/acme-lint");
    let manifest = folder.join("capability.json");
    let deep = format!(
        "{}\"title\":{}1{}}}",
        &VALID[..VALID.len() - 1].replace("\"title\":\"T\",", ""),
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("not JSON", b"{ broken".to_vec()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("byte order mark", [b"\xef\xbb\xbf", VALID.as_bytes()].concat()),
        ("duplicate keys", VALID.replacen("{\"id\"", "{\"id\":\"evil\",\"id\"", 1).into_bytes()),
        ("deep nesting", deep.into_bytes()),
        ("9 MiB", format!("{}{}", VALID, " ".repeat(9 * 1024 * 1024)).into_bytes()),
        (
            "not UTF-8",
            VALID
                .replace("\"T\"", "\"T\u{1}\"")
                .into_bytes()
                .into_iter()
                .map(|b| if b == 1 { 0xff } else { b })
                .collect(),
        ),
        ("a lone surrogate", VALID.replace("\"T\"", "\"\\ud800\"").into_bytes()),
        ("comments", VALID.replacen('{', "{ // hello\n", 1).into_bytes()),
        (
            "null entries",
            VALID
                .replace("\"steps\":[]", "\"steps\":[null]")
                .replace("\"gates\":[]", "\"gates\":[null]")
                .into_bytes(),
        ),
        (
            "wrong types",
            VALID
                .replace("\"steps\":[]", "\"steps\":{}")
                .replace("\"config\":{}", "\"config\":[]")
                .into_bytes(),
        ),
        ("another id grammar", VALID.replace("acme-lint", "../evil").into_bytes()),
        ("a name of JavaScript", VALID.replace("acme-lint", "constructor").into_bytes()),
        (
            "a hook outside",
            VALID
                .replace(
                    "\"skills\"",
                    "\"hooks\":[{\"event\":\"Stop\",\"script\":\"../../evil.sh\"}],\"skills\"",
                )
                .into_bytes(),
        ),
        (
            "a hook with shell characters",
            VALID
                .replace("\"skills\"", "\"hooks\":[{\"event\":\"Stop\",\"script\":\"a;id.sh\"}],\"skills\"")
                .into_bytes(),
        ),
        (
            "a hook that is not there",
            VALID
                .replace(
                    "\"skills\"",
                    "\"hooks\":[{\"event\":\"Stop\",\"script\":\"hooks/none.sh\"}],\"skills\"",
                )
                .into_bytes(),
        ),
    ];
    for (name, bytes) in cases {
        put(&manifest, &bytes);
        let begun = Instant::now();
        let refused = install(&world, folder.to_str().unwrap());
        assert_eq!(refused.exit, 2, "{name}: {}{}", refused.stdout, refused.stderr);
        assert!(refused.stderr.contains("error["), "{name}: {}", refused.stderr);
        assert!(begun.elapsed().as_secs() < 20, "{name} took {:?}", begun.elapsed());
        assert!(refused.stderr.len() < 64 * 1024, "{name}: a flood of {} bytes", refused.stderr.len());
        std::fs::remove_dir_all(world.path("src")).unwrap();
        world.is_as(&before, name);
    }
    // All problems at once.
    put(
        &manifest,
        VALID
            .replace("\"1.0.0\"", "1")
            .replace("\"full\"", "\"huge\"")
            .replace("\"skills\":[]", "\"skills\":[1,\"\"]"),
    );
    let refused = install(&world, folder.to_str().unwrap()).exits(2);
    assert!(refused.stderr.matches("cause:").count() >= 3, "{}", refused.stderr);
    // The daemon lived through all of it.
    assert_eq!(world.daemons().len(), 1);
}

#[test]
fn t038_t039_t047_sources_that_are_not_plain_folders_are_refused_and_never_waited_for() {
    let world = World::new();
    let fifo = |path: &std::path::Path| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let folder = world.path("src/acme-lint");
    let attack = |name: &str, prepare: &dyn Fn()| {
        let _ = Bundle::at(&folder, "acme-lint");
        prepare();
        let before = world.tree();
        let refused = install(&world, folder.to_str().unwrap()).fails();
        assert!([2, 7].contains(&refused.exit), "{name}: {} {}", refused.exit, refused.stderr);
        world.is_as(&before, name);
    };
    attack("a FIFO as manifest", &|| {
        std::fs::remove_file(folder.join("capability.json")).unwrap();
        fifo(&folder.join("capability.json"));
    });
    attack("a FIFO beside", &|| fifo(&folder.join("pipe")));
    attack("a symlink", &|| link(folder.join("id_rsa"), "/root/.ssh/id_rsa"));
    attack("a symlinked folder", &|| link(folder.join("etc"), "/etc"));
    attack("a symlink as manifest", &|| {
        std::fs::rename(folder.join("capability.json"), world.path("src/real.json")).unwrap();
        link(folder.join("capability.json"), "../real.json");
    });
    attack("no manifest", &|| std::fs::remove_file(folder.join("capability.json")).unwrap());
    attack("a folder as manifest", &|| {
        std::fs::remove_file(folder.join("capability.json")).unwrap();
        std::fs::create_dir(folder.join("capability.json")).unwrap();
    });
    attack("T15 twins", &|| {
        put(folder.join("Readme"), "a");
        put(folder.join("README"), "b");
    });
    attack("T18 a device of Windows", &|| put(folder.join("nul.txt"), "a"));
    attack("T22 a control character", &|| put(folder.join("a\u{1b}[2J"), "a"));
    attack("T23 a bidi override", &|| put(folder.join("a\u{202e}txt.sh"), "a"));
    attack("a source that is a symlink", &|| {
        std::fs::rename(&folder, world.path("src/elsewhere")).unwrap();
        link(&folder, world.path("src/elsewhere"));
    });
    let before = world.tree();
    install(&world, "./nowhere").exits(7);
    install(&world, "").exits(2);
    install(&world, "/dev/null").fails();
    install(&world, "/etc/passwd").fails();
    world.is_as(&before, "no folder");
}

#[test]
fn fr_002_t149_settings_that_do_not_parse_stop_everything_and_say_what_to_add() {
    let world = World::new();
    let settings = world.path("home/.claude/settings.json");
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    let spec = bundle.spec();
    for (text, line) in [
        ("{\n  \"model\": \"opus\"\n  \"theme\": \"dark\"\n}\n", 3),
        ("{\n  \"model\": \"opus\",\n", 3),
        ("{\n\n\n  \"a\": 'x'\n}\n", 4),
        ("not json at all\n", 1),
        ("{}\n{}\n", 2),
    ] {
        put(&settings, text);
        let before = world.tree();
        let refused = install(&world, &spec).fails();
        let place = format!("settings.json:{line}");
        assert!(refused.stderr.contains(&place), "{text:?} is not at {place}: {}", refused.stderr);
        assert!(refused.stderr.contains("gsdctl hook PreToolUse --host claude"), "{}", refused.stderr);
        world.is_as(&before, text);
        let json =
            world.gsdctl(["install", &spec, "--runtime", "claude", "--yes", "--json"]).run().fails().json();
        assert_eq!(json["error"]["where"]["line"], line, "{json}");
    }
    // FR-003: as long as it does not parse, a removal forgets nothing and deletes nothing.
    std::fs::remove_file(&settings).unwrap();
    install(&world, &spec).succeeds();
    let good = text_of(&settings);
    put(&settings, format!("{{ broken{good}"));
    let before = world.tree();
    world.gsdctl(["remove", "acme-lint"]).run().fails().says("settings.json:1").says("was not removed");
    world.is_as(&before, "a removal that can't be done");
    // What registers nothing in the file has nothing to do with it.
    let bystander = world.bundle("acme-words").with_skill("acme-words");
    install(&world, &bystander.spec()).succeeds();
    world.gsdctl(["remove", "acme-words"]).run().succeeds();
    let left = before.without_times().difference(&world.tree().without("src/acme-words").without_times());
    assert!(left.is_empty(), "a bystander came and went:\n{left}");
    put(&settings, good);
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    assert!(!settings.exists() && !world.path("home/.gsd").exists());
}

#[test]
fn a_file_that_the_host_ignores_already_is_said_so_and_left_alone() {
    let world = World::new();
    let settings = world.path("home/.claude/settings.json");
    let spec = world.bundle("acme-lint").with_refusal().spec();
    for broken in [
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}),
        json!({"hooks": {"Stop": [{"matcher": "x"}]}}),
        json!({"hooks": {"Stop": [{"hooks": [{"type": "shout", "command": "x"}]}]}}),
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "60"}]}]}}),
        json!({"hooks": {"Stop": [{"matcher": 3, "hooks": []}]}}),
        json!({"hooks": {}, "env": []}),
    ] {
        put(&settings, broken.to_string());
        let before = world.tree();
        let refused = install(&world, &spec).fails();
        assert!(refused.stderr.contains("already ignores"), "{broken}: {}", refused.stderr);
        let place = refused.stderr.lines().find(|line| line.trim().starts_with("where:")).unwrap();
        assert!(place.contains("settings.json") && place.contains(" /"), "no entry is named: {place}");
        world.is_as(&before, &broken.to_string());
    }
}

#[test]
fn fr_010_containers_of_another_shape_are_reported_and_kept() {
    let world = World::new();
    let settings = world.path("home/.claude/settings.json");
    let servers = world.path("home/.claude.json");
    let bundle =
        world.bundle("acme-lint").with_refusal().with("mcpServers", json!({"notes": {"command": "true"}}));
    let shapes: [(&std::path::Path, Value, &str); 6] = [
        (&settings, json!({"hooks": {"PreToolUse": {"note": "by another tool"}}}), "PreToolUse"),
        (&settings, json!({"hooks": {"PreToolUse": "none"}}), "PreToolUse"),
        (&settings, json!({"hooks": ["PreToolUse"]}), "hooks"),
        (&settings, json!(["a list"]), "settings.json"),
        (&servers, json!({"mcpServers": []}), "mcpServers"),
        (&servers, json!("text"), ".claude.json"),
    ];
    for (file, shape, named) in shapes {
        put(file, shape.to_string());
        let before = world.tree();
        let refused = install(&world, &bundle.spec()).fails();
        assert!(refused.stderr.contains(named), "{shape}: {}", refused.stderr);
        world.is_as(&before, &shape.to_string());
        std::fs::remove_file(file).unwrap();
    }
    // Null and absent are empty.
    install(&world, &bundle.spec()).succeeds();
}

#[test]
fn fr_011_t111_names_that_are_taken_are_an_outcome_and_stay_the_persons() {
    let world = World::new();
    let bundle = world
        .bundle("acme-lint")
        .with_skill("acme-lint")
        .with("mcpServers", json!({"tides": {"command": "tide-server", "args": ["--stdio"]}}));
    let servers = world.path("home/.claude.json");
    put(&servers, r#"{"mcpServers":{"tides":{"command":"my-own-tides"}}}"#);
    let before = world.tree();
    install(&world, &bundle.spec()).exits(8).says("tides");
    world.is_as(&before, "a server of that name");
    // A skill folder of that name, with other things in it.
    put(&servers, "{}");
    put(world.path("home/.claude/skills/gsd-acme-lint/SKILL.md"), "mine\n");
    let before = world.tree();
    let refused = install(&world, &bundle.spec()).exits(8);
    assert!(refused.stderr.contains("gsd-acme-lint"), "{}", refused.stderr);
    world.is_as(&before, "a skill of that name");
    // Both at once are reported together.
    put(&servers, r#"{"mcpServers":{"tides":{"command":"my-own-tides"}}}"#);
    let refused = install(&world, &bundle.spec()).exits(8);
    assert!(
        refused.stderr.contains("gsd-acme-lint") && refused.stderr.contains("tides"),
        "{}",
        refused.stderr
    );
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    std::fs::remove_file(&servers).unwrap();
    install(&world, &bundle.spec()).succeeds();
    // Edited by hand afterwards, it is the person's and stays.
    put(world.path("home/.claude/skills/gsd-acme-lint/SKILL.md"), "my own words\n");
    let removed = world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    assert!(removed.stdout.contains("left: ") && removed.stdout.contains("SKILL.md"), "{}", removed.stdout);
    assert_eq!(text_of(world.path("home/.claude/skills/gsd-acme-lint/SKILL.md")), "my own words\n");
}

#[test]
fn t135_t136_ledgers_and_records_that_cannot_be_used_block_changes_and_stay() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let ledger = world.path("home/.gsd-capabilities.json");
    for text in [
        "",
        "{",
        "[]",
        "{\"version\":\"2\",\"updatedAt\":\"x\",\"entries\":{}}",
        "{\"version\":\"1\",\"updatedAt\":\"x\",\"entries\":{\"a\":null}}",
    ] {
        put(&ledger, text);
        let before = world.tree();
        install(&world, &spec).fails().says(".gsd-capabilities.json");
        world.gsdctl(["remove", "acme-lint"]).run().fails();
        let listed = world.gsdctl(["list"]).run().succeeds();
        assert!(
            listed.stderr.contains(".gsd-capabilities.json"),
            "{text:?}: nobody is told: {}",
            listed.stderr
        );
        world.is_as(&before, text);
    }
    std::fs::remove_file(&ledger).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&ledger).status().unwrap().success());
    install(&world, &spec).fails();
    world.gsdctl(["list"]).run().succeeds();
    std::fs::remove_file(&ledger).unwrap();
    std::fs::create_dir(&ledger).unwrap();
    install(&world, &spec).fails();
    std::fs::remove_dir(&ledger).unwrap();

    install(&world, &spec).succeeds();
    let folder = world.path("home/.local/state/gsd");
    let state = std::fs::read_dir(folder).unwrap().flatten().map(|home| home.path().join("state.json"));
    let state = state.into_iter().find(|path| path.exists()).unwrap();
    let good = text_of(&state);
    for text in ["", "{", "{\"version\":99}"] {
        put(&state, text);
        let before = world.tree();
        world.gsdctl(["remove", "acme-lint"]).run().fails().says("our records");
        world.gsdctl(["list"]).run().succeeds();
        world.is_as(&before, text);
    }
    put(&state, good);
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
}

#[test]
fn fifos_in_every_place_that_is_read_hang_nothing() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    install(&world, &spec).succeeds();
    for place in [
        "proj/.planning/config.json",
        "proj/.planning/active-workstream",
        "proj/.gsd-capabilities.json",
        "proj/.gsd/capabilities/acme-x/capability.json",
        "proj/.claude/settings.local.json",
        "proj/.mcp.json",
        "home/.gsd/consent.json",
        "home/.gsd/defaults.json",
        "home/.claude/.gsd-profile",
        "home/.claude/.gsd-surface.json",
        "home/.config/gsd/config.toml",
    ] {
        let path = world.path(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        world.gsdctl(["list"]).run().succeeds();
        world.gsdctl(["loop", "render", "plan:pre"]).run().succeeds();
        let hook =
            world.gsdctl(["hook", "PreToolUse", "--host", "claude"]).input(gsd_tests::write_of("x")).run();
        assert_eq!(hook.exit, 0, "{place}: {}", hook.stderr);
        let _ = world.gsdctl(["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"]).run();
        let _ = world.gsdctl(["remove", "acme-lint", "--scope", "project"]).run();
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(world.daemons().len(), 1, "it had to be started again");
}

#[test]
fn hostile_payloads_of_a_host_pass_the_call() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    install(&world, &spec).succeeds();
    let command = ["hook", "PreToolUse", "--host", "claude"];
    let deep = format!("{{\"tool_name\":\"Write\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for input in ["", "null", "[]", "{", "\u{0}\u{1}", "{\"tool_name\":3}", "{\"tool_name\":\"Read\"}", &deep]
    {
        let passed = world.gsdctl(command).input(input).run();
        assert_eq!(passed.exit, 0, "{}: {}", &input[..input.len().min(40)], passed.stderr);
    }
    let long =
        format!("{{\"tool_name\":\"Write\",\"tool_input\":{{\"content\":\"{}\"}}}}", "x".repeat(5_000_000));
    assert!(world.gsdctl(command).input(long).run().succeeds().stdout.contains("refuses"));
    // Mangled registrations never block.
    for args in [
        vec!["hook", "PreToolUse"],
        vec!["hook", "PreToolUse", "--host", "nohost"],
        vec!["hook", "NoSuchEvent", "--host", "claude"],
        vec!["hook", "a", "b", "--host", "claude"],
    ] {
        let passed = world.gsdctl(args.clone()).input("{}").run();
        assert_ne!(passed.exit, 2, "{args:?} blocks: {}", passed.stderr);
    }
}

#[test]
fn t122_t124_names_that_look_like_shipped_ones_are_refused() {
    let world = World::new();
    for (id, told) in [("codereview", "looks like code-review"), ("o11ama", "looks like ollama")] {
        let bundle = world.bundle(id).with_refusal();
        world.gsdctl(["install", &bundle.spec(), "--yes"]).run().exits(8).says(told);
    }
    // A skill in other letters: the first one is Cyrillic.
    let bundle = world.bundle("acme-skills").with_skill("\u{441}ode-review");
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().exits(8).says("looks like");
    assert!(!world.path("home/.gsd").exists());
}
