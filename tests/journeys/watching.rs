//! Changes are seen: by who watches, soon; by who asks, at once.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use gsd_tests::{Bundle, World, put, signal_process};
use serde_json::{Value, json};

/// `registry watch`, line by line; ended when dropped.
struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

impl Watch {
    fn start(world: &World) -> Self {
        let mut child = world.gsdctl(["registry", "watch"]).spawn();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, lines }
    }

    /// Waits for the first line: what is there by then is no change.
    fn begins(self) -> Self {
        let first = self.lines.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(first["reset"], true, "{first}");
        self
    }

    /// Reads until a line says this.
    #[track_caller]
    fn sees(&self, member: &str, id: &str) -> Value {
        let mut seen = Vec::new();
        loop {
            let Ok(line) = self.lines.recv_timeout(Duration::from_secs(20)) else {
                panic!("no change with {id} in {member}; only {seen:?}");
            };
            if line[member].as_array().is_some_and(|ids| ids.iter().any(|known| known == id)) {
                return line;
            }
            seen.push(line);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        signal_process(self.child.id(), rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

#[test]
fn a_watcher_is_told_what_appears_changes_and_goes() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    std::fs::create_dir_all(world.path("home/.gsd/capabilities")).unwrap();
    let _ = world.start_daemon();
    let watch = Watch::start(&world).begins();

    let dropped = Bundle::at(&world.path("home/.gsd/capabilities/acme-dropped"), "acme-dropped")
        .with_skill("acme-dropped");
    let line = watch.sees("added", "acme-dropped");
    assert_eq!(line["type"], "registry.changed");
    assert!(line["seq"].is_u64() && line["generation"].is_u64() && line["instance"].is_string(), "{line}");
    let _ = dropped.with("title", json!("Another title"));
    watch.sees("changed", "acme-dropped");
    std::fs::remove_dir_all(world.path("home/.gsd/capabilities/acme-dropped")).unwrap();
    watch.sees("removed", "acme-dropped");

    let spec = world.bundle("acme-lint").with_skill("acme-lint").spec();
    world.gsdctl(["install", &spec, "--yes"]).run().succeeds();
    watch.sees("added", "acme-lint");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    watch.sees("removed", "acme-lint");
}

#[test]
fn d03_an_answer_is_never_older_than_the_disk() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.planning")).unwrap();
    let agreed = world.bundle("acme-agreed").with_refusal().with_item(
        "contributions",
        json!({"point": "plan:pre", "into": "planner", "fragment": {"path": "fragments/a.md"}, "produces": [], "consumes": [], "onError": "skip"}),
    ).with_file("fragments/a.md", "Plan well.\n");
    let spec = agreed.spec();
    world.gsdctl(["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"]).run().succeeds();
    let script = world.path("proj/.gsd/capabilities/acme-agreed/hooks/refuse.sh");
    let original = gsd_tests::bytes_of(&script);
    let folder = world.path("home/.gsd/capabilities/acme-dropped");
    let list = || world.gsdctl(["list", "--json"]).run().succeeds().json()["data"].clone();
    let find = |rows: &Value, id: &str| rows.as_array().unwrap().iter().find(|row| row["id"] == id).cloned();
    for round in 0..50 {
        match round % 5 {
            0 => {
                let _ = Bundle::at(&folder, "acme-dropped").with_file("fragments/f.md", "first\n").with(
                    "contributions",
                    json!([{"point": "plan:pre", "into": "planner", "fragment": {"path": "fragments/f.md"}, "produces": [], "consumes": [], "onError": "skip"}]),
                );
                assert!(find(&list(), "acme-dropped").is_some(), "round {round}: not there");
            }
            1 => {
                put(folder.join("fragments/f.md"), format!("words of round {round}\n"));
                let rendered = world.gsdctl(["loop", "render", "plan:pre"]).run().succeeds();
                assert!(
                    rendered.stdout.contains(&format!("words of round {round}")),
                    "round {round}: stale text"
                );
            }
            2 => {
                // Same size, within the same tick of a coarse clock.
                put(&script, String::from_utf8(original.clone()).unwrap().replace("refuses", "refusez"));
                assert_eq!(find(&list(), "acme-agreed").unwrap()["status"], "changed", "round {round}");
                let rendered = world.gsdctl(["loop", "render", "plan:pre"]).run().succeeds();
                assert!(!rendered.stdout.contains("Plan well."), "round {round}: text of a changed bundle");
            }
            3 => {
                put(&script, &original);
                assert_eq!(find(&list(), "acme-agreed").unwrap()["status"], "active", "round {round}");
                let rendered = world.gsdctl(["loop", "render", "plan:pre"]).run().succeeds();
                assert!(rendered.stdout.contains("Plan well."), "round {round}");
            }
            _ => {
                std::fs::remove_dir_all(&folder).unwrap();
                assert!(find(&list(), "acme-dropped").is_none(), "round {round}: still there");
            }
        }
    }
    // A broken file is seen at once too, and mended again.
    let _ = Bundle::at(&folder, "acme-dropped");
    put(folder.join("capability.json"), "{");
    assert_eq!(find(&list(), "acme-dropped").unwrap()["status"], "skipped");
    let _ = Bundle::at(&folder, "acme-dropped");
    assert_ne!(find(&list(), "acme-dropped").unwrap()["status"], "skipped");
}
