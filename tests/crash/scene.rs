//! A world in which one capability touches every kind of place, and the three states that it can be in.

use std::time::{Duration, Instant};

use gsd_tests::{Outcome, Tree, World, alive, put, set_mode, signal_process, wait_for, write_of};
use rustix::process::Signal;
use serde_json::json;

/// Where the capability is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// For the person, registered with a host.
    Global,
    /// In a project, registered with a host.
    Project,
    /// In a project, registered in a file that the person names.
    Shared,
}

pub(crate) const PLACES: [Place; 3] = [Place::Global, Place::Project, Place::Shared];

/// An operation: from a state to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Install,
    Update,
    Remove,
}

pub(crate) const OPERATIONS: [Operation; 3] = [Operation::Install, Operation::Update, Operation::Remove];

impl Operation {
    /// State before and after: absent, version 1, version 2.
    pub(crate) fn states(self) -> (usize, usize) {
        match self {
            Self::Install => (0, 1),
            Self::Update => (1, 2),
            Self::Remove => (2, 0),
        }
    }
}

/// Our folder of stored contents.
const OBJECTS: &str = "home/.local/share/gsd";
const SETTINGS: &str = "{\n  // chosen by the pilot\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}\n    ]\n  },\n}\n";

pub(crate) struct Scene {
    pub(crate) world: World,
    place: Place,
    spec: String,
    /// The tree in each state.
    states: Vec<Tree>,
    pub(crate) state: usize,
}

impl Scene {
    pub(crate) fn new(place: Place) -> Self {
        let world = World::with_fail_points();
        std::fs::create_dir_all(world.path("proj/.git")).unwrap();
        put(world.path("home/.claude/settings.json"), SETTINGS);
        set_mode(world.path("home/.claude/settings.json"), 0o600);
        put(world.path("home/.claude.json"), "{\"numStartups\": 3}\n");
        put(world.path("proj/.claude/settings.local.json"), "{\"model\":\"opus\"}");
        put(world.path("proj/.claude/settings.json"), SETTINGS.replace('\n', "\r\n"));
        let spec = world.path("src/acme-lint").display().to_string();
        let mut scene = Self { world, place, spec, states: Vec::new(), state: 0 };
        let _ = scene.world.start_daemon();
        // The first round makes the folders of ours that stay, the second is recorded.
        for round in 0..2 {
            for operation in OPERATIONS {
                if round == 1 {
                    scene.states.push(scene.tree());
                }
                scene.ask(operation).succeeds();
            }
        }
        assert_eq!(scene.find(), Ok(0), "install, update and remove are a circle");
        scene
    }

    /// Everything but the source, temporary folders, logs (the audit log is verified), and the times that ledgers and
    /// records legitimately carry.
    pub(crate) fn tree(&self) -> Tree {
        let leave_out = ["run", "tmp", "bin", "src", "home/.local/state/gsd/logs"];
        let tree = Tree::of(&self.world.path(""), &leave_out).without_times();
        tree.without_named("lock.note").without_named("audit.jsonl")
    }

    /// The state that the tree is in; else how it differs from each.
    pub(crate) fn find(&self) -> Result<usize, String> {
        let now = self.tree();
        let mut differences = String::new();
        let contents =
            self.states.iter().map(|state| state.only(OBJECTS)).reduce(|all, next| all.union(&next)).unwrap();
        for (at, state) in self.states.iter().enumerate() {
            // A content that nobody names any more does no harm, if it is whole; one that is missing is stored again
            // from the installed bundle when it is needed.
            let difference = state.without(OBJECTS).difference(&now.without(OBJECTS));
            let stored = now.only(OBJECTS);
            let alien = stored.lacks_in(&contents);
            if difference.is_empty() && alien.is_empty() {
                return Ok(at);
            }
            differences += &format!("from state {at}:\n{difference}{alien}");
        }
        Err(differences)
    }

    fn write_source(&self, state: usize) {
        let (version, words) = [("1.0.0", "first"), ("1.0.0", "first"), ("2.0.0", "second")][state];
        let script = format!("#!/bin/sh\necho {words} >&2\nexit 2\n");
        let mut bundle = self
            .world
            .bundle("acme-lint")
            .with("version", version.into())
            .with("mcpServers", json!({"notes": {"command": "python3", "args": ["notes.py", words]}}))
            .with_file("notes.py", words)
            .with_hook("PreToolUse", "refuse.sh", &script);
        if self.place != Place::Shared {
            bundle = bundle.with_skill(&format!("acme-{words}"));
        }
        assert_eq!(bundle.spec(), self.spec);
    }

