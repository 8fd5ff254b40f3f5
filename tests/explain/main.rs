//! `gsdctl registry explain`, `registry graph` and `registry get` through the real programs.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a panic is the report, and nobody else reads these files"
)]

use gsd_tests::World;
use serde_json::{Value, json};

fn feature(id: &str, members: &Value) -> Value {
    let mut manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "T", "description": "D", "tier": "full",
        "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "config": {}, "steps": [], "contributions": [], "gates": [],
    });
    for (key, value) in members.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest
}

fn put(world: &World, folder: &str, manifest: &Value) {
    let folder = world.path(folder).join(manifest["id"].as_str().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("capability.json"), manifest.to_string()).unwrap();
}

/// A switchable capability that is installed, one whose skill is taken, and one of the project.
fn world() -> World {
    let world = World::new();
    std::fs::create_dir(world.path("proj/.planning")).unwrap();
    let on = json!({"acme.on": {"type": "boolean", "default": true, "description": "D"}});
    let acme = feature("acme", &json!({"skills": ["acme-lint"], "config": on, "activationKey": "acme.on"}));
    put(&world, "src", &acme);
    std::fs::create_dir_all(world.path("src/acme/skills/acme-lint")).unwrap();
    std::fs::write(world.path("src/acme/skills/acme-lint/SKILL.md"), "x").unwrap();
    world.gsdctl(["install", "../src/acme", "--yes"]).run().succeeds();
    let gate = json!([{"point": "ship:pre", "check": {"query": "q"}, "blocking": true, "onError": "halt"}]);
    let copy = feature("copy", &json!({"skills": ["acme-lint"], "gates": gate}));
    put(&world, "home/.gsd/capabilities", &copy);
    put(&world, "proj/.gsd/capabilities", &feature("stranger", &json!({"title": "Trust me"})));
    world
}

fn explain(world: &World, subject: &str) -> Value {
    let document = world.gsdctl(["registry", "explain", subject, "--json"]).run().succeeds().json();
    assert_eq!(document["schema"], "gsd/v1/registry-explain");
    document["data"].clone()
}

#[test]
fn every_answer_names_verdict_rule_parties_predicates_and_fixes() {
    let world = world();
    let active = explain(&world, "acme");
    assert_eq!((&active["subject"], &active["verdict"]), (&json!("capability:acme"), &json!("active")));
    let copy = explain(&world, "copy");
    assert_eq!((&copy["verdict"], &copy["rule"]), (&json!("skipped"), &json!("overlay.skill.claimed")));
    assert_eq!(copy["parties"][0]["id"], "acme");
    assert_eq!(copy["fixes"][1]["argv"], json!(["gsdctl", "remove", "copy", "--scope", "global"]));
    let stranger = explain(&world, "stranger");
    assert_eq!(stranger["verdict"], "inactive");
    assert!(!stranger.to_string().contains("Trust me"));
    let skill = explain(&world, "acme-lint");
    assert_eq!(skill["parties"].as_array().unwrap().len(), 2);
}

#[test]
fn a_switch_in_a_file_is_named_with_the_file() {
    let world = world();
    std::fs::write(world.path("proj/.planning/config.json"), r#"{"acme":{"on":false}}"#).unwrap();
    let off = explain(&world, "acme");
    assert_eq!(off["verdict"], "inactive", "{off}");
    let predicates = off["predicates"].as_array().unwrap();
    let switch = predicates.iter().find(|predicate| predicate["name"] == "config acme.on").unwrap();
    assert!(switch["origin"].as_str().unwrap().ends_with("proj/.planning/config.json"), "{switch}");
    let key = explain(&world, "key:acme.on");
    assert_eq!(key["predicates"][0]["value"], "false");
}

#[test]
fn names_of_several_things_and_of_nothing() {
    let world = world();
    let acme = feature("acme-lint", &json!({}));
    put(&world, "home/.gsd/capabilities", &acme);
    let both = explain(&world, "acme-lint");
    assert_eq!(both["verdict"], "ambiguous");
    let subjects: Vec<&Value> =
        both["meanings"].as_array().unwrap().iter().map(|meaning| &meaning["subject"]).collect();
    assert_eq!(subjects, ["capability:acme-lint", "skill:acme-lint"]);
    let one = explain(&world, "skill:acme-lint");
    assert_eq!(one["verdict"], "active");
    let nothing = world.gsdctl(["registry", "explain", "acm", "--json"]).run().exits(7).json();
    assert_eq!(
        nothing["error"]["fix"][0]["argv"],
        json!(["gsdctl", "registry", "explain", "capability:acme"])
    );
    world.gsdctl(["registry", "explain", "\u{1b}[2J"]).run().exits(7).says(r"\u{1b}[2J");
}

#[test]
fn the_graph_is_the_same_each_time_and_shows_what_is_left_out() {
    let world = world();
    for format in ["dot", "mermaid", "svg"] {
        let draw = || world.gsdctl(["registry", "graph", "--format", format]).run().succeeds().stdout;
        let drawing = draw();
        assert_eq!(drawing, draw(), "{format}");
        for name in ["acme", "copy (skipped)", "stranger (skipped)", "ship:pre"] {
            assert!(drawing.contains(name), "{format}: {name}");
        }
        assert!(!drawing.contains("Trust me"));
    }
    let data = world.gsdctl(["registry", "graph", "--json"]).run().succeeds().json();
    let edges = data["data"]["edges"].as_array().unwrap();
    let missing = json!({"from": "copy", "to": "ship:pre", "kind": "gate", "label": "missing gate"});
    assert!(edges.contains(&missing), "{edges:?}");
    world.gsdctl(["registry", "graph", "--format", "png"]).run().exits(2);
}

#[test]
fn every_view_can_be_asked_for() {
    let world = world();
    let get = |view: &str| {
        world.gsdctl(["registry", "get", "--view", view, "--json"]).run().succeeds().json()["data"].clone()
    };
    let all = get("all");
    for (view, member) in [
        ("capabilities", "capabilities"),
        ("by-skill", "bySkill"),
        ("by-agent", "byAgent"),
        ("by-loop-point", "byLoopPoint"),
        ("config", "configSchema"),
        ("config-keys", "configKeys"),
        ("families", "commandFamilies"),
        ("runtimes", "runtimes"),
        ("clusters", "capabilityClusters"),
        ("profiles", "profileMembership"),
        ("overlay", "_overlay"),
    ] {
        assert_eq!(get(view), all[member], "{view}");
    }
    assert_eq!(get("requires-closure")["acme"], json!([]));
    world.gsdctl(["registry", "get", "--view", "none"]).run().exits(2).says("requires-closure");
}
