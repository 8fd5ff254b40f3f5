//! A home, a project and a daemon that are gone afterwards.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Doing as _, Outcome};

/// The folders of one walk, and the environment to run programs in.
#[derive(Debug)]
pub(crate) struct Throwaway {
    root: tempfile::TempDir,
    programs: PathBuf,
    search_path: OsString,
}

impl Throwaway {
    /// Makes the folders; programs are looked for in `programs` first.
    pub(crate) fn new(programs: &Path) -> Outcome<Self> {
        let root =
            tempfile::Builder::new().prefix("gsd-try-").tempdir().doing("making a temporary folder")?;
        for folder in ["home", "run", "tmp", "project"] {
            std::fs::create_dir(root.path().join(folder)).doing(format!("making the folder {folder}"))?;
        }
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&others));
        let search_path = std::env::join_paths(folders).doing("putting the programs on the PATH")?;
        Ok(Self { root, programs: programs.to_owned(), search_path })
    }

    /// The folder that everything is in.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The home.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The project that commands are run in.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The git configuration file of this home's person.
    pub(crate) fn git_config(&self) -> PathBuf {
        self.root.path().join("gitconfig")
    }

    /// Full path of one of the two programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A program about to be run here, with nothing of the person's own environment but the search path.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.project()).stdin(Stdio::null());
        command.env("PATH", &self.search_path).env("LANG", "C.UTF-8");
        command.env("HOME", self.home()).env("XDG_RUNTIME_DIR", self.root().join("run"));
        command.env("TMPDIR", self.root().join("tmp"));
        command.env("GIT_CONFIG_GLOBAL", self.git_config()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let mut stop = self.command(self.program("gsdctl"));
        stop.args(["daemon", "stop"]).stdout(Stdio::null()).stderr(Stdio::null());
        // Without a daemon there is nothing to end; with a broken one nobody could do more here.
        let _ = stop.status();
    }
}
