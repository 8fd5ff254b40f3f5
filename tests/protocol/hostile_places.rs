//! Sockets and folders that somebody else may have prepared.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use gsd_proto::private_dir;
use gsd_tests::World;

/// The client must work without the daemon and say why.
#[track_caller]
fn check_detour(world: &World, cause: &str) {
    let called = world.gsdctl(["daemon", "call", "daemon.status", "--json"]).run().succeeds();
    assert!(called.json()["data"]["socket"].is_null(), "{}", called.stdout);
    let said = called.says("working without the daemon").says(cause);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

#[test]
fn t171_a_link_in_the_place_of_the_socket_is_not_followed() {
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&endpoint.dir).unwrap();
    let other = world.path("other.sock");
    let listener = UnixListener::bind(&other).unwrap();
    listener.set_nonblocking(true).unwrap();
    symlink(&other, &endpoint.socket).unwrap();
    check_detour(&world, "is not a socket");
    assert!(listener.accept().is_err(), "the link was followed");
    // Asked for explicitly, the daemon refuses too and leaves the link alone.
    world.gsdctl(["daemon", "start"]).run().exits(10).says("daemon.not_ours");
    let direct = world.gsdd([]).run().exits(10);
    assert!(direct.stdout.contains(r#""stage":"socket""#), "{}", direct.stdout);
    assert!(endpoint.socket.is_symlink() && other.exists());
}

#[test]
fn t171_a_file_in_the_place_of_the_socket_is_not_removed() {
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&endpoint.dir).unwrap();
    std::fs::create_dir(&endpoint.socket).unwrap();
    check_detour(&world, "is not a socket");
    assert!(endpoint.socket.is_dir());
}

#[test]
fn t170_a_folder_that_others_can_write_to_is_refused() {
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&endpoint.dir).unwrap();
    std::fs::set_permissions(&endpoint.dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    check_detour(&world, "others may write");
    world.gsdctl(["daemon", "start"]).run().exits(10).says("error[daemon.");
    assert!(world.gsdd([]).run().exits(10).stdout.contains(r#""stage":"runtime_dir""#));
}

#[test]
fn t170_a_folder_that_is_a_link_is_refused() {
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&world.path("elsewhere")).unwrap();
    symlink(world.path("elsewhere"), &endpoint.dir).unwrap();
    check_detour(&world, "is not a real folder");
    assert_eq!(std::fs::read_dir(world.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn t170_t173_a_folder_or_socket_of_another_user_is_refused() {
    if private_dir::our_uid() != 0 {
        return;
    }
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&endpoint.dir).unwrap();
    let listener = UnixListener::bind(&endpoint.socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::os::unix::fs::chown(&endpoint.socket, Some(12345), None).unwrap();
    check_detour(&world, "belongs to another user");
    std::fs::remove_file(&endpoint.socket).unwrap();
    std::os::unix::fs::chown(&endpoint.dir, Some(12345), None).unwrap();
    check_detour(&world, "belongs to another user");
    assert!(listener.accept().is_err(), "the impostor was talked to");
}

#[test]
fn t173_a_daemon_of_another_home_is_not_taken_for_ours() {
    let world = World::new();
    let _ = world.start_daemon();
    let socket = world.endpoint().socket;
    let called = world.gsdctl(["daemon", "call", "daemon.status", "--json"]).env("GSD_SOCKET", &socket);
    let called = called.env("GSD_HOME", world.path("tmp")).run().succeeds().says("another home");
    assert_eq!(called.json()["data"]["home"], world.path("tmp").to_str().unwrap());
}

#[test]
fn fr033_a_deep_runtime_folder_is_no_obstacle() {
    let world = World::new();
    let deep = world.path("home").join("a".repeat(60)).join("b".repeat(60));
    std::fs::create_dir_all(&deep).unwrap();
    let run = |args: [&str; 3]| world.gsdctl(args).env("GSD_RUNTIME_DIR", &deep).run();
    run(["daemon", "start", "--json"]).succeeds().silent();
    let status = run(["daemon", "status", "--json"]).succeeds().json();
    let socket = status["data"]["socket"].as_str().unwrap();
    assert!(socket.len() <= 100 && std::path::Path::new(socket).exists(), "{socket}");
    run(["daemon", "call", "daemon.status"]).succeeds().silent();
    run(["daemon", "stop", "--json"]).succeeds();
}

#[test]
fn fr033_without_a_runtime_folder_the_state_folder_serves() {
    let world = World::new();
    world.gsdctl(["daemon", "start"]).without_env("XDG_RUNTIME_DIR").run().succeeds();
    let status =
        world.gsdctl(["daemon", "status", "--json"]).without_env("XDG_RUNTIME_DIR").run().succeeds().json();
    assert!(status["data"]["socket"].as_str().unwrap().contains(".local/state/gsd/run"), "{status}");
}
