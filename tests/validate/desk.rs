//! A folder with a manifest, judged within a deadline.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use gsd_tests::{Outcome, World};
use serde_json::{Value, json};

/// Far more than any judgement takes; a hang is what it is there for.
const DEADLINE: Duration = Duration::from_secs(60);

/// One world and the bundle `acme` in its project.
pub(crate) struct Desk {
    pub(crate) world: World,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let world = World::new();
        std::fs::create_dir(world.path("proj/acme")).unwrap();
        Self { world }
    }

    pub(crate) fn file(&self, below: &str) -> PathBuf {
        self.world.path("proj/acme").join(below)
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.file("capability.json")
    }

    /// Replaces the manifest by a file with these bytes.
    pub(crate) fn put(&self, bytes: &[u8]) {
        self.clear();
        std::fs::write(self.manifest(), bytes).unwrap();
    }

    /// Removes whatever stands for the manifest.
    pub(crate) fn clear(&self) {
        let path = self.manifest();
        drop(std::fs::remove_file(&path));
        drop(std::fs::remove_dir(&path));
    }

    /// Runs `gsdctl validate acme …` and gives up after the deadline.
    #[track_caller]
    pub(crate) fn validate(&self, flags: &[&str]) -> Outcome {
        let run = self.world.gsdctl(["validate", "acme"].into_iter().chain(flags.iter().copied()));
        within_deadline(move || run.run())
    }

    /// Expects exactly one problem, of this rule, told in words that are safe to print.
    #[track_caller]
    pub(crate) fn expect_one(&self, what: &str, rule: &str) {
        let outcome = self.validate(&["--json"]).exits(2);
        let document = outcome.json();
        let problems = document["data"]["problems"].as_array().unwrap();
        let rules: Vec<&str> = problems.iter().filter_map(|problem| problem["rule"].as_str()).collect();
        assert_eq!(rules, [rule], "{what}: {document}");
        let problem = &problems[0];
        for member in ["message", "fix"] {
            let text = problem[member].as_str().unwrap();
            assert!(!text.is_empty() && !text.chars().any(char::is_control), "{what}: {member} {text:?}");
        }
        assert_eq!(document["data"]["valid"], false, "{what}");
        assert_eq!(document["ok"], false, "{what}");
    }

    /// Expects no problem.
    #[track_caller]
    pub(crate) fn expect_valid(&self, what: &str) -> Value {
        let document = self.validate(&["--json"]).succeeds().json();
        assert_eq!(document["data"]["problems"], json!([]), "{what}");
        document
    }
}

#[track_caller]
fn within_deadline(work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || drop(done.send(work())));
    wait.recv_timeout(DEADLINE).expect("it answers within the deadline")
}

/// A valid manifest.
pub(crate) fn good() -> Value {
    json!({
        "id": "acme", "role": "feature", "version": "1.0.0", "title": "T", "description": "D", "tier": "full",
        "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "config": {}, "steps": [], "contributions": [], "gates": [],
    })
}
