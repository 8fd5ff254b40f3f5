//! Agreement: asked for, given for exactly what was shown, never assumed.

use gsd_proto::Context;
use gsd_proto::api::capability::{Commit, CommitParams, Consent, Stage, StageParams};
use gsd_tests::{World, link, put, text_of, write_of};
use serde_json::json;

fn digest_in(text: &str) -> String {
    let at = text.find("sha256:").unwrap_or_else(|| panic!("no digest in {text}"));
    text[at..].split_whitespace().next().unwrap().to_owned()
}

/// The command behind `fix:`, as it was printed.
fn fix_in(text: &str) -> String {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("fix:")).unwrap();
    line.split("  ·  ").next().unwrap().trim().strip_prefix("gsdctl ").unwrap().to_owned()
}

#[test]
fn without_a_terminal_nothing_is_written_and_the_printed_command_works() {
    for scope in ["global", "project"] {
        let world = World::new();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        let bundle = gsd_tests::Bundle::at(&world.path("a 'folder'/acme-lint"), "acme-lint").with_refusal();
        let before = world.tree();
        let spec = bundle.spec();
        let install = ["install", &spec, "--scope", scope, "--runtime", "claude"];
        let asked =
            world.gsdctl(install).run().exits(3).says("error[consent.required]").says("hooks/refuse.sh");
        world.is_as(&before, "nobody was there to ask");
        let digest = digest_in(&asked.stderr);
        assert!(asked.stderr.matches(&digest).count() >= 2, "shown and to be repeated: {}", asked.stderr);
        // Piped words are not a person's.
        for input in ["yes\n", "y\n", ""] {
            world.gsdctl(install).input(input).run().exits(3);
        }
        for variable in ["CI", "GSD_NO_INPUT"] {
            world.gsdctl(install).env(variable, "1").run().exits(3);
        }
        world.gsdctl(install).arg("--json").run().exits(3).silent_json_refusal();
        world.is_as(&before, "nobody was there to ask, five times");

        let command = format!("gsdctl() {{ {} \"$@\"; }}; gsdctl {}", client(&world), fix_in(&asked.stderr));
        world.shell(&command).run().succeeds();
        let settings =
            if scope == "global" { "home/.claude/settings.json" } else { "proj/.claude/settings.local.json" };
        let answer = world.hook_of(&world.path(settings), "PreToolUse").input(write_of("x")).run();
        assert!(answer.succeeds().stdout.contains("acme-lint refuses"));
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        world.is_as(&before, "removed");
    }
}

#[test]
fn the_printed_command_names_the_folder_and_the_home_it_was_about() {
    let world = World::new();
    let _ = gsd_tests::Bundle::at(&world.path("elsewhere/caps/acme-lint"), "acme-lint").with_refusal();
    std::fs::create_dir_all(world.path("second home")).unwrap();
    let (folder, home) = (world.path("elsewhere"), world.path("second home"));
    let install =
        ["install", "./caps/acme-lint", "-C", folder.to_str().unwrap(), "--home", home.to_str().unwrap()];
    let asked = world.gsdctl(install).arg("--no-daemon").run().exits(3);
    let command =
        format!("gsdctl() {{ {} --no-daemon \"$@\"; }}; gsdctl {}", client(&world), fix_in(&asked.stderr));
    world.shell(&command).run().succeeds();
    assert!(home.join(".gsd/capabilities/acme-lint/capability.json").is_file());
    assert!(!world.path("home/.gsd").exists());
}

trait Refusal {
    fn silent_json_refusal(self);
}

impl Refusal for gsd_tests::Outcome {
    /// One document that names the code and a command to run.
    fn silent_json_refusal(self) {
        let document = self.json();
        assert_eq!(
            (&document["ok"], &document["error"]["code"]),
            (&false.into(), &"consent.required".into())
        );
        let argv = document["error"]["fix"][0]["argv"].as_array().unwrap().clone();
        assert!(argv.iter().any(|word| word == "--consent"), "{document}");
    }
}

fn client(world: &World) -> String {
    world.client_program().display().to_string()
}

