//! FR-036: client and daemon of different versions sort it out.

use std::time::{Duration, SystemTime};

use gsd_tests::{World, alive, wait_for};

#[test]
fn fr036_a_newer_client_asks_an_older_daemon_to_make_room() {
    let world = World::new();
    let pid = world.start_daemon();
    let called =
        world.gsdctl(["daemon", "call", "daemon.status", "--json"]).env("GSD_TEST_CLIENT_PROTOCOL", "999");
    let called = called.run().succeeds().says("protocol");
    assert!(called.json()["data"]["socket"].is_null());
    wait_for("the end of the older daemon", || !alive(pid));
}

#[test]
fn fr036_one_replacement_per_cool_down() {
    let world = World::new();
    let first = world.start_daemon();
    let newer = || {
        let run = world.gsdctl(["daemon", "call", "daemon.status"]).env("GSD_TEST_CLIENT_PROTOCOL", "999");
        run.run().succeeds().says("protocol")
    };
    newer();
    wait_for("the end of the older daemon", || !alive(first));
    let second = world.start_daemon();
    newer();
    newer();
    assert_eq!(world.daemons(), [second]);
}

#[test]
fn fr036_an_older_client_leaves_a_newer_daemon_alone() {
    let world = World::new();
    let pid = world.start_daemon();
    let older = |args: [&str; 3]| world.gsdctl(args).env("GSD_TEST_CLIENT_PROTOCOL", "0").run();
    older(["daemon", "call", "daemon.status"]).succeeds().says("protocol");
    assert_eq!(older(["daemon", "status", "--json"]).succeeds().json()["pid"], pid);
    assert_eq!(world.daemons(), [pid]);
    // Ending it on purpose works across any difference.
    older(["daemon", "stop", "--json"]).succeeds();
    wait_for("the end of the stopped daemon", || !alive(pid));
}

#[test]
fn a_replaced_program_takes_over_when_the_daemon_is_idle() {
    let world = World::new();
    let programs = world.own_programs();
    let pid = world.start_daemon();
    let called =
        || world.gsdctl(["daemon", "call", "daemon.status", "--json"]).run().succeeds().silent().json();
    assert_eq!(called()["data"]["pid"], pid);
    // What an upgrade does: another file in the same place, made later.
    let gsdd = programs.join("gsdd");
    std::fs::copy(&gsdd, programs.join("new")).unwrap();
    std::fs::rename(programs.join("new"), &gsdd).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    std::fs::File::options().append(true).open(&gsdd).unwrap().set_modified(later).unwrap();
    // The old one still answers the client that asks it to go, then goes.
    assert_eq!(called()["data"]["pid"], pid);
    wait_for("the end of the replaced daemon", || !alive(pid));
    assert_ne!(called()["data"]["pid"], pid);
}
