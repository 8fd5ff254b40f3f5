//! Whoever comes second waits, is told for whom and for how long, and nothing of either is lost.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command};

use gsd_tests::{World, put, text_of, write_of};
use serde_json::{Value, json};

/// A process that lives until it is dropped, as a holder of locks.
struct Holder(Child);

impl Holder {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The text of a lock of this process, as upstream writes it.
    fn lock(&self) -> String {
        let stat = text_of(format!("/proc/{}/stat", self.pid()));
        let start = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(19).unwrap().to_owned();
        let host = text_of("/proc/sys/kernel/hostname");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        json!({"token": format!("{}-{now}-0", self.pid()), "pid": self.pid(), "hostname": host.trim(),
            "startTime": start, "ts": u64::try_from(now).unwrap()})
        .to_string()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client under way, whose words can be waited for.
struct Waiting {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Waiting {
    fn new(mut child: Child) -> Self {
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// The line that tells what it waits for.
    fn told(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it ended without waiting");
            if line.contains("waiting for") {
                return line;
            }
        }
    }

    fn succeeds(mut self) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

#[test]
fn a_foreign_operation_is_waited_for_with_a_message_and_a_limit() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().with_skill("acme-lint").spec();
    let install = ["install", &spec, "--runtime", "claude", "--yes"];
    world.gsdctl(install).run().succeeds();
    let before = world.tree();
    let holder = Holder::new();
    let lock = world.path("home/.gsd/capabilities/.lock");
    put(&lock, holder.lock());
    let locked = world.tree();
    for private in [false, true] {
        let remove = world.gsdctl(["remove", "acme-lint", "--timeout", "800ms"]);
        let remove = if private { remove.arg("--no-daemon") } else { remove };
        let refused = remove.run().exits(8);
        let told =
            format!("waiting for another operation, held by process {}; gives up after 800ms", holder.pid());
        assert_eq!(refused.stderr.matches(&told).count(), 1, "{}", refused.stderr);
        let refused = refused.says(&format!("held by process {}", holder.pid())).says(".lock");
        assert!(refused.stderr.contains("--timeout"), "no remedy: {}", refused.stderr);
        world.is_as(&locked, "given up");
    }
    let json = world.gsdctl(["remove", "acme-lint", "--timeout", "300ms", "--json"]).run().exits(8).json();
    assert_eq!(json["error"]["code"], "lock.held");
    // As soon as the other one is done, it goes on.
    let mut removing = Waiting::new(world.gsdctl(["remove", "acme-lint"]).spawn());
    assert!(removing.told().contains("gives up after 30s"));
    std::fs::remove_file(&lock).unwrap();
    removing.succeeds();
    assert!(!world.path("home/.gsd").exists());
    // A holder that dies is not waited for, though nobody removes its lock.
    world.gsdctl(install).run().succeeds();
    let difference = before.without_times().difference(&world.tree().without_times());
    assert!(difference.is_empty(), "installed again:\n{difference}");
}

#[test]
fn who_waits_keeps_nobody_else_waiting() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    std::fs::create_dir_all(world.path("proj/.gsd/capabilities")).unwrap();
    let bundle = |id: &str| world.bundle(id).with_skill(id).spec();
    let holder = Holder::new();
    let lock = world.path("proj/.gsd/capabilities/.lock");
    put(&lock, holder.lock());
    let project = |spec: &str| {
        let args = ["install", spec, "--scope", "project", "--runtime", "claude", "--yes"];
        world.gsdctl(args)
    };
    let mut waiting = Vec::new();
    for (id, private) in [("acme-first", false), ("acme-second", false), ("acme-third", true)] {
        let install = project(&bundle(id));
        let install = if private { install.arg("--no-daemon") } else { install };
        waiting.push(Waiting::new(install.spawn()));
    }
    let told = format!("held by process {}", holder.pid());
    for waiting in &mut waiting {
        // The process without the daemon may meet the daemon first.
        while !waiting.told().contains(&told) {}
    }
    // What has nothing to do with that project is done meanwhile, and guards are asked.
    let guard = world.bundle("acme-guard").with_refusal().spec();
    let begun = std::time::Instant::now();
    world.gsdctl(["install", &guard, "--runtime", "claude", "--yes"]).run().succeeds();
    let settings = world.path("home/.claude/settings.json");
    let answer = world.hook_of(&settings, "PreToolUse").input(write_of("x")).run().succeeds();
    assert!(answer.stdout.contains("acme-guard refuses"), "{}{}", answer.stdout, answer.stderr);
    world.gsdctl(["list"]).run().succeeds();
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
    std::fs::remove_file(&lock).unwrap();
    waiting.into_iter().for_each(Waiting::succeeds);
    let listed = world.gsdctl(["list"]).run().succeeds();
    for id in ["acme-first", "acme-second", "acme-third", "acme-guard"] {
        assert!(listed.stdout.contains(id), "{id} is lost: {}", listed.stdout);
    }
}

#[test]
fn a_process_of_the_same_home_is_waited_for_and_named() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_skill("acme-lint").spec();
    let _ = world.start_daemon();
    let state = world.path("home/.local/state/gsd");
    let home = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
    let home = home.into_iter().find(|path| path.join("writer.lock").exists()).unwrap();
    let held = std::fs::File::open(home.join("writer.lock")).unwrap();
    held.lock().unwrap();
    let install = ["install", &spec, "--runtime", "claude", "--yes"];
    let before = world.tree();
    let refused = world.gsdctl(install).args(["--timeout", "600ms"]).run().exits(8);
    let told =
        format!("another process of this home, held by process {}; gives up after 600ms", std::process::id());
    assert!(refused.stderr.contains(&told), "{}", refused.stderr);
    world.is_as(&before, "given up");
    let mut waiting = Waiting::new(world.gsdctl(install).spawn());
    assert!(waiting.told().contains("another process of this home"));
    drop(held);
    waiting.succeeds();
}

#[test]
fn the_daemons_of_two_homes_lose_nothing_in_one_project() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let homes = [world.home(), world.path("home-2")];
    std::fs::create_dir_all(&homes[1]).unwrap();
    put(world.path("proj/.mcp.json"), "{\n  // of the team\n  \"mcpServers\": {}\n}\n");
    let ids: Vec<String> = (0..8).map(|at| format!("acme-n{at}")).collect();
    let specs: Vec<String> = ids
        .iter()
        .map(|id| {
            let bundle = world.bundle(id).with_skill(id);
            bundle.with("mcpServers", json!({id.as_str(): {"command": "true"}})).spec()
        })
        .collect();
    let run =
        |at: usize, args: &[&str]| world.gsdctl(args.iter().copied()).env("HOME", &homes[at % 2]).spawn();
    let all_at_once = |commands: Vec<Vec<&str>>| {
        let running: Vec<_> = commands.iter().enumerate().map(|(at, command)| run(at, command)).collect();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    // Twice: the first time the folders and the ledger do not exist yet.
    for _ in 0..2 {
        let install = |spec| vec!["install", spec, "--scope", "project", "--runtime", "claude", "--yes"];
        all_at_once(specs.iter().map(|spec| install(spec.as_str())).collect());
        let ledger: Value =
            serde_json::from_str(&text_of(world.path("proj/.gsd-capabilities.json"))).unwrap();
        let servers = text_of(world.path("proj/.mcp.json"));
        for id in &ids {
            assert!(ledger["entries"][id].is_object(), "{id} is not in the ledger: {ledger}");
            assert!(servers.contains(&format!("\"{id}\"")), "{id} has no server: {servers}");
            assert!(world.path(format!("proj/.gsd/capabilities/{id}/capability.json")).exists());
        }
        all_at_once(ids.iter().map(|id| vec!["remove", id.as_str()]).collect());
        // Folders, and how the person spelled an empty object, are remembered by the home that met them first.
        assert!(!world.path("proj/.gsd-capabilities.json").exists());
        let servers = text_of(world.path("proj/.mcp.json"));
        assert!(servers.contains("// of the team") && !servers.contains("acme"), "{servers}");
        for id in &ids {
            assert!(!world.path(format!("proj/.gsd/capabilities/{id}")).exists(), "{id} stays");
            assert!(!world.path(format!("proj/.claude/skills/gsd-{id}")).exists(), "{id} stays");
        }
    }
    world.gsdctl(["daemon", "stop"]).env("HOME", &homes[1]).run().succeeds();
}
