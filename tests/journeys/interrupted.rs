//! Power cuts, full disks, paused and competing processes: the state before or the state after, never a mix.

use std::time::{Duration, Instant};

use gsd_tests::{World, alive, put, set_mode, signal_process, text_of, wait_for, write_of};
use rustix::process::Signal;
use serde_json::json;

/// The next of a fixed sequence of numbers that look random.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A world in which one capability touches every kind of place: bundle, ledger, consent, records, launcher, files and
/// documents of the host.
fn rich_world() -> (World, String) {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let mut bundle = world
        .bundle("acme-lint")
        .with_refusal()
        .with_skill("acme-lint")
        .with("mcpServers", json!({"notes": {"command": "python3", "args": ["server/notes.py"]}}))
        .with_file("server/notes.py", "pass\n");
    for at in 0..6 {
        bundle = bundle.with_file(&format!("data/{at}.txt"), "x\n");
    }
    put(world.path("home/.claude/settings.json"), "{ \"model\": \"opus\",\n  \"hooks\": {} }\n");
    put(world.path("home/.claude.json"), "{\"numStartups\": 3}\n");
    put(world.path("proj/.claude/settings.local.json"), "{\"model\":\"opus\"}");
    set_mode(world.path("home/.claude/settings.json"), 0o600);
    let spec = bundle.spec();
    (world, spec)
}

/// Kills the daemon at a random moment of `operation`; the client may say what it likes.
fn interrupt(world: &World, operation: &[&str], delay: Duration) {
    let pid = world.start_daemon();
    let mut client = world.gsdctl(operation.iter().copied()).spawn();
    let begun = Instant::now();
    while begun.elapsed() < delay && client.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    // The client first: it would do the work again in a process of its own.
    signal_process(client.id(), Signal::KILL);
    signal_process(pid, Signal::KILL);
    let _ = client.wait_with_output();
    wait_for("the end of the daemon", || !alive(pid));
}

/// `GSD_TEST_KILLS` asks for more of them than the ordinary run has time for.
fn kill_at_random_moments(scope: &str, seeds: u32, mut seed: u64) {
    let seeds = std::env::var("GSD_TEST_KILLS").map_or(seeds, |kills| kills.parse().unwrap());
    let (world, spec) = rich_world();
    let install = ["install", &spec, "--scope", scope, "--runtime", "claude", "--yes"];
    let remove = ["remove", "acme-lint"];
    let _ = world.start_daemon();
    let without = world.tree();
    let begun = Instant::now();
    world.gsdctl(install).run().succeeds();
    let duration = begun.elapsed();
    let with = world.tree().without_times();
    let mut reached = [0_u32; 2];
    for at in 0..seeds {
        let installed = world.tree().without_times() == with;
        let operation: &[&str] = if installed { &remove } else { &install };
        let micros = u64::try_from(duration.as_micros()).unwrap() * 5 / 4;
        let delay = Duration::from_micros(next(&mut seed) % micros);
        interrupt(&world, operation, delay);
        let left = world.tree();
        world.gsdctl(["list"]).run().succeeds();
        let tree = world.tree();
        let state = if tree.without_times() == with {
            1
        } else {
            let difference = without.difference(&tree);
            assert!(
                difference.is_empty(),
                "{scope}, run {at}, {operation:?} killed after {delay:?} leaves a mix; it was killed with\n{}\nit differs from a home with it by\n{}\nand from one without it by\n{difference}",
                without.difference(&left),
                with.difference(&tree.without_times()),
            );
            0
        };
        reached[state] += 1;
        if at % 4 == 0 {
            world.gsdctl(["daemon", "restart"]).run().succeeds();
            world.is_as(&tree, "a second sweep");
        }
        // Whatever the state is, the registered hook works or is not registered.
        let settings = world.path(match scope {
            "global" => "home/.claude/settings.json",
            _ => "proj/.claude/settings.local.json",
        });
        if state == 1 {
            let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
            assert!(answer.stdout.contains("deny"), "{}{}", answer.stdout, answer.stderr);
        } else {
            assert!(!text_of(&settings).contains("gsdctl"));
        }
    }
    assert!(reached.iter().all(|count| *count > 0), "no variety: {reached:?}");
    if world.tree().without_times() == with {
        world.gsdctl(remove).run().succeeds();
    }
    world.is_as(&without, "after all of it");
}

#[test]
fn killed_at_any_moment_of_a_global_install_or_removal() {
    kill_at_random_moments("global", 40, 0x9e37_79b9_7f4a_7c15);
}

#[test]
fn killed_at_any_moment_of_a_project_install_or_removal() {
    kill_at_random_moments("project", 40, 0x2545_f491_4f6c_dd1d);
}
