//! What an orchestrator reads at the points of the loop.

use gsd_tests::{World, put};
use serde_json::{Value, json};

fn example(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("docs/examples").join(name).display().to_string()
}

const POINTS: [&str; 12] = [
    "discuss:pre",
    "discuss:post",
    "plan:pre",
    "plan:post",
    "execute:pre",
    "execute:wave:pre",
    "execute:wave:post",
    "execute:post",
    "verify:pre",
    "verify:post",
    "ship:pre",
    "ship:post",
];

fn render(world: &World, point: &str) -> Value {
    world.gsdctl(["loop", "render", point]).run().succeeds().json()
}

fn owners(envelope: &Value) -> Vec<String> {
    let hooks = envelope["activeHooks"].as_array().unwrap();
    hooks
        .iter()
        .map(|hook| format!("{}/{}", hook["capId"].as_str().unwrap(), hook["kind"].as_str().unwrap()))
        .collect()
}

#[test]
fn capabilities_take_part_where_they_say_and_nowhere_else() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    let all = |world: &World| POINTS.map(|point| owners(&render(world, point)));
    let before = all(&world);
    for name in ["acme-risk-planning", "acme-ship-checklist"] {
        world
            .gsdctl(["install", &example(name), "--scope", "project", "--runtime", "claude", "--yes"])
            .run()
            .succeeds();
    }
    let after = all(&world);
    for ((point, before), after) in POINTS.iter().zip(&before).zip(&after) {
        let added: Vec<&String> = after.iter().filter(|hook| !before.contains(hook)).collect();
        let expected: &[&str] = match *point {
            "plan:pre" => &[
                "acme-risk-planning/step",
                "acme-risk-planning/contribution",
                "acme-ship-checklist/contribution",
            ],
            "verify:post" => &["acme-ship-checklist/step"],
            "ship:pre" => &["acme-ship-checklist/gate"],
            _ => &[],
        };
        assert_eq!(added, expected, "{point}");
        assert!(before.iter().all(|hook| after.contains(hook)), "{point} lost something");
    }
    let plan = render(&world, "plan:pre");
    let fragment = plan["activeHooks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hook| hook["capId"] == "acme-risk-planning" && hook["kind"] == "contribution");
    assert!(fragment.unwrap()["fragment"]["inline"].as_str().unwrap().len() > 20, "{fragment:?}");

    let active = |point: &str, id: &str| {
        world.gsdctl(["loop", "render", point, "--active-cap", id]).run().succeeds().stdout.trim().to_owned()
    };
    assert_ne!(active("plan:pre", "acme-risk-planning"), active("ship:post", "acme-risk-planning"));
    // Switched off in the project's configuration.
    put(world.path("proj/.planning/config.json"), r#"{"acme_ship_checklist":{"enabled":false}}"#);
    assert!(!owners(&render(&world, "ship:pre")).iter().any(|hook| hook.contains("acme")));
    put(world.path("proj/.planning/config.json"), r#"{"acme_risk_planning":{"enabled":false}}"#);
    assert!(owners(&render(&world, "ship:pre")).contains(&"acme-ship-checklist/gate".to_owned()));
    assert!(!owners(&render(&world, "plan:pre")).iter().any(|hook| hook.starts_with("acme-risk")));
    let text = world.gsdctl(["loop", "render", "ship:pre", "--markdown"]).run().succeeds().stdout;
    assert!(text.contains("CHECKLIST.md") && serde_json::from_str::<Value>(&text).is_err(), "{text}");
    world.gsdctl(["loop", "render", "lunch:pre"]).run().exits(2).says("loop points");
}

#[test]
fn d10_a_gate_that_is_missing_is_loud_and_does_not_block() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    world
        .gsdctl([
            "install",
            &example("acme-ship-checklist"),
            "--scope",
            "project",
            "--runtime",
            "claude",
            "--yes",
        ])
        .run()
        .succeeds();
    let manifest = world.path("proj/.gsd/capabilities/acme-ship-checklist/capability.json");
    let good = gsd_tests::text_of(&manifest);
    let loud = |why: &str| {
        let outcome = world.gsdctl(["loop", "render", "ship:pre"]).run().succeeds();
        let envelope = outcome.json();
        assert!(!owners(&envelope).iter().any(|hook| hook.contains("acme")), "{why}");
        let warnings = envelope["warnings"].as_array().unwrap_or_else(|| panic!("{why}: {envelope}")).clone();
        assert!(
            warnings.iter().any(|line| line.as_str().unwrap().contains("acme-ship-checklist")),
            "{why}: {warnings:?}"
        );
        assert!(outcome.stderr.contains("acme-ship-checklist"), "{why}: nothing on standard error");
        assert!(!outcome.stderr.contains("Tide of words"), "{why}: words of a bundle that nobody agreed to");
        // Other points have nothing to say about it.
        let other = world.gsdctl(["loop", "render", "discuss:pre"]).run().succeeds();
        assert!(!other.stderr.contains("acme-ship-checklist"), "{why}: {}", other.stderr);
    };
    put(&manifest, good.replace(">=1.6.0", ">=99.0.0").replace("Ship checklist", "Tide of words"));
    loud("incompatible, and changed since it was agreed to");
    put(&manifest, &good);
    let outcome = world.gsdctl(["loop", "render", "ship:pre"]).run().succeeds();
    assert!(!outcome.stderr.contains("acme"), "{}", outcome.stderr);
    world.gsdctl(["consent", "revoke", "acme-ship-checklist"]).run().succeeds();
    loud("the agreement was taken back");

    // Global: an incompatible one that upstream recorded.
    let world = World::new();
    let folder = world.path("home/.gsd/capabilities/acme-gate");
    let _ = gsd_tests::Bundle::at(&folder, "acme-gate").with("engines", json!({"gsd": ">=99.0.0"})).with_item(
        "gates",
        json!({"point": "ship:pre", "check": {"predicate": {"kind": "artifact-frontmatter-equals", "artifact": "X.md", "field": "f", "equals": 0}}, "blocking": true, "onError": "halt"}),
    );
    let entry = json!({"id": "acme-gate", "version": "1.0.0", "source": "x", "integrity": "", "files": [], "sharedEdits": []});
    put(
        world.path("home/.gsd-capabilities.json"),
        json!({"version": "1", "updatedAt": "2026-01-01T00:00:00.000Z", "entries": {"acme-gate": entry}})
            .to_string(),
    );
    let outcome =
        world.gsdctl(["loop", "render", "ship:pre"]).run().succeeds().says("acme-gate").says("99.0.0");
    assert!(
        outcome.json()["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains("acme-gate"))
    );
}