#[test]
fn t183_a_digest_is_good_for_what_it_was_printed_for_and_nothing_else() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    let spec = bundle.spec();
    let digest = digest_in(&world.gsdctl(["install", &spec]).run().exits(3).stderr);
    let agreed = ["install", &spec, "--consent", &digest];
    let before = world.tree();

    // Another script.
    let _ = gsd_tests::Bundle::at(&bundle.path(""), "acme-lint").with_hook(
        "PreToolUse",
        "hooks/refuse.sh",
        "#!/bin/sh\ncurl evil\n",
    );
    let changed = world.tree();
    world.gsdctl(agreed).run().exits(3).says("error[consent.stale]").says(&digest);
    world.is_as(&changed, "another script");
    // Another capability altogether, with and without things that run.
    let other = world.bundle("acme-other").with_refusal();
    world.gsdctl(["install", &other.spec(), "--consent", &digest]).run().exits(3).says("consent.stale");
    let inert = world.bundle("acme-inert").with_file("README.md", "hello\n");
    world.gsdctl(["install", &inert.spec(), "--consent", &digest]).run().exits(3).says("consent.stale");
    // Not a digest at all.
    world.gsdctl(["install", &spec, "--consent", "yes"]).run().exits(3);
    world.gsdctl(["install", &spec, "--consent", ""]).run().exits(3);

    // The bytes that were shown: good again.
    let _ = world.bundle("acme-lint").with_refusal();
    for folder in ["src/acme-other", "src/acme-inert"] {
        std::fs::remove_dir_all(world.path(folder)).unwrap();
    }
    world.is_as(&before, "the bundle is what it was");
    world.gsdctl(agreed).run().succeeds();
    // A matcher that was widened is another agreement (T104).
    let _ = world
        .bundle("acme-lint")
        .with_refusal()
        .with("hooks", json!([{"event": "PreToolUse", "script": "hooks/refuse.sh"}]));
    world.gsdctl(["install", &spec]).run().exits(3).says("You are asked again because");
}

#[test]
fn at_a_terminal_only_yes_in_full_is_yes() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let before = world.tree();
    for answer in ["no<enter>", "y<enter>", "YES please<enter>", "<enter>", "<end>"] {
        let asked = world.at_terminal(answer, ["install", &spec, "--runtime", "claude"]);
        assert!(asked.stdout.contains("hooks/refuse.sh"), "{answer}: {}", asked.stdout);
        asked.exits(13).prints("nothing was changed");
        world.is_as(&before, answer);
    }
    let installed = world.at_terminal("yes<enter>", ["install", &spec, "--runtime", "claude"]).exits(0);
    assert!(installed.stdout.contains("installed acme-lint"), "{}", installed.stdout);
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "removed");
    // Forbidden to ask, it does not ask.
    world.at_terminal("yes<enter>", ["install", &spec, "--no-input"]).exits(3);
    world.is_as(&before, "not asked");
}

#[test]
fn a_blanket_yes_is_recorded_as_one() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    world
        .gsdctl(["install", &spec, "--yes"])
        .run()
        .succeeds()
        .says("agreed to without looking (--yes): sha256:");
    let state = own_state(&world);
    let taken = state["taken"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!(taken["blanket"], true, "{state}");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let digest = digest_in(&world.gsdctl(["install", &spec]).run().exits(3).stderr);
    world.gsdctl(["install", &spec, "--consent", &digest]).run().succeeds();
    let taken = own_state(&world)["taken"].as_object().unwrap().values().next().unwrap().clone();
    assert_eq!((&taken["blanket"], &taken["consentDigest"]), (&false.into(), &digest.into()));
}

fn own_state(world: &World) -> serde_json::Value {
    let folder = world.path("home/.local/state/gsd");
    let homes = std::fs::read_dir(folder).unwrap().flatten();
    let state = homes.map(|home| home.path().join("state.json")).find(|path| path.exists()).unwrap();
    serde_json::from_str(&text_of(state)).unwrap()
}

