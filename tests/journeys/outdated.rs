//! What is newer where it came from, source by source; and the version of a repository that runs here.

use gsd_tests::{World, put, text_of};
use serde_json::{Value, json};

fn rows(world: &World, args: &[&str]) -> Vec<Value> {
    let listed = world.gsdctl([&["outdated", "--json"], args].concat()).run().succeeds().json();
    listed["data"].as_array().unwrap().clone()
}

fn row(world: &World, id: &str) -> (String, Value) {
    let row = rows(world, &[]).into_iter().find(|row| row["id"] == id).unwrap();
    (row["status"].as_str().unwrap().to_owned(), row["latest"].clone())
}

/// Lets the ledger say that a capability came from somewhere else.
fn recorded_as(world: &World, source: &str) {
    let file = world.path("home/.gsd-capabilities.json");
    let mut ledger: Value = serde_json::from_str(&text_of(&file)).unwrap();
    ledger["entries"]["acme-log"]["source"] = json!(source);
    put(&file, format!("{}\n", serde_json::to_string_pretty(&ledger).unwrap()));
}

#[test]
fn each_kind_of_source_has_its_answer() {
    let world = World::new();
    let bundle = world.bundle("acme-log").with_skill("acme-log");
    world.gsdctl(["install", &bundle.spec()]).run().succeeds();
    assert_eq!(row(&world, "acme-log"), ("current".to_owned(), json!("1.0.0")));
    drop(bundle.with("version", json!("1.2.0")));
    assert_eq!(row(&world, "acme-log"), ("outdated".to_owned(), json!("1.2.0")));
    let repository = world.repository("log.git");
    put(repository.folder().join("x"), "x");
    repository.commit();
    for tag in ["v1.0.0", "v1.10.0", "v1.9.0", "v2.0.0-rc.1", "latest"] {
        repository.git(&["tag", "-a", "-m", "t", tag]);
    }
    repository.git(&["branch", "release"]);
    let before = world.tree();
    for (source, status, latest) in [
        ("https://forge.example/log.git", "outdated", json!("1.10.0")),
        ("git+https://forge.example/log.git#v1.0.0", "pinned", Value::Null),
        ("git+https://forge.example/log.git#tag:v1.0.0", "pinned", Value::Null),
        ("git+https://forge.example/log.git#release", "unknown", Value::Null),
        ("git+https://forge.example/nothing.git", "unknown", Value::Null),
        ("https://h.example/log.tgz", "manual", Value::Null),
        ("npm:log@1.0.0", "pinned", json!("1.0.0")),
        ("acme-log@corp", "unknown", Value::Null),
        ("$$$", "unknown", Value::Null),
    ] {
        recorded_as(&world, source);
        assert_eq!(row(&world, "acme-log"), (status.to_owned(), latest), "{source}");
    }
    recorded_as(&world, "https://forge.example/nothing.git");
    world.gsdctl(["outdated"]).run().succeeds().prints("there is no repository at");
    recorded_as(&world, "https://forge.example/log.git");
    let offline = &rows(&world, &["--offline"])[0];
    assert_eq!((&offline["status"], &offline["source_kind"]), (&json!("unknown"), &json!("git")));
    assert!(offline["note"].as_str().unwrap().contains("needs the network"), "{offline}");
    world.gsdctl(["outdated", "--exit-code"]).run().exits(11);
    let document = world.gsdctl(["capability", "outdated"]).run().succeeds().json();
    assert_eq!(
        document,
        json!([{"id": "acme-log", "sourceKind": "git", "current": "1.0.0", "latest": "1.10.0", "status": "outdated", "scope": "global"}])
    );
    recorded_as(&world, &world.path("src/acme-log").display().to_string());
    world.is_as(&before, "only asked");
    put(world.path("home/.gsd-capabilities.json"), "{");
    world.gsdctl(["outdated"]).run().succeeds().says("ledger");
}

#[test]
fn a_repository_gives_the_version_that_runs_here() {
    let world = World::new();
    let repository = world.repository("log.git");
    let bundle = |version: &str, engines: &str| {
        let _ = gsd_tests::Bundle::at(&world.path("src/acme-log"), "acme-log")
            .with("version", json!(version))
            .with("engines", json!({"gsd": engines}))
            .with("compatVersions", json!({"1.4.0": ">=1.6.0", "1.5.0": ">=50.0.0"}));
        let manifest = text_of(world.path("src/acme-log/capability.json"));
        put(repository.folder().join("capability.json"), manifest);
        repository.commit()
    };
    let fits = bundle("1.4.0", ">=1.6.0");
    repository.git(&["tag", "v1.4.0"]);
    bundle("2.0.0", ">=99.0.0");
    let told = world.gsdctl(["install", "https://forge.example/log.git", "--json"]).run().succeeds().json();
    assert_eq!(told["data"]["version"], "1.4.0");
    let notes = told["warnings"].to_string();
    assert!(
        notes.contains("acme-log 2.0.0 needs GSD >=99.0.0") && notes.contains("1.4.0 is taken instead"),
        "{notes}"
    );
    let ledger = text_of(world.path("home/.gsd-capabilities.json"));
    assert!(ledger.contains("\"git+https://forge.example/log.git\""), "the wish stays what it was: {ledger}");
    let resolved =
        world.gsdctl(["source", "resolve", "https://forge.example/log.git#tag:v1.4.0", "--json"]).run();
    assert_eq!(resolved.succeeds().json()["data"]["taken"]["commit"], fits);
    // Who names what does not run here is told so, and nothing else is taken.
    world
        .gsdctl(["install", "https://forge.example/log.git#branch:main"])
        .run()
        .exits(6)
        .says("needs GSD >=99.0.0");
    repository.git(&["tag", "-d", "v1.4.0"]);
    world.gsdctl(["remove", "acme-log"]).run().succeeds();
    world.gsdctl(["install", "https://forge.example/log.git"]).run().exits(6);
}
