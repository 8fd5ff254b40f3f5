//! MCP servers and command families: what stands in the host's files runs, and what was tampered with does not.

use gsd_tests::{World, bytes_of, put, text_of};
use serde_json::{Value, json};

fn example(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("docs/examples").join(name).display().to_string()
}

/// The program of a server entry, about to be run as a host runs it.
fn server_of(world: &World, file: &str, name: &str) -> gsd_tests::Run {
    let document: Value = serde_json::from_slice(&bytes_of(world.path(file))).unwrap();
    let entry = &document["mcpServers"][name];
    let command = entry["command"].as_str().unwrap_or_else(|| panic!("no server in {document}"));
    let mut run = match command.starts_with('/') {
        true => world.outside_program(std::path::Path::new(command)),
        false => world.outside_program(&std::path::Path::new("/bin").join(command)),
    };
    for arg in entry["args"].as_array().into_iter().flatten() {
        run = run.arg(arg.as_str().unwrap());
    }
    run
}

fn conversation() -> String {
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "add_note", "arguments": {"text": "hello"}}}),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

#[test]
fn the_notes_server_runs_as_the_host_starts_it() {
    for (scope, file) in [("global", "home/.claude.json"), ("project", "proj/.mcp.json")] {
        let world = World::new();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        if scope == "global" {
            put(world.path(file), "{\n  \"numStartups\": 3,\n  \"projects\": {}\n}\n");
        }
        let before = world.tree();
        let source = example("acme-notes-mcp");
        world.gsdctl(["install", &source, "--scope", scope, "--runtime", "claude", "--yes"]).run().succeeds();
        if scope == "project" {
            // FR-015: nothing of this machine in a file that is shared.
            let text = text_of(world.path(file));
            assert!(!text.contains(world.path("").to_str().unwrap()), "{text}");
        }
        let installed = world.tree();
        let talk = server_of(&world, file, "acme-notes").input(conversation()).run().succeeds();
        let answers: Vec<Value> =
            talk.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap()["result"].clone();
        assert!(answer(1)["serverInfo"]["name"].is_string(), "{answers:?}");
        let tools: Vec<Value> =
            answer(2)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(tools, ["add_note", "list_notes"]);
        assert_ne!(answer(3)["isError"], true, "{answers:?}");
        // It works in the project and not in the store or the bundle.
        let note = installed.difference(&world.tree());
        assert!(note.starts_with("appeared  proj/") && note.lines().count() == 1, "{note}");

        let script = world.path(if scope == "global" { "home" } else { "proj" });
        let script = script.join(".gsd/capabilities/acme-notes-mcp/server/notes.py");
        let agreed = bytes_of(&script);
        put(&script, "print('evil')\n");
        let refused = server_of(&world, file, "acme-notes").input(conversation()).run();
        assert!(refused.exit >= 200 && refused.stdout.is_empty(), "{}: {}", refused.exit, refused.stdout);
        assert!(refused.stderr.contains("acme-notes-mcp"), "{}", refused.stderr);
        put(&script, agreed);
        let again = server_of(&world, file, "acme-notes").input(conversation()).run().succeeds();
        assert!(again.stdout.contains("list_notes"));

        let text = note.split_once(": file").unwrap().0.trim_start_matches("appeared  ").to_owned();
        std::fs::remove_file(world.path(text)).unwrap();
        world.gsdctl(["remove", "acme-notes-mcp"]).run().succeeds();
        world.is_as(&before, scope);
        let gone = world.gsdctl(["mcp", "exec", "acme-notes-mcp", "acme-notes"]).run();
        assert!(gone.exit >= 200, "{}", gone.exit);
    }
}

#[test]
fn a_server_that_starts_an_outside_program_is_registered_as_declared() {
    let world = World::new();
    let config = json!({"command": "uvx", "args": ["tides", "--stdio"], "env": {"TIDES": "high"}});
    let bundle = world.bundle("acme-tides").with("mcpServers", json!({"tides": config}));
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    let document: Value = serde_json::from_slice(&bytes_of(world.path("home/.claude.json"))).unwrap();
    let entry = &document["mcpServers"]["tides"];
    for member in ["command", "args", "env"] {
        assert_eq!(entry[member], config[member]);
    }
    // The person changed it: it is theirs now.
    put(world.path("home/.claude.json"), document.to_string().replace("high", "low"));
    let before = text_of(world.path("home/.claude.json"));
    let removed = world.gsdctl(["remove", "acme-tides"]).run();
    assert_eq!(text_of(world.path("home/.claude.json")), before, "{}{}", removed.stdout, removed.stderr);
    assert!(
        removed.stdout.contains("left: ") && removed.stdout.contains("tides"),
        "{}{}",
        removed.stdout,
        removed.stderr
    );
}

#[test]
fn t186_the_standup_command_runs_with_the_persons_streams_and_status() {
    let world = World::new();
    if !std::path::Path::new("/usr/bin/node").exists() {
        eprintln!("skipped: there is no node here");
        return;
    }
    let repository = world.repository("proj.git");
    put(repository.folder().join("x"), "x");
    repository.commit();
    let source = example("acme-standup");
    world.gsdctl(["install", &source, "--yes"]).run().succeeds();
    let standup =
        |args: &[&str]| world.gsdctl(["run", "standup"]).args(args.iter().copied()).cwd(repository.folder());
    let shown = standup(&["--since", "10 years ago"]).run().succeeds();
    assert!(shown.stdout.contains("a commit") && shown.stdout.contains('t'), "{}", shown.stdout);
    // Its own failure is its own status, below ours.
    let usage = standup(&["--nonsense"]).run().fails();
    assert!(usage.exit < 200, "{}", usage.exit);
    let unknown = world.gsdctl(["run", "no-such-command"]).run();
    assert!(unknown.exit >= 200, "{}", unknown.exit);

    let module = world.path("home/.gsd/capabilities/acme-standup/standup.cjs");
    let agreed = bytes_of(&module);
    put(&module, "console.log('evil'); module.exports = {};\n");
    let refused = standup(&[]).run();
    assert!(refused.exit >= 200 && !refused.stdout.contains("evil"), "{}: {}", refused.exit, refused.stdout);
    assert!(refused.stderr.contains("acme-standup does not run"), "{}", refused.stderr);
    put(&module, agreed);
    standup(&[]).run().succeeds();
    world.gsdctl(["consent", "revoke", "acme-standup"]).run().succeeds();
    let revoked = standup(&[]).run();
    assert!(revoked.exit >= 200, "{}", revoked.exit);
}

#[test]
fn an_executable_command_gets_its_arguments_as_they_are() {
    let world = World::new();
    let bundle = world
        .bundle("acme-echo")
        .with_item("commands", json!({"family": "echo", "exec": "bin/echo.sh"}))
        .with_file(
            "bin/echo.sh",
            "#!/bin/sh\nfor word in \"$@\"; do printf '<%s>' \"$word\"; done\ncat\nexit 7\n",
        );
    gsd_tests::set_mode(bundle.path("bin/echo.sh"), 0o755);
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
    let run = world.gsdctl(["run", "echo", "a b", "--json", "$HOME", "", "--", "-x"]).input("typed").run();
    assert_eq!((run.exit, run.stdout.as_str()), (7, "<a b><--json><$HOME><><--><-x>typed"), "{}", run.stderr);
}
