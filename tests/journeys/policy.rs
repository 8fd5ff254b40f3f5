//! Rules of the person and of the project, and what they stop: fetching, agreeing, running, removing.
//!
//! The machine's file has one fixed place, which tests leave alone; it is read by the same code as the person's.

use std::path::PathBuf;

use gsd_proto::Context;
use gsd_proto::api::capability::{Commit, CommitParams, Consent, Stage, StageParams};
use gsd_proto::client::CallError;
use gsd_tests::{Outcome, World, put, text_of, write_of};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    world
}

fn policy_file(world: &World) -> PathBuf {
    world.path("home/.config/gsd/policy.toml")
}

fn policy(world: &World, text: &str) {
    put(policy_file(world), text);
}

fn run<'a>(world: &World, args: impl IntoIterator<Item = &'a str>) -> Outcome {
    world.gsdctl(args).run()
}

fn row(world: &World, id: &str) -> Value {
    let listed = run(world, ["list", "--json"]).succeeds().json();
    listed["data"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

/// What a write is answered.
fn answer(world: &World) -> Value {
    let settings = world.path("home/.claude/settings.json");
    let outcome = world.hook_of(&settings, "PreToolUse").input(write_of("a.txt")).run().succeeds();
    if outcome.stdout.is_empty() { Value::Null } else { outcome.json() }
}

fn is_refused(answer: &Value) -> bool {
    answer["hookSpecificOutput"]["permissionDecision"] == "deny"
}

#[test]
fn t158_a_value_of_a_wrong_type_closes_the_door_and_is_named_with_its_line() {
    let world = world();
    let before = world.tree();
    policy(&world, "# ours\n[sources]\nallow = \"forge.example\"\n");
    let refused = run(&world, ["install", "https://forge.example/x.git", "--json"]).exits(4).json();
    let error = &refused["error"];
    assert_eq!((&error["code"], &error["where"]["line"]), (&json!("policy.source_blocked"), &json!(3)));
    assert_eq!(error["where"]["file"], json!(policy_file(&world)));
    assert!(error["cause"].to_string().contains("`sources.allow` must be a list"), "{error}");
    run(&world, ["policy", "show"]).succeeds().says("sources.allow").prints("CLOSED").prints("policy.toml:3");
    policy(&world, "[sources\n");
    let bundle = world.bundle("acme-lint").with_refusal();
    run(&world, ["install", &bundle.spec(), "--yes"]).exits(4).says("policy.toml:1, layer: user");
    let inert = world.bundle("acme-log").with_skill("acme-log");
    run(&world, ["install", &inert.spec(), "--dry-run"]).succeeds();
    std::fs::remove_dir_all(world.path("home/.config")).unwrap();
    std::fs::remove_dir_all(world.path("src")).unwrap();
    world.is_as(&before, "nothing was installed");
}

#[test]
fn t160_a_project_can_only_tighten() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    let install = ["install", &bundle.spec(), "--runtime", "claude", "--yes"];
    run(&world, install).succeeds();
    assert!(is_refused(&answer(&world)));
    let project = world.path("proj/.gsd/gsd.toml");
    // It opens nothing.
    policy(&world, "[consent]\nyes = false\n[sources]\nallow = [\"host:forge.example\"]\n");
    put(&project, "[policy.consent]\nyes = true\n[policy.sources]\nallow = [\"kind:local\", \"kind:git\"]\n");
    run(&world, ["install", &bundle.spec(), "--dry-run"]).exits(4).says("allows only [host:forge.example]");
    run(&world, ["policy", "check", "git+https://evil.example/r"]).exits(4).prints("user: ");
    // It does not switch off a guard of the person's, and keeps nothing on the machine.
    policy(&world, "");
    put(&project, "[policy]\nrequired = [\"acme-lint\"]\n[policy.executable]\nforbid = [\"hooks\"]\n");
    assert!(is_refused(&answer(&world)), "a repository switched off a guard");
    let mine = ["install", &bundle.spec(), "--scope", "project", "--runtime", "claude", "--yes"];
    run(&world, ["remove", "acme-lint"]).succeeds();
    run(&world, mine).exits(4).says("`executable.forbid` forbids hooks").says("gsd.toml:4, layer: project");
    run(&world, ["list"]).succeeds().says("acme-lint is required and not active here (gsd.toml:2");
    // What it says of itself holds for everything that is installed from inside of it.
    put(&project, "[policy.sources]\ndeny = [\"kind:local\"]\n");
    run(&world, install).exits(4).says("`sources.deny` denies kind:local (gsd.toml:2, layer: project)");
}

#[test]
fn t182_a_blanket_yes_can_be_forbidden_and_the_digest_still_works() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    policy(&world, "[consent]\nyes = false\n");
    let before = world.tree();
    let refused = run(&world, ["install", &bundle.spec(), "--runtime", "claude", "--yes"]).exits(4);
    let refused = refused.says("policy.yes_forbidden").says("policy.toml:2, layer: user");
    world.is_as(&before, "nobody looked");
    let command = refused.stderr.lines().find_map(|line| line.split_once("gsdctl install")).unwrap().1;
    let words: Vec<&str> = command.split('·').next().unwrap().split_whitespace().collect();
    assert!(words.contains(&"--consent"), "{command}");
    run(&world, ["install"].into_iter().chain(words)).succeeds();
    drop(bundle.with("version", json!("1.1.0")).with_file("hooks/refuse.sh", "#!/bin/sh\nexit 0\n"));
    run(&world, ["update", "acme-lint", "--yes"]).exits(4).says("gsdctl update acme-lint");
    assert_eq!(row(&world, "acme-lint")["version"], "1.0.0");
}

