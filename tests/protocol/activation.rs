//! A socket that a service manager has bound, and its notice of readiness.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use gsd_proto::private_dir;
use gsd_tests::{World, alive, signal_process, wait_for};
use rustix::process::Signal;

/// What a service manager does: binds, hands the socket over as descriptor 3, keeps the process id over the exec.
const MANAGER: &str = r#"
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(16)
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = "1"
os.execv(sys.argv[2], [sys.argv[2], "--foreground"])
"#;

#[test]
fn p13_an_inherited_socket_is_served_and_never_removed() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        return;
    }
    let world = World::new();
    let endpoint = world.endpoint();
    private_dir::ensure(&endpoint.dir).unwrap();
    let notices = UnixDatagram::bind(world.path("notify")).unwrap();
    notices.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let daemon = world.own_programs().join("gsdd");
    let started = world.outside_program(python).arg("-c").arg(MANAGER).arg(&endpoint.socket).arg(daemon);
    let mut child = started.env("NOTIFY_SOCKET", world.path("notify")).spawn();
    let mut notice = [0; 64];
    let length = notices.recv(&mut notice).unwrap();
    assert_eq!(&notice[..length], b"READY=1");
    let status = world.gsdctl(["daemon", "status", "--json"]).run().succeeds().json();
    assert_eq!(status["pid"], child.id());
    signal_process(child.id(), Signal::TERM);
    assert!(child.wait().unwrap().success());
    wait_for("the end of the daemon", || !alive(child.id()));
    assert!(endpoint.socket.exists(), "the manager's socket was removed");
}
