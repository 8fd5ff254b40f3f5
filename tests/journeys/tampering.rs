//! What runs is what was agreed to; everything else does not run, and the person is told.

use std::os::unix::fs::PermissionsExt as _;

use gsd_tests::{World, bytes_of, link, put, write_of};

struct Installed {
    world: World,
    scope: &'static str,
}

impl Installed {
    fn new(scope: &'static str) -> Self {
        let world = World::new();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        let script = "#!/bin/sh\necho \"acme-lint refuses from $0\" >&2\nexit 2\n";
        let bundle = world
            .bundle("acme-lint")
            .with_hook("PreToolUse", "hooks/lint.sh", script)
            .with_file("data/words.txt", "words\n");
        world
            .gsdctl(["install", &bundle.spec(), "--scope", scope, "--runtime", "claude", "--yes"])
            .run()
            .succeeds();
        Self { world, scope }
    }

    fn live(&self, below: &str) -> std::path::PathBuf {
        let root = if self.scope == "global" { "home" } else { "proj" };
        self.world.path(root).join(".gsd/capabilities/acme-lint").join(below)
    }

    fn hook(&self) -> gsd_tests::Outcome {
        let settings = match self.scope {
            "global" => "home/.claude/settings.json",
            _ => "proj/.claude/settings.local.json",
        };
        self.world.hook_of(&self.world.path(settings), "PreToolUse").input(write_of("x")).run().succeeds()
    }

    #[track_caller]
    fn runs(&self) {
        let answer = self.hook().json();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    }

    /// Nothing runs, the call passes, and the person reads why.
    #[track_caller]
    fn does_not_run(&self, what: &str) {
        let outcome = self.hook();
        assert!(!outcome.stdout.contains("deny"), "{what}: {}", outcome.stdout);
        assert!(!outcome.stdout.is_empty(), "{what}, {}: nobody is told", self.scope);
        let answer = outcome.json();
        let told = answer["systemMessage"].as_str().unwrap_or_default();
        assert!(told.contains("acme-lint") && told.contains("gsdctl remove acme-lint"), "{what}: {answer}");
        let listed = self.world.gsdctl(["list"]).run().succeeds().stdout;
        assert!(
            listed.lines().any(|line| line.starts_with("acme-lint") && line.contains(" changed ")),
            "{what}: {listed}"
        );
    }
}

#[test]
fn t144_every_way_to_change_a_bundle_stops_it_and_restoring_starts_it() {
    for scope in ["global", "project"] {
        let installed = Installed::new(scope);
        installed.runs();
        let script = installed.live("hooks/lint.sh");
        let (agreed, mode) = (bytes_of(&script), std::fs::metadata(&script).unwrap().permissions());
        let restore = || {
            let _ = std::fs::remove_file(&script);
            put(&script, &agreed);
            std::fs::set_permissions(&script, mode.clone()).unwrap();
            installed.runs();
        };

        put(&script, "#!/bin/sh\necho acme-lint refuses evil >&2\nexit 2\n");
        installed.does_not_run("an edited script");
        restore();

        // Same length, same time stamp: only the change time tells.
        let before = std::fs::metadata(&script).unwrap().modified().unwrap();
        let mut same_length = agreed.clone();
        same_length[20] ^= 1;
        put(&script, &same_length);
        std::fs::File::options().write(true).open(&script).unwrap().set_modified(before).unwrap();
        installed.does_not_run("an edited script with the old time");
        restore();

        put(installed.live("hooks/extra.sh"), "#!/bin/sh\n");
        installed.does_not_run("an added file");
        std::fs::remove_file(installed.live("hooks/extra.sh")).unwrap();
        installed.runs();

        std::fs::create_dir(installed.live("data/empty")).unwrap();
        installed.does_not_run("an added folder");
        std::fs::remove_dir(installed.live("data/empty")).unwrap();
        installed.runs();

        std::fs::rename(&script, installed.world.path("lint.sh")).unwrap();
        link(&script, installed.world.path("lint.sh"));
        installed.does_not_run("a script replaced by a link to the same bytes");
        restore();

        std::fs::remove_file(&script).unwrap();
        installed.does_not_run("a removed script");
        restore();

        std::fs::remove_file(installed.live("data/words.txt")).unwrap();
        installed.does_not_run("a removed data file");
        put(installed.live("data/words.txt"), "words\n");
        installed.runs();

        let manifest = bytes_of(installed.live("capability.json"));
        put(
            installed.live("capability.json"),
            String::from_utf8(manifest.clone()).unwrap().replace("Write", "*"),
        );
        installed.does_not_run("a widened matcher");
        put(installed.live("capability.json"), &manifest);
        installed.runs();
    }
}