#[test]
fn t161_updates_by_themselves_need_leave_of_every_layer() {
    let world = world();
    let skill = world.bundle("acme-log").with_skill("acme-log");
    run(&world, ["install", &skill.spec()]).succeeds();
    drop(skill.with("version", json!("1.1.0")));
    put(world.path("home/.gsd/defaults.json"), r#"{"capabilities": {"auto_update": true}}"#);
    policy(&world, "[update]\nauto = false\n");
    run(&world, ["update", "acme-log", "--auto"])
        .exits(4)
        .says("policy.auto_forbidden")
        .says("policy.toml:2");
    let all = run(&world, ["update", "--all", "--auto", "--json"]).succeeds().json();
    assert_eq!(all["data"]["items"][0]["status"], "off", "{all}");
    policy(&world, "[update]\nauto = true\n");
    put(world.path("proj/.gsd/gsd.toml"), "[policy.update]\nauto = \"no\"\n");
    run(&world, ["update", "acme-log", "--auto"]).exits(4).says("gsd.toml:2, layer: project");
    std::fs::remove_file(world.path("proj/.gsd/gsd.toml")).unwrap();
    run(&world, ["update", "acme-log", "--auto"]).succeeds();
    assert_eq!(row(&world, "acme-log")["version"], "1.1.0");
}

#[test]
fn t134_a_forged_record_leads_the_updater_nowhere() {
    let world = world();
    let bundle = world.bundle("acme-log").with_skill("acme-log");
    run(&world, ["install", &bundle.spec(), "--scope", "project"]).succeeds();
    let ledger = world.path("proj/.gsd-capabilities.json");
    let original = text_of(&ledger);
    policy(&world, "[sources]\nallow = [\"kind:local\", \"host:forge.example\"]\n");
    for forged in ["git+https://evil.example/r", "https://169.254.169.254/x.tgz", "npm:evil", "what is this"]
    {
        put(&ledger, original.replace(&bundle.spec(), forged));
        assert!(text_of(&ledger).contains(forged));
        let update = run(&world, ["update", "acme-log"]);
        assert!(update.exit != 0, "{forged}");
        run(&world, ["consent", "grant", "acme-log"]).exits(4).says("policy.source_blocked");
        let outdated = run(&world, ["outdated", "--json"]).succeeds().json();
        assert!(outdated.to_string().contains("nothing may be installed from"), "{forged}: {outdated}");
    }
    put(&ledger, &original);
    run(&world, ["update", "acme-log"]).succeeds();
    // What is here already is not taken from a place that is not allowed any more.
    policy(&world, "[sources]\nallow = [\"host:forge.example\"]\n");
    run(&world, ["update", "acme-log"]).exits(4).says("allows only [host:forge.example]");
}

#[test]
fn t187_a_policy_that_is_changed_counts_at_the_next_use() {
    let world = world();
    let bundle = world
        .bundle("acme-lint")
        .with_refusal()
        .with("commands", json!([{"family": "acme-lint", "exec": "bin/run.sh", "subcommands": []}]))
        .with_file("bin/run.sh", "#!/bin/sh\necho it ran\n")
        .with_item(
            "gates",
            json!({"point": "ship:pre", "blocking": true, "onError": "halt",
                "check": {"predicate": {"kind": "command-exit-zero", "command": "make check"}}}),
        );
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    let pid = world.start_daemon();
    run(&world, ["install", &bundle.spec(), "--runtime", "claude", "--yes"]).succeeds();
    let gates = || {
        let rendered = run(&world, ["loop", "render", "ship:pre"]).succeeds().json();
        (rendered["activeHooks"].to_string().contains("make check"), rendered["warnings"].to_string())
    };
    for _ in 0..3 {
        assert!(is_refused(&answer(&world)));
        run(&world, ["run", "acme-lint"]).succeeds().prints("it ran");
        assert!(gates().0);
        policy(&world, "[executable]\nforbid = [\"hooks\", \"commands\", \"gate_commands\"]\n");
        let told = answer(&world);
        assert!(!is_refused(&told));
        let words = told["systemMessage"].as_str().unwrap_or_default();
        assert!(
            words.contains("acme-lint did NOT run") && words.contains("policy.toml:2, layer: user"),
            "{told}"
        );
        run(&world, ["run", "acme-lint"])
            .exits(204)
            .says("policy.executable_forbidden")
            .says("policy.toml:2");
        let (active, warnings) = gates();
        assert!(!active && warnings.contains("NOT enforced") && warnings.contains("acme-lint"), "{warnings}");
        let reason = row(&world, "acme-lint")["reason"].as_str().unwrap().to_owned();
        for words in
            ["its hooks do not run", "its commands do not run", "gates that run a command do not run"]
        {
            assert!(reason.contains(words), "{reason}");
        }
        std::fs::remove_file(policy_file(&world)).unwrap();
    }
    assert_eq!(world.daemons(), [pid], "it was the same daemon all the time");
    policy(&world, "[executable]\nforbid = [\"commands\", \"gate_commands\"]\n");
    let other = world
        .bundle("acme-two")
        .with("commands", json!([{"family": "acme-two", "exec": "x.sh", "subcommands": []}]));
    let other = other.with_file("x.sh", "#!/bin/sh\n");
    run(&world, ["install", &other.spec(), "--yes"]).exits(4).says("acme-two brings commands");
    assert!(is_refused(&answer(&world)), "its hooks are not forbidden");
}

#[test]
fn t187_a_policy_that_is_changed_while_a_bundle_waits_counts_at_the_commit() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    let _ = world.start_daemon();
    let mut client = world.client();
    let ctx = Context::new("t", world.project(), [("HOME".into(), world.home().into_os_string())]);
    // A commit that failed leaves nothing staged.
    let staged = |client: &mut gsd_proto::client::Client| {
        let params = StageParams { ctx: ctx.clone(), spec: bundle.spec(), ..StageParams::default() };
        let staged = client.call::<Stage>(&params).unwrap();
        CommitParams {
            ctx: ctx.clone(),
            ticket: staged.ticket,
            consent: Some(Consent { digest: staged.consent_digest, blanket: false }),
            ..CommitParams::default()
        }
    };
    for (text, code) in [
        ("[sources]\ndeny = [\"kind:local\"]\n", "policy.source_blocked"),
        ("[sources]\nmin_level = \"pin\"\n", "policy.level_too_low"),
        ("[executable]\nforbid = [\"hooks\"]\n", "policy.executable_forbidden"),
    ] {
        let params = staged(&mut client);
        policy(&world, text);
        match client.call::<Commit>(&params) {
            Err(CallError::Remote { error, .. }) => assert_eq!(&*error.code, code),
            other => panic!("{code}: {other:?}"),
        }
        assert!(!world.path("home/.gsd/capabilities/acme-lint").exists(), "{code}");
        policy(&world, "");
    }
    let params = staged(&mut client);
    client.call::<Commit>(&params).unwrap();
}

