//! What an author sees.

use serde_json::json;

use crate::desk::{Desk, good};

#[test]
fn everything_is_told_at_once_with_place_and_remedy() {
    let desk = Desk::new();
    let mut manifest = good();
    manifest["tier"] = json!("huge");
    manifest["skills"] = json!(["lint"]);
    manifest["hooks"] = json!([{"event": "Stop", "script": "hooks/stop.sh"}]);
    manifest["gatez"] = json!([]);
    desk.put(serde_json::to_string_pretty(&manifest).unwrap().as_bytes());
    let outcome = desk.validate(&[]).exits(2);
    let expected = "\
error[manifest.tier.enum]: `tier` is `core`, `standard` or `full`. Known words: core, standard, full.
  where: acme/capability.json:7:11 /tier
  fix:   Use one of the known words

error[bundle.file.declared]: `hooks/stop.sh` is declared to run and is not a file of the bundle.
";
    assert!(outcome.stdout.starts_with(expected), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("warning[manifest.warn.unknown-member]: Nothing reads the member `gatez`.")
    );
    assert!(outcome.stdout.contains("warning[bundle.warn.skill-file]"));
    assert!(outcome.stdout.ends_with("acme: 2 problems, 2 warnings\n"), "{}", outcome.stdout);
    let document = desk.validate(&["--json"]).exits(2).json();
    assert_eq!(document["schema"], "gsd/v1/validate");
    assert_eq!(document["exit"], 2);
    assert_eq!(document["error"]["code"], "manifest.invalid");
    let problem = &document["data"]["problems"][0];
    assert_eq!(
        (&problem["rule"], &problem["pointer"], &problem["line"], &problem["column"]),
        (&json!("manifest.tier.enum"), &json!("/tier"), &json!(7), &json!(11))
    );
}

#[test]
fn the_file_can_be_named_too_and_from_anywhere() {
    let desk = Desk::new();
    desk.put(good().to_string().as_bytes());
    let world = &desk.world;
    world.gsdctl(["validate", "acme/capability.json"]).run().succeeds();
    world.gsdctl(["validate", "."]).cwd(world.path("proj/acme")).run().succeeds();
    world.gsdctl(["validate", "capability.json"]).cwd(world.path("proj/acme")).run().succeeds();
    world.gsdctl(["-C", "acme", "validate", "."]).run().succeeds();
    world.gsdctl(["validate", "../proj/acme"]).run().succeeds();
    for nowhere in ["none", "acme/none.json", "../../../../../../none"] {
        world.gsdctl(["validate", nowhere]).run().exits(2).says("is neither a folder nor");
    }
}

#[test]
fn sarif_is_one_document_for_other_tools() {
    let desk = Desk::new();
    let mut manifest = good();
    manifest["version"] = json!("1");
    desk.put(manifest.to_string().as_bytes());
    let document = desk.validate(&["--sarif"]).exits(2).json();
    assert_eq!(document["version"], "2.1.0");
    let result = &document["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "manifest.version.semver");
    assert_eq!(result["level"], "error");
    let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/proj/acme/capability.json"), "{uri}");
    let both = desk.validate(&["--sarif", "--json"]).exits(2).json();
    assert_eq!(both["error"]["code"], "usage.invalid");
    desk.put(good().to_string().as_bytes());
    let clean = desk.validate(&["--sarif"]).succeeds().json();
    assert_eq!(clean["runs"][0]["results"], json!([]));
}

#[test]
fn merged_also_looks_at_what_is_there() {
    let desk = Desk::new();
    let mut manifest = good();
    // A key of a shipped capability, and a requirement that nobody fulfils.
    manifest["config"] = json!({
        "workflow.tdd_mode": {"type": "boolean", "default": false, "description": "D"},
    });
    desk.put(manifest.to_string().as_bytes());
    desk.expect_valid("alone");
    let document = desk.validate(&["--merged", "--json"]).exits(2).json();
    let problem = &document["data"]["problems"][0];
    assert_eq!(problem["rule"], "overlay.config-key.claimed", "{document}");
    assert_eq!(problem["pointer"], "/config/workflow.tdd_mode");
    assert_eq!(problem["line"], 1);
    let mut manifest = good();
    manifest["requires"] = json!(["nobody-has-this"]);
    desk.put(manifest.to_string().as_bytes());
    desk.expect_valid("alone");
    let document = desk.validate(&["--merged", "--json"]).exits(2).json();
    assert_eq!(document["data"]["problems"][0]["rule"], "cross.requires.exists", "{document}");
    // Its installed self is what it replaces, not something in the way.
    desk.put(good().to_string().as_bytes());
    desk.world.gsdctl(["install", "./acme", "--yes"]).run().succeeds();
    desk.validate(&["--merged"]).succeeds();
}

#[test]
fn nothing_is_written_where_the_author_works() {
    let desk = Desk::new();
    desk.put(good().to_string().as_bytes());
    desk.validate(&["--merged"]).succeeds();
    let names: Vec<_> =
        std::fs::read_dir(desk.world.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["acme"]);
    let names: Vec<_> =
        std::fs::read_dir(desk.file("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["capability.json"]);
}

#[test]
fn what_the_project_ships_and_shows_is_valid() {
    let desk = Desk::new();
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for folder in ["capabilities", "docs/examples"] {
        for entry in std::fs::read_dir(repository.join(folder)).unwrap() {
            let bundle = entry.unwrap().path();
            if bundle.join("capability.json").is_file() {
                let outcome = desk.world.gsdctl(["validate", bundle.to_str().unwrap()]).run().succeeds();
                assert!(outcome.stdout.ends_with(": valid\n"), "{}", outcome.stdout);
                count += 1;
            }
        }
    }
    assert!(count > 40);
}
