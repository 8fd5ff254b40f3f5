//! How far a fetch is, and that giving it up ends it and leaves nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gsd_tests::{HttpsServer, Reply, World, put, signal_process, wait_for};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A server of one archive, which it sends slowly at `/slow.tgz` and never to the end at `/endless.tgz`.
struct Slow {
    server: HttpsServer,
    /// Endless answers that have begun, and those that the other side broke off.
    begun: Arc<AtomicUsize>,
    broken_off: Arc<AtomicBool>,
}

impl Slow {
    fn serving(world: &World) -> Self {
        let archive = world.bundle("acme-lint").with_file("noise.txt", &"x1y2".repeat(1000)).packed("");
        let (begun, broken_off) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (noted, broken) = (Arc::clone(&begun), Arc::clone(&broken_off));
        let server = HttpsServer::start(&[], move |seen| match seen.target.as_str() {
            "/endless.tgz" => {
                noted.fetch_add(1, Ordering::SeqCst);
                let broken = Arc::clone(&broken);
                Reply::raw(move |out| {
                    while out.write_all(&[7; 8192]).and_then(|()| out.flush()).is_ok() {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    broken.store(true, Ordering::SeqCst);
                    Ok(())
                })
            }
            "/slow.tgz" => {
                let archive = archive.clone();
                let length = archive.len().to_string();
                Reply::raw(move |out| {
                    // Longer than it takes until something is painted.
                    for piece in archive.chunks(archive.len().div_ceil(12)) {
                        out.write_all(piece)?;
                        out.flush()?;
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    Ok(())
                })
                .with("content-length", &length)
            }
            _ => Reply::ok(archive.clone()),
        });
        server.listed_in(world);
        Self { server, begun, broken_off }
    }
}

fn fetch_folder(world: &World) -> Option<PathBuf> {
    let homes = std::fs::read_dir(world.path("home/.local/state/gsd")).ok()?.flatten();
    homes.map(|home| home.path().join("fetch")).find(|path| path.exists())
}

fn in_fetch_folder(world: &World) -> usize {
    fetch_folder(world).map_or(0, |folder| std::fs::read_dir(folder).unwrap().count())
}

#[test]
fn phases_are_told_with_v_and_not_without() {
    let world = World::new();
    let slow = Slow::serving(&world);
    let url = slow.server.url("/acme-lint.tgz");
    let install = |args: &[&str]| {
        let words = ["install", url.as_str(), "--yes"].into_iter().chain(args.iter().copied());
        slow.server.trusted_by(&world, world.gsdctl(words)).run().succeeds().stderr
    };
    let told = install(&["-v"]);
    let phases: Vec<&str> =
        told.lines().filter_map(|line| line.split_once("  ")).map(|(phase, _)| phase).collect();
    assert!(phases.contains(&"download") && phases.contains(&"unpack"), "{told}");
    for args in [&[][..], &["-q", "-v"]] {
        let told = install(args);
        assert!(!told.contains("download") && !told.contains("unpack"), "{told}");
    }
}

#[test]
fn at_a_terminal_one_line_is_painted_over_and_cleared() {
    let world = World::new();
    let slow = Slow::serving(&world);
    let url = slow.server.url("/slow.tgz");
    let run = || slow.server.trusted_by(&world, world.terminal("", ["install", &url, "--yes"]));
    let seen = run().env("TERM", "xterm").run().succeeds().stdout;
    assert!(seen.contains("\r\u{1b}[Kdownload  ") && seen.contains(" of "), "{seen:?}");
    // The last painting is cleared before anything else is said.
    let after = seen.rsplit_once("\r\u{1b}[K").unwrap().1;
    assert!(!after.contains("download  "), "{seen:?}");
    for (name, value) in [("CI", "1"), ("TERM", "dumb")] {
        let seen = run().env(name, value).run().succeeds().stdout;
        assert!(!seen.contains('\u{1b}'), "{name}: {seen:?}");
    }
}

#[test]
fn ctrl_c_ends_the_download_and_leaves_nothing() {
    let world = World::new();
    let slow = Slow::serving(&world);
    let _pid = world.start_daemon();
    let before = world.tree();
    let url = slow.server.url("/endless.tgz");
    let client = slow.server.trusted_by(&world, world.gsdctl(["install", &url, "--yes"])).spawn();
    wait_for("the download", || slow.begun.load(Ordering::SeqCst) > 0);
    signal_process(client.id(), Signal::INT);
    client.wait_with_output().unwrap();
    wait_for("the end of the download", || slow.broken_off.load(Ordering::SeqCst));
    wait_for("the temporary files to go", || in_fetch_folder(&world) == 0);
    world.is_as(&before, "after Ctrl-C");
    assert_eq!(world.daemons().len(), 1, "the daemon serves on");
}

#[test]
fn a_call_tells_how_far_it_is_and_can_be_cancelled() {
    let world = World::new();
    let slow = Slow::serving(&world);
    let _pid = world.start_daemon();
    let mut stream = UnixStream::connect(world.endpoint().socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let ctx = json!({
        "cwd": world.project(), "progress": true,
        "env": {"HOME": world.home(), "SSL_CERT_FILE": world.path("authority.pem")},
    });
    let params = json!({"ctx": ctx, "spec": slow.server.url("/endless.tgz")});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "capability.stage", "params": params});
    writeln!(stream, "{call}").unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&answers.next().unwrap().unwrap()).unwrap();
    let mut done = 0;
    let began = std::time::Instant::now();
    for _ in 0..5 {
        let progress = next();
        assert_eq!((&progress["method"], &progress["params"]["token"]), (&json!("$/progress"), &json!(7)));
        assert_eq!(
            (&progress["params"]["phase"], &progress["params"]["unit"]),
            (&json!("download"), &json!("bytes"))
        );
        assert!(progress["params"]["done"].as_u64().unwrap() >= done);
        done = progress["params"]["done"].as_u64().unwrap();
    }
    assert!(
        done > 0 && began.elapsed() >= Duration::from_millis(300),
        "at most ten a second: {:?}",
        began.elapsed()
    );
    writeln!(stream, "{}", json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}))
        .unwrap();
    let answer = loop {
        let message = next();
        if message["id"] == 7 {
            break message;
        }
    };
    assert_eq!(answer["error"]["data"]["code"], "cancelled");
    wait_for("the end of the download", || slow.broken_off.load(Ordering::SeqCst));
    wait_for("the temporary files to go", || in_fetch_folder(&world) == 0);
}

#[test]
fn ctrl_c_ends_git_and_leaves_nothing() {
    let world = World::new();
    // A server that never answers: its connections are kept open by the listener's queue.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    put(world.path("home/.config/gsd/policy.toml"), format!("[network]\nprivate_hosts = [\"{place}\"]\n"));
    let _pid = world.start_daemon();
    let client = world.gsdctl(["install", &format!("https://{place}/acme-lint.git"), "--yes"]).spawn();
    let (connection, _) = silent.accept().unwrap();
    assert_eq!(in_fetch_folder(&world), 1);
    signal_process(client.id(), Signal::INT);
    client.wait_with_output().unwrap();
    // git is gone when its end of the connection is closed.
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    std::io::copy(&mut &connection, &mut std::io::sink()).unwrap();
    wait_for("the temporary files to go", || in_fetch_folder(&world) == 0);
}
