//! Start, status, logs, stop, signals, idle end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use gsd_proto::api::daemon::{Hello, HelloParams, ProtocolRange, Status, StatusParams};
use gsd_proto::client::CallError;
use gsd_tests::{World, alive, signal_process, wait_for};
use rustix::process::Signal;

#[test]
fn start_status_stop() {
    let world = World::new();
    world
        .gsdctl(["daemon", "status"])
        .run()
        .exits(10)
        .says("no daemon is running")
        .says("gsdctl daemon start");
    let pid = world.start_daemon();
    let again = world.gsdctl(["daemon", "start", "--json"]).run().succeeds().silent().json();
    assert_eq!((&again["changed"], &again["data"]["pid"]), (&false.into(), &pid.into()));
    let status = world.gsdctl(["daemon", "status", "--json"]).run().succeeds().silent().json();
    assert_eq!(status["schema"], "gsd/v1/daemon-status");
    for member in [
        "pid",
        "socket",
        "version",
        "protocol",
        "uptime_s",
        "clients",
        "memory_bytes",
        "snapshot",
        "watches",
        "latencies",
    ] {
        assert!(!status["data"][member].is_null(), "{member} is missing in {status}");
    }
    assert!(status["data"]["memory_bytes"].as_u64().unwrap() > 1024 * 1024);
    assert!(status["data"]["latencies"]["daemon.hello"]["count"].as_u64().unwrap() >= 1);
    let stopped = world.gsdctl(["daemon", "stop", "--json"]).run().succeeds().json();
    assert_eq!((&stopped["changed"], &stopped["data"]["pid"]), (&true.into(), &pid.into()));
    wait_for("the end of the stopped daemon", || !alive(pid));
    assert!(!world.endpoint().socket.exists());
    let stopped = world.gsdctl(["daemon", "stop", "--json"]).run().succeeds().json();
    assert_eq!(stopped["changed"], false);
}

#[test]
fn restart_gives_another_process() {
    let world = World::new();
    let first = world.start_daemon();
    let restarted = world.gsdctl(["daemon", "restart", "--json"]).run().succeeds().json();
    assert_ne!(restarted["data"]["pid"], first);
    assert_eq!(world.daemons().len(), 1);
}

