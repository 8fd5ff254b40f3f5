//! Going back: content, wiring and agreement of what an update replaced.

use std::path::{Path, PathBuf};

use gsd_tests::{World, text_of, write_of};
use serde_json::json;

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

/// Folders of the store of agreed contents.
fn contents(world: &World) -> Vec<PathBuf> {
    let listed = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let homes = listed(world.path("home/.local/share/gsd"));
    let mut found: Vec<PathBuf> =
        homes.flat_map(|home| listed(home.path().join("objects"))).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// What a write is answered through the registration in the settings.
fn objection(world: &World, settings: &Path) -> String {
    world.hook_of(settings, "PreToolUse").input(write_of("a.txt")).run().succeeds().stdout
}

fn version(world: &World) -> String {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    listed["data"][0]["version"].as_str().unwrap().to_owned()
}

#[test]
fn an_update_is_taken_back_with_its_wiring_and_without_a_question() {
    for scope in ["global", "project"] {
        let world = world();
        let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
        let install = ["install", &bundle.spec(), "--scope", scope, "--runtime", "claude", "--yes"];
        world.gsdctl(install).run().succeeds();
        let settings = if scope == "global" {
            world.path("home/.claude/settings.json")
        } else {
            world.path("proj/.claude/settings.local.json")
        };
        let before = (text_of(&settings), world.tree().without_times());
        let bundle = bundle
            .with("version", json!("2.0.0"))
            .with_hook("Stop", "hooks/stop.sh", "#!/bin/sh\nexit 0\n")
            .with_file("hooks/refuse.sh", "#!/bin/sh\nexit 0\n");
        world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
        assert!(text_of(&settings).contains("hook Stop"), "{scope}");
        assert_eq!(objection(&world, &settings), "", "2.0.0 objects to nothing");

        let plan = world.gsdctl(["rollback", "acme-lint", "--dry-run"]).run().succeeds();
        plan.prints("would go back to acme-lint 1.0.0");
        assert_eq!(version(&world), "2.0.0", "only planned");
        let back = world.gsdctl(["rollback", "acme-lint", "--json"]).run().succeeds().json();
        assert_eq!(back["data"]["status"], "rolled_back", "{back}");
        assert_eq!((version(&world), text_of(&settings)), ("1.0.0".to_owned(), before.0), "{scope}");
        assert!(objection(&world, &settings).contains("deny"), "{scope}");

        // What was left is kept as well; the agreement to it still stands.
        world.gsdctl(["rollback", "acme-lint"]).run().exits(7).says("--to 2.0.0");
        world.gsdctl(["rollback", "acme-lint", "--to", "2.0.0"]).run().succeeds();
        assert_eq!(version(&world), "2.0.0");
        world
            .gsdctl(["rollback", "acme-lint", "--to", "7.0.0"])
            .run()
            .exits(7)
            .says("no content of acme-lint 7.0.0");
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        assert_eq!(contents(&world), Vec::<PathBuf>::new(), "{scope}: nothing is kept of what is removed");
        drop(bundle);
    }
}

#[test]
fn the_store_keeps_what_can_come_back_and_nothing_else() {
    let world = world();
    let mut bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
    for patch in 1..=7 {
        bundle = bundle
            .with("version", json!(format!("1.0.{patch}")))
            .with_file("hooks/refuse.sh", &format!("#!/bin/sh\nexit {patch}\n"));
        world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    }
    assert_eq!(contents(&world).len(), 6, "the present one and five to go back to");
    world.gsdctl(["rollback", "acme-lint", "--to", "1.0.1"]).run().exits(7);
    world.gsdctl(["rollback", "acme-lint", "--to", "1.0.2"]).run().succeeds();
    assert_eq!(version(&world), "1.0.2");

    // What a crash or an older version left behind goes at the next start.
    let stray = contents(&world)[0].with_file_name("61".repeat(48));
    std::fs::create_dir_all(stray.join("hooks")).unwrap();
    world.gsdctl(["daemon", "restart"]).run().succeeds();
    gsd_tests::wait_for("the stray content to go", || !stray.exists());
    assert_eq!(contents(&world).len(), 6);
}

#[test]
fn a_content_that_was_revoked_or_damaged_does_not_come_back_by_itself() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--yes"]).run().succeeds();
    world.gsdctl(["consent", "revoke", "acme-lint", "--scope", "global"]).run().succeeds();
    let bundle = bundle.with("version", json!("2.0.0"));
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    world.gsdctl(["rollback", "acme-lint"]).run().exits(3).says("gsdctl rollback acme-lint");
    assert_eq!(version(&world), "2.0.0");
    drop(bundle.with("version", json!("3.0.0")));
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
    for content in contents(&world) {
        let script = content.join("hooks/refuse.sh");
        gsd_tests::set_mode(&script, 0o700);
        gsd_tests::put(&script, "#!/bin/sh\necho evil\n");
    }
    world.gsdctl(["rollback", "acme-lint"]).run().exits(7).says("can't be brought back");
    assert_eq!(version(&world), "3.0.0");
}
