//! FR-034: only a refused connection proves a socket stale.

use gsd_tests::{World, alive, signal_process, wait_for};
use rustix::process::Signal;

#[test]
fn p11_fr034_the_socket_of_a_killed_daemon_is_replaced() {
    let world = World::new();
    let first = world.start_daemon();
    signal_process(first, Signal::KILL);
    wait_for("the end of the killed daemon", || !alive(first));
    assert!(world.endpoint().socket.exists(), "a kill leaves the socket");
    let called = world.gsdctl(["daemon", "call", "daemon.status", "--json"]).run().succeeds().silent();
    assert_ne!(called.json()["data"]["pid"], first);
    assert_eq!(world.daemons().len(), 1);
}

#[test]
fn fr034_a_stopped_daemon_is_worked_around_and_not_replaced() {
    let world = World::new();
    let pid = world.start_daemon();
    signal_process(pid, Signal::STOP);
    let called =
        world.gsdctl(["daemon", "call", "daemon.status", "--json"]).run().succeeds().says("does not answer");
    assert_eq!(called.stderr.lines().count(), 1, "one warning: {}", called.stderr);
    let document = called.json();
    assert_ne!(document["data"]["pid"], pid);
    assert_eq!(document["warnings"][0]["code"], "daemon.detour");
    signal_process(pid, Signal::CONT);
    let status = world.gsdctl(["daemon", "status", "--json"]).run().succeeds().json();
    assert_eq!(status["pid"], pid);
    assert_eq!(world.daemons(), [pid]);
}

#[test]
fn t172_a_daemon_does_not_remove_the_socket_of_another() {
    let world = World::new();
    let first = world.start_daemon();
    let socket = world.endpoint().socket;
    // Somebody replaced the file by a socket of their own.
    std::fs::remove_file(&socket).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    signal_process(first, Signal::TERM);
    wait_for("the end of the daemon", || !alive(first));
    assert!(socket.exists());
    drop(listener);
}