#[test]
fn t187_a_linked_folder_is_taken_over_while_the_policy_allows_it() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal();
    run(&world, ["install", &bundle.spec(), "--link", "--runtime", "claude", "--yes"]).succeeds();
    assert!(is_refused(&answer(&world)));
    policy(&world, "[sources]\ndeny = [\"kind:local\"]\n");
    put(bundle.path("hooks/refuse.sh"), "#!/bin/sh\nexit 0\n");
    assert!(is_refused(&answer(&world)), "the content before stays");
    let reason = row(&world, "acme-lint")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("sources.deny"), "{reason}");
    policy(&world, "");
    assert!(!is_refused(&answer(&world)), "taken over as soon as it is allowed");
    // An agreement without looking does not carry on where it would not be taken.
    policy(&world, "[consent]\nyes = false\n");
    put(bundle.path("hooks/refuse.sh"), "#!/bin/sh\necho no >&2\nexit 2\n");
    assert!(!is_refused(&answer(&world)));
}

#[test]
fn a_level_can_be_asked_for_and_a_rollback_is_held_to_it() {
    let world = world();
    let bundle = world.bundle("acme-log").with_skill("acme-log");
    run(&world, ["install", &bundle.spec()]).succeeds();
    drop(bundle.with("version", json!("1.1.0")));
    run(&world, ["update", "acme-log"]).succeeds();
    policy(&world, "[sources]\nmin_level = \"digest\"\n");
    for args in [&["rollback", "acme-log"][..], &["update", "acme-log"], &["consent", "grant", "acme-log"]] {
        let refused = run(&world, args.iter().copied()).exits(4);
        refused.says("policy.level_too_low").says("policy.toml:2, layer: user").says("this is `none`");
    }
    policy(&world, "[sources]\nmin_level = \"none\"\n");
    run(&world, ["rollback", "acme-log"]).succeeds();
}

