//! Reviewer lanes: what they are given and where it goes is shown, agreed to, and compared at each use.

use gsd_tests::{World, put, text_of};
use serde_json::{Value, json};

fn project(world: &World, config: &Value) {
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("proj/.planning/config.json"), config.to_string());
}

fn http_lane(world: &World) -> gsd_tests::Bundle {
    world
        .bundle("acme-review")
        .with("role", json!("reviewer"))
        .with(
            "config",
            json!({"review.acme_host": {"type": "string", "default": "", "description": "Base URL"}}),
        )
        .with(
            "reviewer",
            json!({
                // Named unlike its capability: what is compared is found by the id.
                "slug": "other_name", "flags": ["--acme"], "transport": "openai-http",
                "probe": {"kind": "http-reachable", "hostConfigKey": "review.acme_host", "path": "/v1/models",
                    "timeoutMs": 2000},
                "promptBudgetKey": null,
                "invoke": {"hostConfigKey": "review.acme_host", "defaultHost": "http://localhost:8080",
                    "path": "/v1/chat/completions", "modelDiscovery": "none", "fallbackModel": "m",
                    "effortChannel": "none"},
                "timeoutFloorMs": 1000, "emptyOutput": "stub-with-stderr", "reviewsSection": "Acme",
                "evidenceClass": "source-grounded", "requiresBinaries": [], "handler": "openai-compatible",
            }),
        )
        .without(&[
            "skills",
            "agents",
            "steps",
            "contributions",
            "gates",
            "hooks",
            "commands",
            "runtimeCompat",
        ])
}

fn lane(world: &World) -> Value {
    let listed = world.gsdctl(["reviewer", "list", "--json"]).run().succeeds().json();
    let rows = listed["data"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == "acme-review").cloned().unwrap_or_default()
}