#[test]
fn t119_t120_fr_028_text_of_a_manifest_cannot_act_on_the_terminal() {
    let world = World::new();
    let evil = "Stop\u{1b}[2K\u{1b}[1A\u{202e}\nIt has nothing that runs.\u{9b}2J";
    let bundle = world
        .bundle("acme-lint")
        .with("title", json!(evil))
        .with("description", json!(evil))
        .with("mcpServers", json!({"tool\u{1b}[31m": {
            "command": "tool", "args": ["--x\nhooks (0)", "\u{1b}]0;title\u{7}"], "env": {"A\u{1b}[2J": evil},
        }}))
        .with_refusal();
    let before = world.tree();
    for args in [vec!["install"], vec!["install", "--dry-run"], vec!["install", "--json"]] {
        let spec = bundle.spec();
        let said = world.gsdctl(args.iter().copied().chain([spec.as_str()])).run();
        for text in [&said.stdout, &said.stderr] {
            let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{9b}');
            assert!(!text.contains(acts), "{args:?}: {text:?}");
            assert!(
                !text.lines().any(|line| line.trim_start().starts_with("It has nothing that runs")),
                "{text}"
            );
            assert!(!text.lines().any(|line| line.trim_start().starts_with("hooks (0)")), "{text}");
        }
        world.is_as(&before, "looked at");
    }
    let terminal = world.at_terminal("no<enter>", ["install", &bundle.spec()]);
    // Headings have our colours, and nothing else has any.
    let rest = ["\u{1b}[1;31m", "\u{1b}[33m", "\u{1b}[1m", "\u{1b}[0m"]
        .iter()
        .fold(terminal.stdout.clone(), |text, ours| text.replace(ours, ""));
    assert!(!rest.contains('\u{1b}'), "{:?}", terminal.stdout);
    let plain = world.at_terminal("no<enter>", ["install", &bundle.spec(), "--color", "never"]);
    assert!(!plain.stdout.contains('\u{1b}'), "{:?}", plain.stdout);
}

#[test]
fn a_colleague_agrees_to_what_came_with_the_project() {
    let author = World::new();
    std::fs::create_dir_all(author.path("proj/.git")).unwrap();
    let bundle = author.bundle("acme-lint").with_refusal();
    author
        .gsdctl(["install", &bundle.spec(), "--scope", "project", "--runtime", "claude", "--yes"])
        .run()
        .succeeds();
    // What a clone brings: the bundle and the ledger, and neither records nor agreements.
    let colleague = World::new();
    std::fs::create_dir_all(colleague.path("proj/.git")).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-R")
        .args([author.path("proj/.gsd"), author.path("proj/.gsd-capabilities.json")])
        .arg(colleague.path("proj"))
        .status()
        .unwrap();
    assert!(copied.success());
    let listed = || colleague.gsdctl(["list"]).run().succeeds().stdout;
    assert!(listed().contains("inactive"), "{}", listed());
    colleague
        .gsdctl(["registry", "explain", "acme-lint"])
        .run()
        .succeeds()
        .prints("gsdctl consent grant acme-lint");
    let grant = ["consent", "grant", "acme-lint", "--runtime", "claude"];
    let before = colleague.tree();
    let refused =
        colleague.gsdctl(grant).run().exits(3).says("hooks/refuse.sh").says("gsdctl consent grant acme-lint");
    colleague.is_as(&before, "nobody agreed");
    let bundle_of = |world: &World| gsd_tests::Tree::of(&world.path("proj/.gsd"), &[]);
    let digest = digest_in(&refused.stderr);
    colleague.gsdctl(grant).args(["--consent", &digest]).run().succeeds().prints("agreed to acme-lint");
    assert!(bundle_of(&author).difference(&bundle_of(&colleague)).is_empty());
    assert!(listed().contains("acme-lint") && !listed().contains("inactive"), "{}", listed());
    let settings = colleague.path("proj/.claude/settings.local.json");
    let answer = colleague.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
    assert!(answer.stdout.contains("acme-lint refuses"), "{}", answer.stdout);
    colleague.gsdctl(grant).run().succeeds().prints("current");
    // A change is another thing to agree to.
    put(colleague.path("proj/.gsd/capabilities/acme-lint/hooks/refuse.sh"), "#!/bin/sh\nexit 0\n");
    assert!(listed().contains("changed"), "{}", listed());
    colleague.gsdctl(grant).run().exits(3);
    colleague.gsdctl(grant).arg("--yes").run().succeeds();
    assert!(listed().contains("active") && !listed().contains("changed"), "{}", listed());
}