#[test]
fn t145_what_runs_is_the_stored_copy() {
    let installed = Installed::new("project");
    let answer = installed.hook();
    let reason = answer.json()["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned();
    let (_, path) = reason.split_once("refuses from ").unwrap();
    let path = path.trim();
    let store = installed.world.path("home/.local/share/gsd");
    assert!(path.starts_with(store.to_str().unwrap()), "{path}");
    assert_eq!(
        std::fs::metadata(path).unwrap().permissions().mode() & 0o222,
        0,
        "the stored copy can be written"
    );

    // A damaged store does not run either, and an install repairs it.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
    put(path, "#!/bin/sh\necho acme-lint refuses evil >&2\nexit 2\n");
    let answer = installed.hook();
    assert!(!answer.stdout.contains("evil") && !answer.stdout.contains("deny"), "{}", answer.stdout);
    assert!(answer.stdout.contains("systemMessage"), "{}", answer.stdout);
    let spec = installed.world.path("src/acme-lint").display().to_string();
    installed.world.gsdctl(["install", &spec, "--scope", "project", "--yes"]).run().succeeds();
    installed.runs();
}

#[test]
fn a_new_version_is_asked_for_again_and_then_runs() {
    let installed = Installed::new("global");
    let spec = installed.world.path("src/acme-lint").display().to_string();
    let _ = installed.world.bundle("acme-lint").with("version", "1.1.0".into()).with_hook(
        "PreToolUse",
        "hooks/lint.sh",
        "#!/bin/sh\necho new words >&2\nexit 2\n",
    );
    let before = installed.world.tree();
    installed
        .world
        .gsdctl(["install", &spec])
        .run()
        .exits(3)
        .says("You are asked again because")
        .says("1.0.0");
    installed.world.is_as(&before, "nobody agreed");
    installed.runs();
    installed.world.gsdctl(["install", &spec, "--yes"]).run().succeeds().prints("upgraded");
    let answer = installed.hook();
    assert!(answer.stdout.contains("new words"), "{}", answer.stdout);
    // Older again: asked for again, with the reason.
    let _ = installed.world.bundle("acme-lint").with("version", "1.0.5".into()).with_hook(
        "PreToolUse",
        "hooks/lint.sh",
        "#!/bin/sh\nexit 0\n",
    );
    installed.world.gsdctl(["install", &spec]).run().exits(3).says("older than the installed one");
}

/// What instructs and what gates is as much agreed to as what runs, in the person's own root too.
#[test]
fn t144_what_instructs_and_what_gates_is_dropped_when_it_changed_and_when_it_is_revoked() {
    for scope in ["global", "project"] {
        let world = World::new();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        let bundle = world
            .bundle("acme-ship")
            .with_file("fragments/plan.md", "Plan by risk.\n")
            .with_item(
                "contributions",
                serde_json::json!({"point": "plan:pre", "into": "planner", "produces": [], "consumes": [],
                    "fragment": {"path": "fragments/plan.md"}}),
            )
            .with_item(
                "gates",
                serde_json::json!({"point": "ship:pre", "blocking": true, "onError": "halt",
                    "check": {"predicate": {"kind": "command-exit-zero", "command": "true"}}}),
            );
        world.gsdctl(["install", &bundle.spec(), "--scope", scope, "--yes"]).run().succeeds();
        let render = |point: &str| world.gsdctl(["loop", "render", point]).run().succeeds();
        let takes_part = |is: bool, what: &str| {
            for point in ["plan:pre", "ship:pre"] {
                let document = render(point).json();
                let hooks = document["activeHooks"].as_array().unwrap();
                assert_eq!(
                    hooks.iter().any(|hook| hook["capId"] == "acme-ship"),
                    is,
                    "{scope}, {what}: {document}"
                );
            }
            if !is {
                let told = render("ship:pre");
                assert!(
                    told.stderr.contains("acme-ship"),
                    "{scope}, {what}: nobody is told: {}",
                    told.stderr
                );
            }
        };
        takes_part(true, "as agreed to");
        let root =
            world.path(if scope == "global" { "home" } else { "proj" }).join(".gsd/capabilities/acme-ship");
        let (fragment, manifest) = (root.join("fragments/plan.md"), root.join("capability.json"));

        put(&fragment, "Plan by risc.\n");
        takes_part(false, "another fragment");
        put(&fragment, "Plan by risk.\n");
        takes_part(true, "the fragment restored");

        let agreed = String::from_utf8(bytes_of(&manifest)).unwrap();
        put(&manifest, agreed.replace("\"true\"", "\"evil\""));
        takes_part(false, "another gate command");
        let document: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&agreed).unwrap();
        put(&manifest, serde_json::to_string(&document).unwrap());
        takes_part(true, "the manifest with its keys in another order");

        let revoke = ["consent", "revoke", "acme-ship", "--scope", scope];
        world.gsdctl(revoke).run().succeeds();
        takes_part(false, "revoked");
    }
}
