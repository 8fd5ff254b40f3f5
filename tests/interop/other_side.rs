//! Runs the script of the other side.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gsd_tests::World;
use serde_json::Value;

/// The other program, in a world.
pub(crate) struct OtherSide<'a>(pub(crate) &'a World);

fn command(verb: &str, args: &[&str]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/other_side.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(verb).args(args);
    command
}

impl OtherSide<'_> {
    #[track_caller]
    pub(crate) fn run(&self, verb: &str, args: &[&str]) -> Value {
        let output = command(verb, args).current_dir(self.0.project()).output().expect("node runs");
        assert!(output.status.success(), "{verb} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Installs or updates in the project, with entries in the named files.
    #[track_caller]
    pub(crate) fn install(&self, source: &str, shared: &[&str]) {
        let (root, home) = (self.project(), self.home());
        let mut args = vec![root.as_str(), &home, source];
        args.extend(shared);
        let done = self.run("install", &args);
        assert_eq!(done["status"], "installed", "{done}");
    }

    #[track_caller]
    pub(crate) fn remove(&self, id: &str) -> Value {
        self.run("remove", &[&self.project(), &self.home(), id])
    }

    /// What it makes of the files as they are.
    #[track_caller]
    pub(crate) fn judge(&self, id: &str) -> Value {
        self.run("judge", &[&self.project(), &self.home(), id])
    }

    #[track_caller]
    pub(crate) fn rewrite(&self) {
        self.run("rewrite", &[&self.project(), &self.home()]);
    }

    pub(crate) fn project(&self) -> String {
        self.0.project().canonicalize().unwrap().display().to_string()
    }

    pub(crate) fn home(&self) -> String {
        self.0.home().display().to_string()
    }

    /// Holds a lock until it is dropped.
    #[track_caller]
    pub(crate) fn hold(&self, lock: &str) -> Held {
        let lock = self.0.path(lock);
        let mut child = command("hold", &[&lock.display().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("held"), "{line}");
        Held { child, lock }
    }
}

/// A lock that the other side holds.
pub(crate) struct Held {
    child: Child,
    lock: PathBuf,
}

impl Held {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Each is a file of its own: whoever waited for it may have theirs by now.
        let file =
            || std::fs::symlink_metadata(&self.lock).and_then(|it| Ok((it.len(), it.modified()?))).ok();
        let held = file();
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        assert!(
            file().is_none_or(|now| Some(now) != held) || std::thread::panicking(),
            "its lock is gone with it"
        );
    }
}