#[test]
fn t113_t114_a_lane_sends_where_it_was_agreed_to_and_nowhere_else() {
    for scope in ["project", "global"] {
        let world = World::new();
        project(&world, &json!({"review": {"acme_host": "http://127.0.0.1:9/"}}));
        let bundle = http_lane(&world);
        let install = |more: &[&str]| {
            let words = ["install", &bundle.spec(), "--scope", scope].map(str::to_owned);
            world.gsdctl(words.iter().map(String::as_str)).args(more.iter().copied()).run()
        };
        let refused = install(&[]);
        assert_eq!(refused.exit, 3, "{}", refused.stderr);
        for told in ["sends to \"http://127.0.0.1:9\" (this machine", "receives plan text, requirements"] {
            assert!(refused.stderr.contains(told), "{told}: {}", refused.stderr);
        }
        let first = install(&["--dry-run", "--json"]).succeeds().json()["data"]["consent_digest"].clone();
        install(&["--consent", first.as_str().unwrap()]).succeeds();
        let plan = world.gsdctl(["reviewer", "resolve", "acme-review", "--json"]).run().succeeds().json();
        assert_eq!(plan["data"]["address"], "http://127.0.0.1:9");
        assert_eq!(plan["data"]["path"], "/v1/chat/completions");
        assert_eq!(plan["data"]["local"], true);
        // Another spelling of the same place is the same place.
        put(world.path("proj/.planning/config.json"), r#"{"review":{"acme_host":"HTTP://127.0.0.1:9"}}"#);
        world.gsdctl(["reviewer", "resolve", "acme-review"]).run().succeeds();

        // Somebody changes the project's configuration.
        put(world.path("proj/.planning/config.json"), r#"{"review":{"acme_host":"https://evil.example"}}"#);
        let blocked = world.gsdctl(["reviewer", "resolve", "acme-review"]).run();
        assert_eq!(blocked.exit, 3, "{scope}: {}", blocked.stdout);
        for told in [
            "agreed to http://127.0.0.1:9",
            "configured https://evil.example",
            "gsdctl consent grant acme-review",
        ] {
            assert!(blocked.stderr.contains(told), "{scope}: {told}: {}", blocked.stderr);
        }
        let row = lane(&world);
        assert_eq!(
            (row["agreed_address"].as_str(), row["local"].as_bool()),
            (Some("http://127.0.0.1:9"), Some(false))
        );
        assert!(row["blocked"].is_string(), "{row}");
        // An agreement to the first address is none to the second one (T183).
        let stale =
            world.gsdctl(["consent", "grant", "acme-review", "--consent", first.as_str().unwrap()]).run();
        assert_eq!(stale.exit, 3, "{}", stale.stderr);
        let asked = world.gsdctl(["consent", "grant", "acme-review"]).run();
        assert!(asked.exit == 3 && asked.stderr.contains("ANOTHER machine"), "{}", asked.stderr);
        assert!(asked.stderr.contains("another address than was agreed to"), "{}", asked.stderr);
        world.gsdctl(["consent", "grant", "acme-review", "--yes"]).run().succeeds();
        world.gsdctl(["reviewer", "resolve", "acme-review"]).run().succeeds().prints("https://evil.example");
        if scope == "project" {
            assert!(
                text_of(world.path("home/.gsd/consent.json"))
                    .contains("\"reviewerHost\": \"https://evil.example\"")
            );
        }
        let shown = world.gsdctl(["consent", "show", "acme-review", "--json"]).run().succeeds().json();
        assert_eq!(shown["data"]["record"]["destination"], "https://evil.example");
        world.gsdctl(["consent", "revoke", "acme-review", "--scope", scope]).run().succeeds();
        assert_eq!(world.gsdctl(["reviewer", "resolve", "acme-review"]).run().exit, 3);
    }
}

#[test]
fn a_lane_of_a_bundle_starts_from_the_private_copy() {
    let world = World::new();
    project(&world, &json!({}));
    let script = "#!/bin/sh\necho \"reviewed by $0 with $1\"\ncat\n";
    let bundle = world
        .bundle("acme-review")
        .with("role", json!("reviewer"))
        .with(
            "reviewer",
            json!({
                "slug": "acme", "flags": ["--acme"], "transport": "spawn",
                "promptBudgetKey": null, "handler": null,
                "probe": {"kind": "command-exists", "binary": "sh"},
                "invoke": {"binary": "bin/review.sh", "args": ["--strict"], "promptChannel": "stdin",
                    "outputChannel": "stdout", "modelArg": null, "effortChannel": "none"},
                "timeoutFloorMs": 1000, "emptyOutput": "stub-with-stderr", "reviewsSection": "Acme",
                "evidenceClass": "source-grounded", "requiresBinaries": [],
            }),
        )
        .without(&[
            "skills",
            "agents",
            "steps",
            "contributions",
            "gates",
            "hooks",
            "commands",
            "runtimeCompat",
        ])
        .with_file("bin/review.sh", script);
    world.gsdctl(["install", &bundle.spec(), "--scope", "project", "--yes"]).run().succeeds();
    let review = || world.gsdctl(["reviewer", "exec", "acme-review"]).input("the plan\n").run();
    let done = review().succeeds();
    let store = world.path("home/.local/share/gsd");
    assert!(done.stdout.contains(&format!("reviewed by {}", store.display())), "{}", done.stdout);
    assert!(done.stdout.contains("with --strict") && done.stdout.contains("the plan"), "{}", done.stdout);
    // Another one in its place does not run.
    put(world.path("proj/.gsd/capabilities/acme-review/bin/review.sh"), "#!/bin/sh\necho evil\n");
    let refused = review();
    assert!(refused.exit >= 200 && !refused.stdout.contains("evil"), "{}: {}", refused.exit, refused.stdout);
    put(world.path("proj/.gsd/capabilities/acme-review/bin/review.sh"), script);
    review().succeeds();
    // A shipped lane needs no agreement, and shows where it sends to.
    let shipped = world.gsdctl(["reviewer", "resolve", "ollama", "--json"]).run().succeeds().json();
    assert_eq!(shipped["data"]["local"], true, "{shipped}");
    assert_eq!(world.gsdctl(["reviewer", "resolve", "acme-nothing"]).run().exit, 7);
}
