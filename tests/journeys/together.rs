//! Several clients at once, several homes and folders, and things of the person's in our way.

use gsd_tests::{World, bytes_of, link, put, registered, set_mode, text_of, write_of};
use serde_json::json;

#[test]
fn clients_at_the_same_time_do_not_lose_each_others_work() {
    for private in [false, true] {
        let world = World::new();
        put(world.path("home/.claude/settings.json"), "{ \"model\": \"opus\" }\n");
        put(world.path("home/.claude.json"), "{}\n");
        let ids: Vec<String> = (0..6).map(|at| format!("acme-n{at}")).collect();
        let specs: Vec<String> = ids
            .iter()
            .map(|id| {
                let bundle = world.bundle(id).with_refusal().with_skill(id);
                bundle.with("mcpServers", json!({id.as_str(): {"command": "true"}})).spec()
            })
            .collect();
        let before = world.tree();
        let extra: &[&str] = if private { &["--no-daemon"] } else { &[] };
        let all_at_once = |commands: Vec<Vec<&str>>| {
            let running: Vec<_> = commands
                .into_iter()
                .map(|command| world.gsdctl(command).args(extra.iter().copied()).spawn())
                .collect();
            for child in running {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        };
        all_at_once(
            specs.iter().map(|spec| vec!["install", spec.as_str(), "--runtime", "claude", "--yes"]).collect(),
        );
        let settings = world.path("home/.claude/settings.json");
        assert_eq!(registered(&settings, "PreToolUse").len(), 1, "{}", text_of(&settings));
        let _ = world.start_daemon();
        let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds().stdout;
        let servers: serde_json::Value =
            serde_json::from_slice(&bytes_of(world.path("home/.claude.json"))).unwrap();
        for id in &ids {
            assert!(answer.contains(&format!("{id} refuses")), "{id} is silent: {answer}");
            assert!(servers["mcpServers"][id].is_object(), "{id} has no server: {servers}");
        }
        all_at_once(ids.iter().map(|id| vec!["remove", id.as_str()]).collect());
        world.is_as(&before, if private { "private processes" } else { "one daemon" });
    }
}

#[test]
fn one_capability_installed_by_many_at_once_is_there_once() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().with_skill("acme-lint").spec();
    let before = world.tree();
    let running: Vec<_> = (0..5)
        .map(|at| {
            let install = world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]);
            if at % 2 == 0 { install.spawn() } else { install.arg("--no-daemon").spawn() }
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(registered(&world.path("home/.claude/settings.json"), "PreToolUse").len(), 1);
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "installed five times, removed once");
}

#[test]
fn a_project_is_the_same_from_all_of_its_folders() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let deep = world.path("proj/crates/one/src");
    std::fs::create_dir_all(&deep).unwrap();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let before = world.tree();
    world
        .gsdctl(["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"])
        .cwd(&deep)
        .run()
        .succeeds();
    assert!(world.path("proj/.gsd/capabilities/acme-lint").is_dir());
    let settings = world.path("proj/.claude/settings.local.json");
    let hook = |cwd: &std::path::Path, input: String| {
        world.hook_of(&settings, "PreToolUse").cwd(cwd).input(input).run().succeeds().stdout
    };
    for folder in [world.project(), deep.clone()] {
        assert!(hook(&folder, write_of("x")).contains("refuses"), "{}", folder.display());
    }
    // The payload says where the session is, whatever the folder of the process.
    let inside = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "cwd": deep}).to_string();
    assert!(hook(&world.path("tmp"), inside).contains("refuses"));
    let outside =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "cwd": world.path("tmp")}).to_string();
    assert!(!hook(&world.project(), outside).contains("refuses"));
    world.gsdctl(["remove", "acme-lint"]).cwd(&deep).run().succeeds();
    world.is_as(&before, "removed from a folder of it");
}

#[test]
fn a_guard_of_a_project_watches_over_what_is_nested_in_it() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    std::fs::create_dir_all(world.path("proj/vendor/repository/.git")).unwrap();
    std::fs::create_dir_all(world.path("proj/vendor/planned/.planning")).unwrap();
    let outer = world.bundle("acme-outer").with_refusal().spec();
    let inner = world.bundle("acme-inner").with_refusal().spec();
    let global = world.bundle("acme-global").with_refusal().spec();
    let install = |spec: &str, scope: &str, folder: &str| {
        let install = world.gsdctl(["install", spec, "--scope", scope, "--runtime", "claude", "--yes"]);
        install.cwd(world.path(folder)).run().succeeds();
    };
    install(&outer, "project", "proj");
    install(&inner, "project", "proj/vendor/planned");
    install(&global, "global", "proj");
    let answer = |folder: &str| {
        let told = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "cwd": world.path(folder)});
        let settings = world.path("proj/.claude/settings.local.json");
        world.hook_of(&settings, "PreToolUse").input(told.to_string()).run().succeeds().stdout
    };
    for (folder, ids) in [
        ("proj", vec!["acme-outer", "acme-global"]),
        ("proj/vendor", vec!["acme-outer", "acme-global"]),
        ("proj/vendor/repository", vec!["acme-outer", "acme-global"]),
        ("proj/vendor/planned", vec!["acme-outer", "acme-inner", "acme-global"]),
        ("tmp", vec!["acme-global"]),
    ] {
        let answer = answer(folder);
        for id in ["acme-outer", "acme-inner", "acme-global"] {
            let times = answer.matches(&format!("{id} refuses")).count();
            assert_eq!(times, usize::from(ids.contains(&id)), "{id} in {folder}: {answer}");
        }
    }
}