#[test]
fn t169_the_socket_and_its_folder_are_ours_alone() {
    let world = World::new();
    let _ = world.start_daemon();
    let endpoint = world.endpoint();
    assert_eq!(std::fs::metadata(&endpoint.dir).unwrap().mode() & 0o777, 0o700);
    assert_eq!(std::fs::metadata(&endpoint.socket).unwrap().permissions().mode() & 0o777, 0o600);
    let logs = world.home().join(".local/state/gsd/logs");
    assert_eq!(std::fs::metadata(logs).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn t169_another_user_is_not_served() {
    // Only root can make a file open to others and then become one of them.
    let (setpriv, python) = ("/usr/bin/setpriv", "/usr/bin/python3");
    let tools = [setpriv, python].iter().all(|tool| std::path::Path::new(tool).exists());
    if gsd_proto::private_dir::our_uid() != 0 || !tools {
        return;
    }
    let world = World::new();
    let _ = world.start_daemon();
    let endpoint = world.endpoint();
    for folder in [world.path(""), world.path("run"), endpoint.dir.clone()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    std::fs::set_permissions(&endpoint.socket, std::fs::Permissions::from_mode(0o777)).unwrap();
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ntry:\n s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.status\"}\\n')\n print(len(s.recv(100)))\nexcept OSError:\n print(0)\n";
    let output = std::process::Command::new(setpriv)
        .args(["--reuid=65534", "--clear-groups", python, "-c", script])
        .arg(&endpoint.socket)
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{output:?}");
}

#[test]
fn a_term_signal_finishes_what_is_in_flight() {
    let world = World::new();
    let pid = world.start_daemon();
    let mut client = world.client();
    client.call::<Status>(&StatusParams::default()).unwrap();
    signal_process(pid, Signal::TERM);
    wait_for("the end of the daemon", || !alive(pid));
    assert!(!world.endpoint().socket.exists());
    assert!(matches!(client.call::<Status>(&StatusParams::default()), Err(CallError::Closed)));
    let logs = world.gsdctl(["daemon", "logs"]).run().succeeds();
    assert!(
        logs.stdout.contains("a signal asked for the end") && logs.stdout.contains("ended"),
        "{}",
        logs.stdout
    );
}

#[test]
fn idle_daemons_end_and_busy_ones_do_not() {
    let world = World::new();
    world.gsdctl(["daemon", "start"]).env("GSD_IDLE_TIMEOUT", "1s").run().succeeds();
    let pid = world.daemons()[0];
    let client = world.client();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(alive(pid), "it ended with a client connected");
    drop(client);
    wait_for("the end of the idle daemon", || !alive(pid));
}

#[test]
fn logs_can_be_read_without_a_daemon_and_hold_no_values() {
    let world = World::new();
    world.gsdctl(["daemon", "start"]).env("GSD_LOG", "debug").run().succeeds();
    let params = r#"{"secret":"hunter2","ctx":{"env":{"CODEX_HOME":"/hunter2"}}}"#;
    world.gsdctl(["daemon", "call", "daemon.status", params]).run().succeeds();
    world.gsdctl(["daemon", "call", "hunter2.method"]).run().exits(2);
    world.gsdctl(["daemon", "stop"]).run().succeeds();
    let logs = world.gsdctl(["daemon", "logs", "--json"]).run().succeeds();
    assert!(logs.stdout.lines().count() >= 3, "{}", logs.stdout);
    assert!(logs.stdout.contains("daemon.status"), "{}", logs.stdout);
    assert!(!logs.stdout.contains("hunter2"), "t185: {}", logs.stdout);
    assert!(world.daemons().is_empty(), "reading the log started a daemon");
}

#[test]
fn run_stays_in_the_foreground_and_logs_to_standard_error() {
    let world = World::new();
    let mut child = world.gsdctl(["daemon", "run"]).spawn();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("ready"), "{line}");
    world.gsdctl(["daemon", "start", "--json"]).run().succeeds();
    assert_eq!(world.daemons(), [child.id()]);
    signal_process(child.id(), Signal::INT);
    assert!(child.wait().unwrap().success());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "");
}

#[test]
fn a_second_daemon_steps_back() {
    let world = World::new();
    let pid = world.start_daemon();
    let second = world.gsdd([]).run().succeeds();
    assert!(second.stdout.contains(r#""already":true"#), "{}", second.stdout);
    world.gsdd(["--foreground"]).run().exits(10).says("another daemon");
    assert_eq!(world.daemons(), [pid]);
}

#[test]
fn the_daemon_does_not_keep_the_folder_or_the_streams_of_its_starter() {
    let world = World::new();
    let pid = world.start_daemon();
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), std::path::Path::new("/"));
    for stream in 0..3 {
        let target = std::fs::read_link(format!("/proc/{pid}/fd/{stream}")).unwrap();
        assert_eq!(target, std::path::Path::new("/dev/null"), "stream {stream}");
    }
}

#[test]
fn t181_the_environment_of_the_starter_is_not_inherited() {
    let world = World::new();
    let start =
        world.gsdctl(["daemon", "start"]).env("AWS_SECRET_ACCESS_KEY", "hunter2").env("NODE_OPTIONS", "-r x");
    start.env("CODEX_HOME", "/c").run().succeeds();
    let pid = world.daemons()[0];
    let environment =
        std::io::read_to_string(std::fs::File::open(format!("/proc/{pid}/environ")).unwrap()).unwrap();
    assert!(environment.contains("HOME=") && environment.contains("CODEX_HOME=/c"), "{environment}");
    assert!(!environment.contains("hunter2") && !environment.contains("NODE_OPTIONS"), "{environment}");
}

#[test]
fn p05_shell_tools_can_talk_to_it() {
    let world = World::new();
    let _ = world.start_daemon();
    let mut stream = UnixStream::connect(world.endpoint().socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
        .write_all(
            br#"{"jsonrpc":"2.0","id":"a","method":"daemon.hello","params":{"protocol":{"min":1,"max":1}}}"#,
        )
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["protocol"]), (&"a".into(), &1.into()));
}

#[test]
fn t179_connections_are_bounded_and_places_come_back() {
    let world = World::new();
    let _ = world.start_daemon();
    let socket = world.endpoint().socket;
    let held: Vec<UnixStream> = (0..300).map_while(|_| UnixStream::connect(&socket).ok()).collect();
    let closed = |mut stream: &UnixStream| {
        stream.set_nonblocking(true).unwrap();
        !matches!(stream.read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    wait_for("the surplus to be refused", || {
        held.iter().filter(|stream| closed(stream)).count() == 300 - 256
    });
    // A client that comes now does its work alone and says why.
    let called = world.gsdctl(["daemon", "call", "daemon.status", "--json"]).run().succeeds();
    assert!(called.says("too many connections").json()["data"]["socket"].is_null());
    drop(held);
    wait_for("a free place", || {
        let params = HelloParams {
            ctx: gsd_proto::Context::default(),
            client: "test".into(),
            version: String::new(),
            build: String::new(),
            protocol: ProtocolRange::OURS,
            required: Vec::new(),
        };
        world.client().call::<Hello>(&params).is_ok()
    });
}
