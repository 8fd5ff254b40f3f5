//! The record of what changed what can run: complete, bound line by line, and found out when it was touched.

use gsd_tests::{World, bytes_of, put, text_of, wait_for, write_of};
use serde_json::{Value, json};

fn events(world: &World) -> Vec<Value> {
    let tail = world.gsdctl(["audit", "tail", "--lines", "1000", "--json"]).run().succeeds().json();
    tail["data"].as_array().unwrap().clone()
}

fn kinds(world: &World) -> Vec<String> {
    events(world).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_decision_that_changes_what_can_run_is_one_line() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let _ = world.start_daemon();
    world.gsdctl(["audit", "tail"]).run().succeeds().prints("nothing is recorded");
    world.gsdctl(["audit", "verify"]).run().succeeds().prints("nothing is recorded");
    let bundle = world.bundle("acme-lint").with_refusal();
    let spec = bundle.spec();
    let install = ["install", &spec, "--scope", "project", "--runtime", "claude"];
    // Looking and declining change nothing, and are not recorded.
    world.gsdctl(install).arg("--dry-run").run().succeeds();
    world.gsdctl(install).run().exits(3);
    assert!(events(&world).is_empty());

    world.gsdctl(install).arg("--yes").run().succeeds();
    let installed = events(&world)[0].clone();
    for (member, value) in
        [("event", "installed"), ("id", "acme-lint"), ("scope", "project"), ("consent", "blanket")]
    {
        assert_eq!(installed[member], value, "{installed}");
    }
    assert_eq!(installed["source"], spec);
    assert!(installed["content_hash"].as_str().unwrap().starts_with("sha512-"), "{installed}");
    // A repetition does nothing.
    world.gsdctl(install).arg("--yes").run().succeeds();
    assert_eq!(kinds(&world), ["installed"]);

    let settings = world.path("proj/.claude/settings.local.json");
    let denied = world.hook_of(&settings, "PreToolUse").input(write_of("secret-name")).run().succeeds();
    assert!(denied.stdout.contains("deny"));
    wait_for("the denied hook in the log", || kinds(&world) == ["installed", "hook_denied"]);
    assert!(!text_of(log(&world)).contains("secret-name"), "what the host was about to do is recorded");

    let script = world.path("proj/.gsd/capabilities/acme-lint/hooks/refuse.sh");
    let agreed = bytes_of(&script);
    put(&script, "#!/bin/sh\necho evil\n");
    world.gsdctl(["list"]).run().succeeds();
    put(&script, &agreed);
    world.gsdctl(["list"]).run().succeeds();
    put(bundle.path("hooks/refuse.sh"), "#!/bin/sh\nexit 0\n");
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    world.gsdctl(["rollback", "acme-lint"]).run().succeeds();
    world.gsdctl(["consent", "revoke", "acme-lint"]).run().succeeds();
    world.gsdctl(["consent", "grant", "acme-lint", "--yes"]).run().succeeds();
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let all = [
        "installed",
        "hook_denied",
        "content_changed",
        "content_restored",
        "updated",
        "rolled_back",
        "revoked",
        "granted",
        "removed",
    ];
    assert_eq!(kinds(&world), all);
    let of_one = ["audit", "tail", "--event", "removed", "--id", "acme-lint", "--json"];
    assert_eq!(world.gsdctl(of_one).run().succeeds().json()["data"].as_array().unwrap().len(), 1);
    world.gsdctl(["audit", "tail", "--event", "nonsense"]).run().exits(2).says("events are: installed");
    let shown = world.gsdctl(["audit", "tail", "--lines", "1"]).run().succeeds();
    assert!(shown.stdout.contains("removed") && shown.stdout.lines().count() == 1, "{}", shown.stdout);

    let whole = world.gsdctl(["audit", "verify", "--json"]).run().succeeds().json();
    assert_eq!((&whole["data"]["whole"], &whole["data"]["lines"]), (&json!(true), &json!(all.len())));
    let head = whole["data"]["head"].as_str().unwrap();

    // Changed, shortened, and cut off.
    let text = text_of(log(&world));
    put(log(&world), text.replacen("\"consent\":\"blanket\"", "\"consent\":\"agreed\"", 1));
    world.gsdctl(["audit", "verify"]).run().exits(11).prints("line 1: its text was changed");
    let lines: Vec<&str> = text.lines().collect();
    put(log(&world), format!("{}\n{}\n", lines[0], lines[2..].join("\n")));
    world.gsdctl(["audit", "verify"]).run().exits(11).prints("line 2: it does not follow");
    put(log(&world), format!("{}\n", lines[..lines.len() - 1].join("\n")));
    world.gsdctl(["audit", "verify"]).run().succeeds();
    world.gsdctl(["audit", "verify", "--head", head]).run().exits(11).prints("lines were cut off");
    put(log(&world), &text);
    world.gsdctl(["audit", "verify", "--head", head]).run().succeeds().prints("9 lines");
}

fn log(world: &World) -> std::path::PathBuf {
    let homes = std::fs::read_dir(world.path("home/.local/state/gsd")).unwrap();
    homes.flatten().map(|home| home.path().join("audit/audit.jsonl")).find(|path| path.exists()).unwrap()
}

#[test]
fn switching_is_recorded_in_words() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("proj/.planning/config.json"), "{}");
    let switches =
        json!({"acme-lint.strict": {"type": "boolean", "default": true, "description": "Strict."}});
    let bundle = world.bundle("acme-lint").with_refusal().with("config", switches);
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
    world.gsdctl(["set", "acme-lint", "--gate", "acme-lint.strict=false"]).run().succeeds();
    let switched = events(&world).pop().unwrap();
    assert_eq!(
        (&switched["event"], &switched["detail"]),
        (&json!("switched"), &json!("acme-lint.strict=false"))
    );
}

#[test]
fn what_is_refused_is_recorded_and_what_can_not_be_recorded_is_said() {
    let world = World::new();
    put(world.path("proj/.planning/config.json"), r#"{"capabilities":{"strict_known_registries":[]}}"#);
    let _ = world.start_daemon();
    world.gsdctl(["install", "https://u:secret@forge.example/x.git#v1"]).run().fails();
    world.gsdctl(["install", "https://forge.example/x.git#v1"]).run().exits(4);
    wait_for("the refusal in the log", || kinds(&world) == ["policy_refused"]);
    let refused = &events(&world)[0];
    assert!(refused["source"].as_str().unwrap().contains("forge.example"), "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("policy."), "{refused}");
    assert!(!text_of(log(&world)).contains("secret"));

    // A folder in the place of the file: everything else works, and somebody says so.
    put(world.path("proj/.planning/config.json"), "{}");
    let folder = log(&world);
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
    world.gsdctl(["daemon", "status"]).run().succeeds().says("the audit log can't be written");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
}