#[test]
fn what_is_required_stays_and_is_missed() {
    let world = world();
    let bundle = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    policy(&world, "required = [\"acme-lint\", \"acme-gone\"]\n");
    run(&world, ["list"]).succeeds().says("acme-lint is required").says("acme-gone is required");
    run(&world, ["install", &bundle.spec(), "--runtime", "claude", "--yes"]).succeeds();
    let before = world.tree();
    for args in [
        &["remove", "acme-lint"][..],
        &["remove", "acme-lint", "--dry-run"],
        &["disable", "acme-lint"],
        &["set", "acme-lint", "--off"],
        &["capability", "remove", "acme-lint"],
    ] {
        let refused = run(&world, args.iter().copied());
        assert!(refused.exit != 0, "{args:?}");
    }
    run(&world, ["remove", "acme-lint"]).exits(4).says("policy.required").says("policy.toml:1, layer: user");
    world.is_as(&before, "it stays");
    let listed = run(&world, ["list"]).succeeds();
    assert!(!listed.stderr.contains("acme-lint is required"), "{}", listed.stderr);
    listed.says("acme-gone is required");
    run(&world, ["ledger", "verify"]).says("acme-gone is required");
    // The person can always keep it from running.
    run(&world, ["consent", "revoke", "acme-lint"]).succeeds();
    assert!(!is_refused(&answer(&world)));
}

