//! The answers do not depend on who gives them.

use gsd_tests::{World, put};
use serde_json::Value;

/// One journey; every command with `extra` behind it, and what came of each.
fn journey(extra: &[&str]) -> (World, Vec<(i32, Value)>, Vec<gsd_tests::Tree>) {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("home/.claude/settings.json"), "{\"model\":\"opus\"}\n");
    let spec = world.bundle("acme-lint").with_refusal().with_skill("acme-lint").spec();
    let _ = world.bundle("acme-broken").with("version", 1.into());
    let broken = world.path("src/acme-broken").display().to_string();
    let mut answers = Vec::new();
    let mut trees = Vec::new();
    let commands: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["install", &spec],
        vec!["install", &spec, "--yes", "--runtime", "claude", "--dry-run"],
        vec!["install", &spec, "--yes", "--runtime", "claude"],
        vec!["install", &spec, "--yes", "--runtime", "claude"],
        vec!["install", &broken, "--yes"],
        vec!["install", "./nowhere"],
        vec!["list"],
        vec!["consent", "list"],
        vec!["hook", "list"],
        vec!["loop", "render", "plan:pre"],
        vec!["loop", "points"],
        vec!["registry", "get", "--view", "by-skill"],
        vec!["runtime", "list"],
        vec!["consent", "revoke", "acme-lint"],
        vec!["list"],
        vec!["remove", "acme-lint"],
        vec!["remove", "acme-lint"],
        vec!["list"],
    ];
    for command in commands {
        let outcome = world.gsdctl(command.iter().copied()).arg("--json").args(extra.iter().copied()).run();
        let mut text = outcome.stdout.replace(world.path("").to_str().unwrap(), "/world/");
        // Our own folders carry a digest of the home's path.
        while let Some(at) = text.find("/gsd/home-") {
            text.replace_range(at..at + "/gsd/home-01234567".len(), "/gsd/OURS");
        }
        let mut answer: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command:?}: {error}: {text}"));
        blot_out(&mut answer);
        answers.push((outcome.exit, answer));
        trees.push(world.tree().without_times());
    }
    (world, answers, trees)
}

/// Times and process ids, which are never the same.
fn blot_out(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let differs =
                    ["consentedAt", "p50_us", "p99_us", "calls", "snapshot"].contains(&name.as_str());
                if differs {
                    *member = Value::Null;
                } else {
                    blot_out(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blot_out),
        Value::String(text) if text.contains(".staging/") || text.contains(".discard-") => {
            *text = "a temporary name".to_owned();
        }
        _ => {}
    }
}

#[test]
fn with_and_without_the_daemon_every_answer_is_the_same() {
    let (with, answers, trees) = journey(&[]);
    let (without, private_answers, private_trees) = journey(&["--no-daemon"]);
    assert_eq!((with.daemons().len(), without.daemons().len()), (1, 0));
    for (at, (one, other)) in answers.iter().zip(&private_answers).enumerate() {
        assert_eq!(one, other, "command {at}");
    }
    assert_eq!(answers.len(), private_answers.len());
    assert_eq!(trees.first().map(|tree| format!("{tree:?}")), trees.last().map(|tree| format!("{tree:?}")));
    let last = private_trees.len() - 1;
    let difference = private_trees[0].difference(&private_trees[last]);
    assert!(difference.is_empty(), "{difference}");
}
