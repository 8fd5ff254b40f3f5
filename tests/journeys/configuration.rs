//! The person's configuration file through `gsdctl config`, and what a source means through `gsdctl source`.

use gsd_tests::{World, mode_of, put, set_mode, text_of};
use serde_json::json;

const FILE: &str = "home/.config/gsd/config.toml";

#[test]
fn one_key_is_set_and_every_other_byte_stays() {
    let world = World::new();
    world.gsdctl(["config", "get", "registries.corp"]).run().exits(7).says("gsdctl config list");
    world.gsdctl(["config", "set", "registries.corp", "https://caps.corp.example/"]).run().succeeds();
    assert_eq!(text_of(world.path(FILE)), "[registries]\ncorp = \"https://caps.corp.example/\"\n");
    let mine = "# mine\r\n[hooks] # why\r\nwhen_unavailable = 'deny' # strict\r\n";
    put(world.path(FILE), mine);
    set_mode(world.path(FILE), 0o600);
    let set =
        world.gsdctl(["config", "set", "hooks.when_unavailable", "ask", "--json"]).run().succeeds().json();
    assert_eq!(
        (&set["changed"], &set["data"]["before"], &set["data"]["after"]),
        (&json!(true), &json!("deny"), &json!("ask"))
    );
    assert_eq!(text_of(world.path(FILE)), mine.replace("'deny'", "\"ask\""));
    assert_eq!(mode_of(world.path(FILE)), 0o600);
    let again =
        world.gsdctl(["config", "set", "hooks.when_unavailable", "ask", "--json"]).run().succeeds().json();
    assert_eq!(again["changed"], false);
    let before = world.tree();
    world
        .gsdctl(["config", "set", "registries.corp", "/srv/index", "--dry-run"])
        .run()
        .succeeds()
        .prints("registries.corp = /srv/index (would be written to ");
    world.is_as(&before, "only planned");
    world
        .gsdctl(["config", "list", "--show-origin"])
        .run()
        .succeeds()
        .prints("config.toml)\thooks.when_unavailable = ask");
    world.gsdctl(["config", "unset", "hooks.when_unavailable"]).run().succeeds();
    world
        .gsdctl(["config", "get", "hooks.when_unavailable", "--show-origin"])
        .run()
        .succeeds()
        .prints("default\tpass");
}

#[test]
fn what_is_no_key_and_no_value_changes_nothing() {
    let world = World::new();
    put(world.path(FILE), "a = 1\r\nb = 2\n");
    let before = world.tree();
    world
        .gsdctl(["config", "set", "registry.corp", "/srv"])
        .run()
        .exits(2)
        .says("did you mean registries.<name>?");
    world.gsdctl(["config", "set", "colour", "blue"]).run().exits(2).says("the keys are default_registry");
    world.gsdctl(["config", "set", "registries.corp", "http://h.example/"]).run().exits(2).says("plaintext");
    world
        .gsdctl(["config", "set", "registries.corp", "/srv"])
        .run()
        .exits(1)
        .says("lines end in different ways");
    world.is_as(&before, "refused");
    world.gsdctl(["config", "list"]).run().succeeds().says("a: there is no such key");
}

#[test]
fn the_configuration_of_a_project_is_no_place_for_registries() {
    let world = World::new();
    put(world.path("proj/.gsd/gsd.toml"), "[registries]\ncorp = \"/evil\"\n");
    put(world.path("proj/.gsd/config.toml"), "[registries]\ncorp = \"/evil\"\n");
    put(world.path("proj/.planning/config.json"), "{\"registries\":{\"corp\":\"/evil\"}}");
    world.gsdctl(["config", "get", "registries.corp"]).run().exits(7);
}

#[test]
fn sources_are_explained_without_being_fetched() {
    let world = World::new();
    let parse = |spec: &str| world.gsdctl(["source", "parse", spec, "--json"]).run();
    let data = |spec: &str| parse(spec).succeeds().json()["data"].clone();
    let git = data("https://forge.example/r.git//caps/a#tag:v1");
    assert_eq!(
        (&git["kind"], &git["ref"], &git["folder"]),
        (&json!("git"), &json!("tag:v1"), &json!("caps/a"))
    );
    let npm = data("npm:@acme/lint@^1.2");
    assert_eq!(
        (&npm["kind"], &npm["selector"], &npm["pinned"]),
        (&json!("npm"), &json!("^1.2"), &json!(false))
    );
    assert_eq!(data("npm:a@1.0.0")["pinned"], true);
    let named = data("acme-lint@corp@1.2.0");
    assert_eq!((&named["registry"], &named["target"]), (&json!("corp"), &json!("acme-lint@corp@1.2.0")));
    let refused = parse("ftp://h.example/x").exits(2).json();
    assert_eq!(refused["error"]["code"], "source.spec_invalid");
}

#[test]
fn any_folder_has_a_content_hash() {
    let world = World::new();
    put(world.path("proj/x/a.txt"), "a");
    std::fs::create_dir_all(world.path("proj/x/empty")).unwrap();
    let hash = world.gsdctl(["hash", "x", "--json"]).run().succeeds().json();
    let text = hash["data"]["content_hash"].as_str().unwrap().to_owned();
    assert!(text.starts_with("sha512-") && hash["data"]["files"] == 1, "{hash}");
    std::fs::remove_dir(world.path("proj/x/empty")).unwrap();
    assert!(!world.gsdctl(["hash", "./x"]).run().succeeds().stdout.contains(&text), "an empty folder counts");
    world.gsdctl(["hash", "nowhere"]).run().exits(7);
    gsd_tests::link(world.path("proj/x/link"), "/etc/passwd");
    let refused = world.gsdctl(["hash", "x", "--json"]).run().exits(2).json();
    assert_eq!(refused["error"]["code"], "bundle.symlink");
}
