//! Somebody who writes to the project's tree all the time changes nothing that runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gsd_proto::Context;
use gsd_proto::api::hook::{Evaluate, EvaluateParams};
use gsd_tests::{World, bytes_of, link, put, write_of};
use serde_json::json;

const CALLS: usize = 10_000;
/// One in so many calls is made as a host makes it, and its script runs.
const STARTED: usize = 50;
const AGREED: &str = "#!/bin/sh\necho acme-lint refuses >&2\nexit 2\n";
const EVIL: &str = "#!/bin/sh\necho BROKENIN >&2; exit 2; # same\n";

/// Changes the bundle in every way it can think of, as fast as it can, and puts it back each time.
fn attack(bundle: &Path, aside: &Path, stop: &AtomicBool, rounds: &AtomicU64) {
    let script = bundle.join("hooks/lint.sh");
    let manifest = bundle.join("capability.json");
    let agreed = bytes_of(&manifest);
    let widened = String::from_utf8_lossy(&agreed).replace("hooks/lint.sh", "hooks/evil.sh").into_bytes();
    let write = |path: &Path, bytes: &[u8]| put(path, bytes);
    while !stop.load(Ordering::Relaxed) {
        // In place, with the same length and without.
        write(&script, EVIL.as_bytes());
        write(&script, AGREED.as_bytes());
        // By a rename over it.
        write(&aside.join("evil.sh"), EVIL.as_bytes());
        drop(std::fs::rename(aside.join("evil.sh"), &script));
        write(&aside.join("agreed.sh"), AGREED.as_bytes());
        drop(std::fs::rename(aside.join("agreed.sh"), &script));
        // By a link, of the file and of its folder.
        write(&aside.join("evil.sh"), EVIL.as_bytes());
        drop(std::fs::remove_file(&script));
        link(&script, aside.join("evil.sh"));
        drop(std::fs::remove_file(&script));
        write(&script, AGREED.as_bytes());
        drop(std::fs::rename(bundle.join("hooks"), aside.join("hooks")));
        link(bundle.join("hooks"), aside);
        drop(std::fs::remove_file(bundle.join("hooks")));
        drop(std::fs::rename(aside.join("hooks"), bundle.join("hooks")));
        // Another manifest that names another script.
        write(&bundle.join("hooks/evil.sh"), EVIL.as_bytes());
        write(&manifest, &widened);
        write(&manifest, &agreed);
        drop(std::fs::remove_file(bundle.join("hooks/evil.sh")));
        rounds.fetch_add(1, Ordering::Relaxed);
        // The agreed state lasts long enough to be met now and then.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn t145_a_writer_in_the_project_changes_nothing_that_runs() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    std::fs::create_dir_all(world.path("aside")).unwrap();
    let bundle = world.bundle("acme-lint").with_hook("PreToolUse", "hooks/lint.sh", AGREED);
    world
        .gsdctl(["install", &bundle.spec(), "--scope", "project", "--runtime", "claude", "--yes"])
        .run()
        .succeeds();
    let _ = world.start_daemon();
    let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let attacker = std::thread::spawn({
        let (bundle, aside) = (world.path("proj/.gsd/capabilities/acme-lint"), world.path("aside"));
        let (stop, rounds) = (Arc::clone(&stop), Arc::clone(&rounds));
        move || attack(&bundle, &aside, &stop, &rounds)
    });
    let mut client = world.client();
    let params = EvaluateParams {
        ctx: Context { cwd: world.path("proj"), ..Context::default() },
        host: "claude".to_owned(),
        event: "PreToolUse".to_owned(),
        payload: [("tool_name".to_owned(), json!("Write"))].into(),
    };
    let store = world.path("home/.local/share/gsd");
    let settings = world.path("proj/.claude/settings.local.json");
    let (mut ran, mut told) = (0, 0);
    for call in 0..CALLS {
        if call % STARTED == 0 {
            let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
            assert!(
                !answer.stdout.contains("BROKENIN") && !answer.stderr.contains("BROKENIN"),
                "{}",
                answer.stdout
            );
            assert!(answer.stdout.contains("acme-lint"), "neither run nor told: {}", answer.stdout);
            continue;
        }
        let answer = client.call::<Evaluate>(&params).unwrap();
        assert!(answer.scripts.len() + answer.notices.len() == 1, "neither run nor told: {answer:?}");
        told += answer.notices.len();
        for script in &answer.scripts {
            let program = Path::new(&script.argv[0]);
            assert!(program.starts_with(&store), "{}", program.display());
            assert_eq!(bytes_of(program), AGREED.as_bytes(), "call {call}");
            ran += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
    assert!(
        ran > 0 && told > 0,
        "no race: {ran} ran, {told} were told, {} rounds",
        rounds.load(Ordering::Relaxed)
    );
}