/// Everything that runs and everything that instructs, in full, for programs; grouped, with sizes, for people.
#[test]
fn t107_t118_what_is_disclosed_is_complete_for_programs_and_readable_for_people() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let long = "v".repeat(300);
    let skill = format!("---\nname: a\ndescription: b\n---\n{}", "word ".repeat(200));
    let bundle = world
        .bundle("acme-all")
        .with_refusal()
        .with("skills", json!(["acme-all-skill"]))
        .with_file("skills/acme-all-skill/SKILL.md", &skill)
        .with_item(
            "gates",
            json!({"point": "ship:pre", "blocking": true, "onError": "halt",
                "check": {"predicate": {"kind": "command-exit-zero", "command": "make \u{202e}check"}}}),
        )
        .with(
            "mcpServers",
            json!({"acme-db": {"command": "node", "args": ["server.js", "--x"], "env": {"NODE_OPTIONS": long},
                "cwd": "/srv/acme"}}),
        )
        .with_file("server.js", "1\n");
    let spec = bundle.spec();
    let inspected = world.gsdctl(["inspect", &spec, "--json"]).run().succeeds();
    assert!(!inspected.stdout.contains('\u{202e}'), "a document acts on the terminal");
    let data = inspected.json()["data"].clone();
    let kinds: Vec<&str> =
        data["executable"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["hook", "gate_command", "mcp_server"]);
    assert_eq!(data["executable"][1]["command"], "make \u{202e}check");
    let server = &data["executable"][2];
    assert_eq!((&server["env"]["NODE_OPTIONS"], &server["cwd"]), (&json!(long), &json!("/srv/acme")));
    assert_eq!(server["env_warnings"], json!(["NODE_OPTIONS"]));
    assert!(server["files"]["server.js"].as_str().unwrap().starts_with("sha256:"));
    assert!(data["executable"][0]["digest"].as_str().unwrap().starts_with("sha256:"));
    let tokens = u64::try_from(skill.len()).unwrap().div_ceil(4);
    assert_eq!(
        data["instructing"],
        json!([{"kind": "skill", "name": "acme-all-skill", "bytes": skill.len(), "tokens": tokens}])
    );
    assert_eq!(data["tokens"], tokens);

    // People see the same, cut, and in full when they ask.
    let shown = world
        .gsdctl(["inspect", &spec])
        .run()
        .succeeds()
        .prints("(changes what runs)")
        .prints("more characters");
    assert!(shown.stdout.contains(&format!("up to {tokens} tokens")), "{}", shown.stdout);
    assert!(!shown.stdout.contains(&long) && !shown.stdout.contains('\u{1b}'), "{}", shown.stdout);
    world
        .gsdctl(["inspect", &spec, "-v"])
        .run()
        .succeeds()
        .prints(&long)
        .prints("runs in the folder \"/srv/acme\"");
    world.gsdctl(["inspect", &spec, "--color", "always"]).run().succeeds().prints("\u{1b}[1;31mIt can RUN");
    world.gsdctl(["inspect", &spec]).env("FORCE_COLOR", "1").run().succeeds().prints("\u{1b}[1;31m");

    // The digest of the preview is the one that an install takes; nothing is written for it.
    let before = world.tree();
    let preview =
        world.gsdctl(["consent", "preview", &spec, "--json"]).run().succeeds().json()["data"].clone();
    assert_eq!(preview["consent_digest"], data["consent_digest"]);
    assert_eq!(preview["requires_consent"], true);
    world.is_as(&before, "a preview");
    let digest = preview["consent_digest"].as_str().unwrap();
    world.gsdctl(["install", &spec, "--consent", digest]).run().succeeds();
    // An installed id is inspected as it lies there, and previewed as its source is now.
    let installed = world.gsdctl(["inspect", "acme-all", "--json"]).run().succeeds().json();
    assert_eq!(installed["data"]["consent_digest"], digest);
    let again = world.gsdctl(["consent", "preview", "acme-all", "--json"]).run().succeeds().json();
    assert_eq!(
        (&again["data"]["requires_consent"], &again["data"]["current"]),
        (&json!(false), &json!(true))
    );
    let shown =
        world.gsdctl(["consent", "show", "acme-all", "--json"]).run().succeeds().json()["data"].clone();
    assert_eq!((&shown["record"]["consent_digest"], &shown["state"]), (&json!(digest), &json!("it holds")));
    assert_eq!(shown["executable"], data["executable"]);
    world.gsdctl(["consent", "show", "acme-none"]).run().exits(7);
    world.gsdctl(["consent", "revoke", "acme-all"]).run().succeeds();
    world
        .gsdctl(["consent", "show", "acme-all"])
        .run()
        .succeeds()
        .prints("it was taken back")
        .prints("refuse.sh");
}

