//! FR-037, D-11: where no daemon can be, the client does the work itself and names the cause.

use std::time::{Duration, Instant};

use gsd_tests::{Run, World};

fn call(world: &World) -> Run {
    world.gsdctl(["daemon", "call", "daemon.status", "--json"])
}

#[test]
fn no_daemon_means_no_daemon_and_no_warning() {
    let world = World::new();
    let by_variable = call(&world).env("GSD_NO_DAEMON", "1").run().succeeds().silent().json();
    let by_flag = call(&world).arg("--no-daemon").run().succeeds().silent().json();
    assert!(by_variable["data"]["socket"].is_null() && by_flag["data"]["socket"].is_null());
    assert!(world.daemons().is_empty());
    assert!(!world.endpoint().dir.exists(), "something was made for a daemon");
}

#[test]
fn fr037_an_unusable_runtime_folder_is_a_warning() {
    let world = World::new();
    // A file where a folder has to be: refused for root too.
    drop(std::fs::File::create(world.path("file")).unwrap());
    let called = call(&world).env("GSD_RUNTIME_DIR", world.path("file")).run().succeeds();
    assert!(called.json()["data"]["socket"].is_null());
    let said = called.says("working without the daemon");
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    // Asked for explicitly, it is an error that names the folder.
    let start = world.gsdctl(["daemon", "start"]).env("GSD_RUNTIME_DIR", world.path("file"));
    start.run().exits(10).says("error[daemon.").says("directory");
}

#[test]
fn a_daemon_that_cannot_start_names_its_stage_and_is_not_tried_again_at_once() {
    let world = World::new();
    let endpoint = world.endpoint();
    gsd_proto::private_dir::ensure(&endpoint.dir).unwrap();
    std::fs::create_dir(endpoint.lock_file()).unwrap();
    let said = call(&world).run().succeeds().says("could not be started").says("lock");
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    let record: serde_json::Value =
        serde_json::from_reader(std::fs::File::open(endpoint.failure_file()).unwrap()).unwrap();
    assert_eq!(record["stage"], "lock");
    assert!(record["errno"].is_i64() && record["at"].as_u64().unwrap() > 0, "{record}");
    // The obstacle is gone, but a later client takes the record's word for a while.
    std::fs::remove_dir(endpoint.lock_file()).unwrap();
    call(&world).run().succeeds().says("lock");
    assert!(world.daemons().is_empty());
    // Asked for by name it is tried, and the record goes.
    world.gsdctl(["daemon", "start"]).run().succeeds().silent();
    assert!(!endpoint.failure_file().exists());
    call(&world).run().succeeds().silent();
    assert_eq!(world.daemons().len(), 1);
}

#[test]
fn a_start_that_takes_too_long_is_worked_around() {
    let world = World::new();
    let endpoint = world.endpoint();
    gsd_proto::private_dir::ensure(&endpoint.dir).unwrap();
    // Another process holds the daemon's lock and does not serve.
    let lock = std::fs::File::create(endpoint.lock_file()).unwrap();
    lock.lock().unwrap();
    let began = Instant::now();
    call(&world).env("GSD_START_TIMEOUT", "200ms").run().succeeds().says("working without the daemon");
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(lock);
}

#[test]
fn without_a_home_nothing_is_guessed() {
    let world = World::new();
    world.gsdctl(["daemon", "start"]).without_env("HOME").run().exits(2).says("HOME is not set");
    let direct = world.gsdd([]).without_env("HOME").run().exits(10);
    assert!(direct.stdout.contains(r#""failed":{"stage":"settings""#), "{}", direct.stdout);
}

#[test]
fn usage_errors_touch_nothing() {
    let world = World::new();
    world.gsdctl(["daemon", "status", "--bogus"]).run().exits(2);
    let json = world.gsdctl(["daemon", "sttus", "--json"]).run().exits(2).json();
    assert_eq!(
        (&json["ok"], &json["exit"], &json["error"]["code"]),
        (&false.into(), &2.into(), &"usage.invalid".into())
    );
    world.gsdctl(["daemon", "start", "--dry-run"]).run().succeeds();
    assert!(world.daemons().is_empty());
    assert_eq!(std::fs::read_dir(world.home()).unwrap().count(), 0);
}