    /// The command line of an operation; what it needs is prepared.
    pub(crate) fn command(&self, operation: Operation) -> Vec<String> {
        let (_, to) = operation.states();
        self.write_source(to);
        let scope = if self.place == Place::Global { "global" } else { "project" };
        let words: Vec<&str> = match (operation, self.place) {
            (Operation::Install, Place::Shared) => {
                vec![
                    "install",
                    &self.spec,
                    "--scope",
                    scope,
                    "--shared-file",
                    ".claude/settings.json",
                    "--yes",
                ]
            }
            (Operation::Install, _) => {
                vec!["install", &self.spec, "--scope", scope, "--runtime", "claude", "--yes"]
            }
            (Operation::Update, _) => vec!["update", "acme-lint", "--yes"],
            (Operation::Remove, _) => vec!["remove", "acme-lint"],
        };
        words.into_iter().map(ToOwned::to_owned).collect()
    }

    pub(crate) fn ask(&self, operation: Operation) -> Outcome {
        let command = self.command(operation);
        self.world.gsdctl(command.iter().map(String::as_str)).run()
    }

    /// Brings the world into a state by ordinary means.
    pub(crate) fn go_to(&mut self, state: usize) {
        while self.state != state {
            let operation = match (self.state, state) {
                (0, _) => Operation::Install,
                (1, 2) => Operation::Update,
                _ => Operation::Remove,
            };
            let (_, to) = operation.states();
            self.ask(operation).succeeds();
            self.state = to;
        }
    }

    /// After whatever happened to an operation: settles it and says which state that gives.
    pub(crate) fn settle(&mut self, operation: Operation, what: &str) {
        self.world.break_at("");
        let left = self.tree();
        self.world.gsdctl(["list"]).run().succeeds();
        let (from, to) = operation.states();
        let found = self.find().unwrap_or_else(|differences| {
            panic!(
                "{:?}, {operation:?}, {what}: a mix\n{differences}\nwhat the interruption left, from before:\n{}",
                self.place,
                self.states[from].difference(&left)
            )
        });
        assert!([from, to].contains(&found), "{operation:?}, {what}: in state {found}");
        self.state = found;
    }

    /// One more start changes nothing, and what is registered works.
    pub(crate) fn check(&self, what: &str) {
        let before = self.tree();
        self.world.gsdctl(["daemon", "restart"]).run().succeeds();
        self.world.gsdctl(["list"]).run().succeeds();
        let difference = before.difference(&self.tree());
        assert!(difference.is_empty(), "{what}: a second start:\n{difference}");
        // Whatever was interrupted, no line of the audit log is half a line or follows a lost one.
        self.world.gsdctl(["audit", "verify"]).run().succeeds();
        let args: &[&str] = match self.place {
            Place::Shared => &["hook", "exec", "acme-lint", "refuse.sh"],
            Place::Global | Place::Project => &["hook", "PreToolUse", "--host", "claude"],
        };
        let answer = self.world.gsdctl(args.iter().copied()).input(write_of("x")).run();
        let said = answer.stdout + &answer.stderr;
        for (state, words) in [(1, "first"), (2, "second")] {
            assert_eq!(said.contains(words), self.state == state, "{what}: in state {}: {said}", self.state);
        }
    }

    /// Number of effects that an operation has.
    pub(crate) fn count(&mut self, operation: Operation) -> usize {
        const MANY: usize = 1_000_000;
        let (from, to) = operation.states();
        self.go_to(from);
        self.world.break_at(&format!("kill {MANY}"));
        self.ask(operation).succeeds();
        self.state = to;
        let left = self.world.broke_at().unwrap_err();
        self.world.break_at("");
        MANY - left
    }

    /// Waits until no daemon of this world is left, after one of them was killed.
    pub(crate) fn wait_for_the_end(&self, daemons: &[u32]) {
        wait_for("the end of the daemon", || daemons.iter().all(|pid| !alive(*pid)));
    }

    /// Kills client and daemon after a while of an operation; says whether the client had come to its end.
    pub(crate) fn kill_after(&self, operation: Operation, delay: Duration) -> bool {
        let daemon = self.world.start_daemon();
        let command = self.command(operation);
        let mut client = self.world.gsdctl(command.iter().map(String::as_str)).spawn();
        let begun = Instant::now();
        let mut ended = false;
        while begun.elapsed() < delay && !ended {
            ended = client.try_wait().unwrap().is_some();
            std::hint::spin_loop();
        }
        // The client first: it would do the work again in a process of its own.
        signal_process(client.id(), Signal::KILL);
        signal_process(daemon, Signal::KILL);
        let _ = client.wait_with_output();
        self.wait_for_the_end(&[daemon]);
        ended
    }
}