/// The source belongs to somebody else, who changes it while the person reads what it would run.
#[test]
fn t40_t41_t45_what_is_committed_is_what_was_shown() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal().with_file("data/words.txt", "shown\n");
    // Another name of a file of the person's is only its bytes.
    put(world.path("home/notes.txt"), "mine\n");
    std::fs::hard_link(world.path("home/notes.txt"), bundle.path("data/notes.txt")).unwrap();
    let _ = world.start_daemon();
    let mut client = world.client();
    let ctx = Context::new("t", world.project(), [("HOME".into(), world.home().into_os_string())]);
    let staged = client
        .call::<Stage>(&StageParams { ctx: ctx.clone(), spec: bundle.spec(), ..StageParams::default() })
        .unwrap();
    let shown: Vec<(&str, Vec<u8>)> =
        ["capability.json", "hooks/refuse.sh", "data/words.txt", "data/notes.txt"]
            .map(|file| (file, gsd_tests::bytes_of(bundle.path(file))))
            .into();
    put(bundle.path("data/words.txt"), "other\n");
    let bundle = bundle
        .with_hook("Stop", "hooks/evil.sh", "#!/bin/sh\n")
        .with_file("hooks/refuse.sh", "#!/bin/sh\necho evil\n");
    std::fs::remove_file(bundle.path("data/notes.txt")).unwrap();
    link(bundle.path("data/notes.txt"), "/etc/passwd");
    let consent = Some(Consent { digest: staged.consent_digest, blanket: false });
    client
        .call::<Commit>(&CommitParams { ctx, ticket: staged.ticket, consent, ..CommitParams::default() })
        .unwrap();
    let installed = world.path("home/.gsd/capabilities/acme-lint");
    for (file, bytes) in shown {
        assert_eq!(gsd_tests::bytes_of(installed.join(file)), bytes, "{file}");
    }
    assert!(!installed.join("hooks/evil.sh").exists());
    let links =
        std::os::unix::fs::MetadataExt::nlink(&std::fs::metadata(installed.join("data/notes.txt")).unwrap());
    assert_eq!(links, 1);
}

/// An agreement is for the project's real folder on this machine: another checkout of the same repository asks again.
#[test]
fn t130_t141_worktrees_and_clones_do_not_inherit_an_agreement() {
    let world = World::new();
    let repository = world.repository("one.git");
    put(repository.folder().join("README.md"), "A project.\n");
    repository.commit();
    let bundle = world.bundle("acme-lint").with_refusal();
    let install = ["install", &bundle.spec(), "--scope", "project", "--runtime", "claude", "--yes"];
    world.gsdctl(install).cwd(repository.folder()).run().succeeds();
    repository.git(&["add", "-A", "-f"]);
    repository.commit();
    let worktree = world.path("worktree").display().to_string();
    repository.git(&["worktree", "add", "-q", "--detach", &worktree]);
    let clone = world.path("clone").display().to_string();
    repository.git(&["clone", "-q", ".", &clone]);
    let state = |folder: &str| {
        let listed = world.gsdctl(["list", "--json"]).cwd(folder).run().succeeds().json();
        let rows = listed["data"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["id"] == "acme-lint").unwrap();
        (row["status"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap_or_default().to_owned())
    };
    let original = repository.folder().display().to_string();
    assert_eq!(state(&original).0, "active");
    let asks = |folder: &str| {
        let ask = world.gsdctl(["hook", "PreToolUse", "--host", "claude"]).cwd(folder).input(write_of("x"));
        ask.run().succeeds().stdout.contains("acme-lint refuses")
    };
    for other in [&worktree, &clone] {
        let (status, reason) = state(other);
        assert_eq!(status, "inactive", "{other}: {reason}");
        assert!(reason.contains("nobody agreed"), "{other}: {reason}");
        assert!(!asks(other), "{other}");
    }
    // A link to the folder is the folder.
    link(world.path("alias"), &original);
    assert_eq!(state(&world.path("alias").display().to_string()).0, "active");
    assert!(asks(&original));
    // Taking it back counts at the next call, for a host that has been running all the time too.
    world.gsdctl(["consent", "revoke", "acme-lint"]).cwd(&original).run().succeeds();
    assert!(!asks(&original));
}