#[test]
fn show_tells_the_line_that_decides_and_check_asks_nobody() {
    let world = world();
    policy(
        &world,
        "blockedMarketplaces = [{source = \"github\", repo = \"evil/caps\"}]\nlater = 1\n[sources]\nallow = [\"kind:git\"]\n\
         [consent]\nyes = false\n",
    );
    put(
        world.path("proj/.planning/config.json"),
        "{\n \"capabilities\": {\n  \"strict_known_registries\": [\"github.com\"]\n }\n}\n",
    );
    let shown = run(&world, ["policy", "show", "--json"]).succeeds().json();
    let setting = |key: &str| {
        let rows = shown["data"]["settings"].as_array().unwrap();
        rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key}: {shown}")).clone()
    };
    let place = |row: &Value| (row["layer"].as_str().unwrap().to_owned(), row["line"].as_u64());
    assert_eq!(place(&setting("consent.yes")), ("user".to_owned(), Some(6)));
    assert_eq!(setting("sources.allow")["value"], json!(["kind:git"]));
    assert_eq!(place(&setting("capabilities.strict_known_registries")), ("project".to_owned(), Some(3)));
    assert_eq!(place(&setting("update.auto")), ("default".to_owned(), None));
    assert_eq!(shown["schema"], "gsd/v1/policy-show");
    run(&world, ["policy", "show"]).succeeds().says("`later` says nothing").prints("policy.toml:6");

    for (spec, exit, key, line) in [
        ("git+https://github.com/acme/caps#v1", 0, None, None),
        ("git+https://github.com/evil/caps#v1", 4, Some("blockedMarketplaces"), Some(1)),
        ("npm:x", 4, Some("sources.allow"), Some(4)),
        ("git+https://forge.example/r", 4, Some("capabilities.strict_known_registries"), Some(3)),
    ] {
        let outcome = run(&world, ["policy", "check", spec, "--json"]).exits(exit).json();
        let data = &outcome["data"];
        assert_eq!((&data["allowed"], &outcome["exit"]), (&json!(exit == 0), &json!(exit)), "{outcome}");
        assert_eq!(
            (&data["refusal"]["key"], &data["refusal"]["line"]),
            (&json!(key), &json!(line)),
            "{outcome}"
        );
    }
    let later = run(&world, ["policy", "check", "git+https://github.com/acme/caps"]).succeeds();
    later.prints("`--yes` is no agreement");
    run(&world, ["policy", "check", "no such thing"]).exits(2);
    policy(&world, "");
    std::fs::remove_dir_all(world.path("proj/.planning")).unwrap();
    run(&world, ["policy", "check", "https://169.254.169.254/x.tgz"]).exits(4).prints("link-local");
    run(&world, ["policy", "check", "acme@corp"]).exits(7);
}

#[test]
fn t159_a_mirror_of_the_persons_git_has_to_be_allowed_too() {
    let world = world();
    let repository = world.repository("acme-log");
    let bundle = gsd_tests::Bundle::at(&repository.folder().join("cap"), "acme-log");
    repository.commit();
    let source = "git+https://forge.example/acme-log//cap";
    policy(&world, "[sources]\nallow = [\"host:forge.example\"]\n");
    run(&world, ["install", source]).succeeds();
    put(
        world.path("home/.gitconfig"),
        "[url \"https://evil.example/\"]\n\tinsteadOf = https://forge.example/\n\
         [url \"ssh://git@forge.example/\"]\n\tinsteadOf = https://forge\n",
    );
    let refused = run(&world, ["update", "acme-log"]).exits(4);
    refused.says("nothing may be installed from evil.example").says("insteadOf");
    put(world.path("home/.gitconfig"), "[url \"git@evil.example:\"]\n\tinsteadOf = https://forge.example/\n");
    run(&world, ["update", "acme-log"]).exits(4).says("evil.example");
    drop(bundle);
}

#[test]
fn a_repository_has_to_be_named_with_a_commit_where_that_is_asked_for() {
    let world = world();
    policy(&world, "[sources]\nrequire_commit = true\n");
    let refused = run(&world, ["install", "git+https://forge.example/r#v1", "--yes"]).exits(4);
    refused.says("named with a commit").says("policy.toml:2, layer: user");
    let commit = format!("git+https://forge.example/r#{}", "0".repeat(40));
    run(&world, ["policy", "check", &commit]).succeeds();
}
