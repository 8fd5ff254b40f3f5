//! Full disks, paused and competing processes: the state before or the state after, never a mix. What is killed at every
//! moment is in `tests/crash`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use gsd_tests::{World, alive, put, set_mode, signal_process, wait_for, write_of};
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

#[test]
fn fr_021_an_upgrade_that_fails_late_keeps_the_old_version() {
    let (world, spec) = rich_world();
    world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().succeeds();
    let _ = world.bundle("acme-lint").with("version", "1.1.0".into()).with_refusal().with_skill("acme-late");
    // The very last thing that is written: the new skill goes into a folder that takes no more files.
    let Some(_full) = FullDisk::at(&world.path("home/.claude/skills/gsd-acme-late")) else { return };
    let before = world.tree().without_times();
    let failed = world.gsdctl(["install", &spec, "--runtime", "claude", "--yes"]).run().fails();
    assert!(failed.stderr.contains("everything was put back"), "{}", failed.stderr);
    let difference = before.difference(&world.tree().without_times());
    assert!(difference.is_empty(), "a failed upgrade:\n{difference}");
    let answer =
        world.hook_of(&world.path("home/.claude/settings.json"), "PreToolUse").input(write_of("x")).run();
    assert!(answer.succeeds().stdout.contains("acme-lint refuses"));
}

/// A small file system without any room; `None` where mounting is not permitted.
struct FullDisk(std::path::PathBuf);

impl FullDisk {
    fn at(folder: &std::path::Path) -> Option<Self> {
        let disk = Self::empty(folder, "16k")?;
        fill(folder);
        Some(disk)
    }