#[test]
fn a_link_to_a_project_is_the_project() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    link(world.path("alias"), world.project());
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let before = world.tree();
    world
        .gsdctl(["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"])
        .cwd(world.path("alias"))
        .run()
        .succeeds();
    let settings = world.path("proj/.claude/settings.local.json");
    for folder in ["proj", "alias"] {
        let answer =
            world.hook_of(&settings, "PreToolUse").cwd(world.path(folder)).input(write_of("x")).run();
        assert!(answer.succeeds().stdout.contains("refuses"), "{folder}");
        // A host says its own idea of the folder.
        let told = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "cwd": world.path(folder)});
        let answer = world.hook_of(&settings, "PreToolUse").input(told.to_string()).run().succeeds();
        assert!(answer.stdout.contains("refuses"), "told {folder}");
    }
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "removed by its real name");
}

#[test]
fn a_settings_link_that_leads_nowhere_is_not_replaced() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    link(world.path("home/.claude/settings.json"), "../dots/not-checked-out.json");
    let before = world.tree();
    let outcome = world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().fails();
    assert!(outcome.stderr.contains("settings.json"), "{}", outcome.stderr);
    world.is_as(&before, "a dangling link");
}

#[test]
fn a_launcher_of_the_persons_is_not_replaced_and_a_lost_one_is_made_again() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let launcher = world.path("home/.gsd/bin/gsdctl");
    put(&launcher, "#!/bin/sh\nexit 0\n");
    set_mode(&launcher, 0o755);
    let before = world.tree();
    let refused = world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().fails();
    assert!(refused.stderr.contains(".gsd/bin/gsdctl"), "{}", refused.stderr);
    world.is_as(&before, "something of the person's in the place of the launcher");
    std::fs::remove_dir_all(world.path("home/.gsd")).unwrap();

    let before = world.tree();
    world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
    std::fs::remove_file(&launcher).unwrap();
    // Installing again is the remedy for anything that was lost.
    world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
    let answer =
        world.hook_of(&world.path("home/.claude/settings.json"), "PreToolUse").input(write_of("x")).run();
    assert!(answer.succeeds().stdout.contains("refuses"));
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "removed");
}

#[test]
fn what_the_person_deleted_meanwhile_is_no_obstacle_to_a_removal() {
    for lost in [
        "home/.claude/settings.json",
        "home/.claude",
        "home/.gsd/capabilities/acme-lint",
        "home/.gsd-capabilities.json",
        "home/.gsd/bin/gsdctl",
        "home/.claude/skills/gsd-acme-lint",
    ] {
        let world = World::new();
        let spec = world.bundle("acme-lint").with_refusal().with_skill("acme-lint").spec();
        std::fs::create_dir_all(world.path("home/.claude")).unwrap();
        let before = world.tree();
        world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
        let path = world.path(lost);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        std::fs::create_dir_all(world.path("home/.claude")).unwrap();
        world.is_as(&before, lost);
    }
}

#[test]
fn fr_016_an_update_leaves_the_registration_as_it_is_and_an_old_client_path_is_repaired() {
    let world = World::new();
    let programs = world.own_programs();
    let bundle = world.bundle("acme-lint").with_refusal();
    let spec = bundle.spec();
    world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
    let settings = world.path("home/.claude/settings.json");
    let first = bytes_of(&settings);
    let _ = world.bundle("acme-lint").with("version", "1.0.1".into()).with_hook(
        "PreToolUse",
        "hooks/new.sh",
        "#!/bin/sh\necho refuses anew >&2\nexit 2\n",
    );
    world.gsdctl(["install", &spec, "--yes"]).run().succeeds();
    assert_eq!(bytes_of(&settings), first, "hosts that remember a hash of the command would ask again");
    let bare = || {
        let run = world.hook_of(&settings, "PreToolUse").without_env("LANG").env("PATH", "/usr/bin:/bin");
        run.input(write_of("x")).run().succeeds()
    };
    assert!(bare().stdout.contains("anew"));
    // The programs move, as package managers move them.
    std::fs::rename(&programs, world.path("bin-2")).unwrap();
    world.gsdctl(["daemon", "stop"]).run().succeeds();
    std::fs::rename(world.path("bin-2"), world.path("bin")).unwrap();
    world.gsdctl(["list"]).run().succeeds();
    assert!(bare().stdout.contains("anew"));
}

#[test]
fn t146_agreements_in_several_projects_at_once_are_all_kept() {
    let world = World::new();
    let projects: Vec<std::path::PathBuf> = (0..4).map(|at| world.path(format!("proj-{at}"))).collect();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    for project in &projects {
        std::fs::create_dir_all(project.join(".git")).unwrap();
    }
    let running: Vec<_> = projects
        .iter()
        .enumerate()
        .map(|(at, project)| {
            let install = world.gsdctl(["install", &spec, "--scope", "project", "--yes"]).cwd(project);
            if at % 2 == 0 { install.spawn() } else { install.arg("--no-daemon").spawn() }
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let store = text_of(world.path("home/.gsd/consent.json"));
    for project in &projects {
        let real = std::fs::canonicalize(project).unwrap().display().to_string();
        assert!(store.contains(&format!("\"{real}\"")), "{real} is lost: {store}");
        let listed = world.gsdctl(["list"]).cwd(project).run().succeeds();
        assert!(!listed.stdout.contains("inactive"), "{}", listed.stdout);
    }
}
