//! Git repositories made for a test, reached as `https://forge.example/NAME` through the person's own `insteadOf`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::put;
use crate::world::World;

/// A repository with a work tree.
#[derive(Debug)]
pub struct Repository {
    folder: PathBuf,
}

impl World {
    /// Makes a repository `forge/NAME` and lets `https://forge.example/` of this home lead to the folder `forge`.
    #[must_use]
    pub fn repository(&self, name: &str) -> Repository {
        let settings = format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://forge.example/\n",
            self.path("forge").display()
        );
        put(self.home().join(".gitconfig"), settings);
        let folder = self.path("forge").join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the repository");
        let repository = Repository { folder };
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository
    }
}

impl Repository {
    /// The work tree.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs git in the work tree and gives what it printed.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.folder);
        command.env("GIT_CONFIG_NOSYSTEM", "1").args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        command.args(["-c", "protocol.file.allow=always", "-c", "uploadpack.allowAnySHA1InWant=true"]);
        let output = command.args(args).current_dir(&self.folder).output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Commits everything and gives the commit's id.
    #[track_caller]
    pub fn commit(&self) -> String {
        self.git(&["add", "-A", "."]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a commit"]);
        self.git(&["rev-parse", "HEAD"])
    }
}
