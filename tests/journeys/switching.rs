//! `enable`, `disable`, `set`: skills off and on the surface, switches in the project's configuration.

use std::path::Path;

use gsd_tests::{World, put, text_of, write_of};
use serde_json::{Value, json};

#[test]
fn a_capability_rests_and_comes_back_and_files_keep_what_is_theirs() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let switches =
        json!({"acme-lint.strict": {"type": "boolean", "default": true, "description": "Strict."}});
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint").with("config", switches);
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    let settings = world.path("home/.claude/settings.json");
    let objects = || {
        let said = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run();
        (said.stdout + &said.stderr).contains("acme-lint refuses")
    };
    assert!(objects());
    let before = world.tree();
    world
        .gsdctl(["disable", "acme-lint", "--dry-run"])
        .run()
        .succeeds()
        .prints(".gsd-surface.json")
        .prints("acme-lint");
    world.is_as(&before, "only planned");
    world.gsdctl(["disable", "acme-lint"]).run().succeeds().prints("not on the surface, not active");
    assert!(!objects(), "its hooks rest too");
    let again = world.gsdctl(["disable", "acme-lint", "--json"]).run().succeeds().json();
    assert_eq!(again["changed"], false);

    // Another tool keeps members of its own in the file.
    let surface = world.path("home/.claude/.gsd-surface.json");
    let with_more = text_of(&surface).replacen('{', "{\n  \"later\": 1e3,", 1);
    put(&surface, &with_more);
    world.gsdctl(["enable", "acme-lint"]).run().succeeds().prints("on the surface, active");
    assert!(objects());
    assert_eq!(text_of(&surface), with_more.replace("[\n    \"acme-lint\"\n  ]", "[]"));

    let config = world.path("proj/.planning/config.json");
    put(&config, "{\n  \"mode\":   \"interactive\", \"n\": 1.50\n}\n");
    world.gsdctl(["set", "acme-lint", "--gate", "acme-lint.strict=false"]).run().succeeds();
    let text = text_of(&config);
    assert!(text.contains("\"mode\":   \"interactive\", \"n\": 1.50"), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["acme-lint"]["strict"], false);
    world.gsdctl(["set", "acme-lint", "--gate", "acme-lint.strict=true"]).run().succeeds();
    assert_eq!(text_of(&config), text.replace("false", "true"));
    drop(bundle);
}

#[test]
fn objections_come_before_anything_is_written() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    put(world.path("home/.claude/.gsd-surface.json"), "{broken");
    let before = world.tree();
    let refused = |args: &[&str], exit: u8, words: &str| {
        world.gsdctl(args.iter().copied()).run().exits(exit).says(words);
        world.is_as(&before, words);
    };
    refused(&["enable", "acme-lint"], 2, "the surface file can't be used");
    refused(&["disable", "nobody"], 7, "nobody is not installed");
    refused(&["set", "acme-lint"], 2, "required arguments");
    refused(&["set", "acme-lint", "--on", "--off"], 2, "cannot be used with");
    refused(&["set", "acme-lint", "--gate", "x"], 2, "KEY=true");
    std::fs::remove_file(world.path("home/.claude/.gsd-surface.json")).unwrap();
    let before = world.tree();
    world
        .gsdctl(["set", "acme-lint", "--off", "--gate", "other.key=true"])
        .run()
        .exits(2)
        .says("other.key is no configuration key of acme-lint")
        .says("only skills can be taken off the surface");
    world.is_as(&before, "two objections");
    drop(bundle);
}

/// Makes a tree of the composition scenarios.
fn plant(root: &Path, case: &Value) {
    for entry in case["tree"].as_array().unwrap() {
        let path = root.join(entry["path"].as_str().unwrap());
        match entry["type"].as_str().unwrap() {
            "dir" => std::fs::create_dir_all(&path).unwrap(),
            "file" => match entry["content"].as_str() {
                Some(text) => put(&path, text),
                None => put(&path, serde_json::to_string_pretty(&entry["json"]).unwrap() + "\n"),
            },
            other => panic!("{other} in {path:?}"),
        }
    }
}

/// Every `set` question of the composition scenarios, through the drop-in command. An objection is an error and no
/// document; `docs/deviations.md` says so.
#[test]
fn recorded_switches() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/composition");
    let mut played = 0;
    let mut cases: Vec<_> =
        std::fs::read_dir(vectors.join("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for path in cases {
        let case: Value = serde_json::from_str(&text_of(&path)).unwrap();
        let Some(questions) = case["set"].as_array() else { continue };
        let id = case["id"].as_str().unwrap();
        let world = World::new();
        plant(&world.path(""), &case);
        let base = world.path("base");
        copy(&vectors.join("base"), &base);
        for file in ["host-contract.json", "central-config.json"] {
            put(base.join(file), text_of(vectors.join("support").join(file)));
        }
        for question in questions {
            let expect = &question["expect"];
            let argv = question["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let answer = world
                .gsdctl(["capability"])
                .args(argv)
                .args(["--config-dir", world.home().join(".lantern").to_str().unwrap(), "--raw"])
                .env("GSD_BASE", &base)
                .run();
            let what = format!("{id} {}: {} {}", question["argv"], answer.stdout, answer.stderr);
            assert_eq!(answer.exit == 0, expect["exit"] == 0, "{what}");
            let document: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
            if expect["exit"] == 0 {
                let warnings = document["warnings"].as_array().unwrap().len() as u64;
                assert_eq!(Some(warnings), expect["warnings"].as_u64(), "{what}");
                assert_eq!(document["errors"], json!([]), "{what}");
            } else {
                assert_eq!(answer.stdout, "", "{what}");
                assert!(answer.stderr.starts_with("error["), "{what}");
            }
            if let Some(file) = expect.get("surfaceFile") {
                let text = text_of(world.home().join(".lantern/.gsd-surface.json"));
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *file, "{what}");
            }
            if let Some(file) = expect.get("projectConfig") {
                let text = text_of(world.path("proj/.planning/config.json"));
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *file, "{what}");
            }
            if let (Some(after), Some(target)) = (expect.get("after"), question["argv"][1].as_str()) {
                let state = world
                    .gsdctl(["capability", "state", target])
                    .args(["--config-dir", world.home().join(".lantern").to_str().unwrap()])
                    .env("GSD_BASE", &base)
                    .run()
                    .succeeds();
                let state: Value = serde_json::from_str(&state.stdout).unwrap();
                for (member, value) in after.as_object().unwrap() {
                    assert_eq!(&state["capabilities"][0][member], value, "{member} of {what}");
                }
            }
            played += 1;
        }
    }
    assert!(played >= 14, "{played}");
    println!("set: {played} questions as recorded");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