    fn empty(folder: &std::path::Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=0755"), "tmpfs"]).arg(folder);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            let told =
                writeln!(std::io::stderr(), "skipped: mounting a small file system is not permitted here");
            drop(told);
            return None;
        }
        Some(Self(folder.to_owned()))
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Takes all the room that is left.
fn fill(folder: &std::path::Path) {
    let mut filler = std::fs::File::options().create(true).append(true).open(folder.join("filler")).unwrap();
    for size in [65536, 4096, 1] {
        while filler.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

#[test]
fn a_full_disk_fails_the_install_and_nothing_else() {
    let world = World::new();
    let Some(_disk) = FullDisk::empty(&world.path("home"), "1m") else { return };
    let bundle = world
        .bundle("acme-lint")
        .with_refusal()
        .with_skill("acme-lint")
        .with_file("data/words.txt", &"word ".repeat(4000));
    let spec = bundle.spec();
    put(world.path("home/.claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
    // Our own records lie elsewhere, so that it is the person's disk that is full.
    for folder in ["state", "data", "cache"] {
        std::fs::create_dir_all(world.path("tmp").join(folder)).unwrap();
    }
    let run = |args: &[&str]| {
        world
            .gsdctl(args.iter().copied())
            .env("XDG_STATE_HOME", world.path("tmp/state"))
            .env("XDG_DATA_HOME", world.path("tmp/data"))
            .env("XDG_CACHE_HOME", world.path("tmp/cache"))
            .run()
    };
    let install = ["install", &spec, "--runtime", "claude", "--yes"];
    run(&["daemon", "start"]).succeeds();
    // Room for nothing, then for a little more each time, until it is enough.
    for pages in 0..64 {
        // A file system counts what was freed on another processor a little later.
        let room = world.path("home/room");
        let taken = vec![b'x'; pages * 4096];
        wait_for("room on the disk", || {
            std::fs::File::create(&room).and_then(|mut file| file.write_all(&taken)).is_ok()
        });
        fill(&world.path("home"));
        std::fs::remove_file(&room).unwrap();
        let before = world.tree();
        let outcome = run(&install);
        if outcome.exit == 0 {
            let installed = world.tree().without_times();
            if run(&["remove", "acme-lint"]).exit != 0 {
                let difference = installed.difference(&world.tree().without_times());
                assert!(difference.is_empty(), "a failed removal:\n{difference}");
                std::fs::remove_file(world.path("home/filler")).unwrap();
                run(&["remove", "acme-lint"]).succeeds();
            }
            let difference = before.without("home/filler").difference(&world.tree().without("home/filler"));
            assert!(difference.is_empty(), "installed and removed:\n{difference}");
            assert!(pages > 3, "the disk was never full");
            return;
        }
        outcome.exits(1).says("free some space");
        world.is_as(&before, &format!("with room for {pages} pages"));
        std::fs::remove_file(world.path("home/filler")).unwrap();
    }
    panic!("it never fitted");
}

#[test]
fn a_paused_daemon_does_not_hold_up_the_host() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    world.gsdctl(["install", &bundle.spec(), "--runtime", "claude", "--yes"]).run().succeeds();
    let settings = world.path("home/.claude/settings.json");
    let pid = world.daemons()[0];
    signal_process(pid, Signal::STOP);
    let begun = Instant::now();
    let passed = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run();
    let took = begun.elapsed();
    signal_process(pid, Signal::CONT);
    let passed = passed.succeeds();
    assert_eq!(passed.stdout, "");
    assert_eq!(passed.stderr.lines().count(), 1, "{}", passed.stderr);
    assert!(took < Duration::from_secs(10), "{took:?}");
    let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
    assert!(answer.stdout.contains("acme-lint refuses"), "{}{}", answer.stdout, answer.stderr);
}

#[test]
fn a_private_process_settles_what_a_killed_daemon_left_and_the_other_way_round() {
    let (world, spec) = rich_world();
    let without = world.tree();
    let install = ["install", &spec, "--runtime", "claude", "--yes"];
    world.gsdctl(install).run().succeeds();
    let with = world.tree().without_times();
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let mut seed = 77;
    for _ in 0..8 {
        interrupt(&world, &install, Duration::from_micros(20_000 + next(&mut seed) % 60_000));
        world.gsdctl(["list", "--no-daemon"]).run().succeeds();
        let tree = world.tree();
        if tree.without_times() != with {
            world.is_as(&without, "after a killed daemon");
            continue;
        }
        world.gsdctl(["remove", "acme-lint", "--no-daemon"]).run().succeeds();
        world.is_as(&without, "removed without a daemon");
    }
    let pid = world.start_daemon();
    for _ in 0..8 {
        let mut client = world.gsdctl(install).arg("--no-daemon").spawn();
        let begun = Instant::now();
        let delay = Duration::from_micros(next(&mut seed) % 120_000);
        while begun.elapsed() < delay && client.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        let private: Vec<u32> = world.daemons().into_iter().filter(|other| *other != pid).collect();
        signal_process(client.id(), Signal::KILL);
        private.iter().for_each(|pid| signal_process(*pid, Signal::KILL));
        let _ = client.wait_with_output();
        wait_for("the end of the private process", || private.iter().all(|pid| !alive(*pid)));
        // The daemon did not see the crash; the next change settles it.
        world.gsdctl(install).run().succeeds();
        assert!(world.tree().without_times() == with, "{}", with.difference(&world.tree().without_times()));
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        world.is_as(&without, "after a killed private process");
    }
}

#[test]
fn a_home_that_cannot_be_written_fails_the_install_and_passes_the_hook() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    let as_other = gsd_proto::private_dir::our_uid() == 0;
    let client = world.client_program();
    if as_other {
        let owned =
            std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(world.path("")).status();
        if !owned.is_ok_and(|status| status.success()) || !std::path::Path::new("/usr/bin/setpriv").exists() {
            eprintln!("skipped: root may write everywhere, and nobody else can be become here");
            return;
        }
    }
    let run = |args: &[&str]| {
        let run = if as_other {
            let words = ["--reuid=65534", "--regid=65534", "--clear-groups"];
            world.outside_program(std::path::Path::new("/usr/bin/setpriv")).args(words).arg(&client)
        } else {
            world.outside_program(&client)
        };
        run.args(args.iter().copied())
    };
    let spec = bundle.spec();
    if as_other && run(&["--version"]).run().exit != 0 {
        eprintln!("skipped: the programs under test can't be reached by another user");
        return;
    }
    let install = ["install", &spec, "--runtime", "claude", "--yes"];
    for locked in ["home", "home/.claude"] {
        set_mode(world.path(locked), 0o555);
        let before = world.tree();
        let refused = run(&install).run().fails();
        assert!(refused.stderr.contains("writable"), "{locked}: {}", refused.stderr);
        world.is_as(&before, locked);
        let passed = run(&["hook", "PreToolUse", "--host", "claude"]).input(write_of("x")).run().succeeds();
        assert!(passed.stderr.lines().count() <= 1, "{locked}: {}", passed.stderr);
        set_mode(world.path(locked), 0o755);
        let _ = run(&["daemon", "stop"]).run();
    }
    let before = world.tree();
    run(&install).run().succeeds();
    run(&["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "writable again");
}
