//! The folders and the daemon of one test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gsd_proto::client::{self, Client};
use gsd_proto::endpoint::{Endpoint, Surroundings};
use rustix::process::Signal;

use crate::binaries;
use crate::files::{link, put, text_of};
use crate::process::{daemons_of, signal_process};
use crate::run::Run;

/// Longest wait for anything that is expected to happen.
const SOON: Duration = Duration::from_secs(30);

/// What the daemon with fail points is told.
const FAIL_POINTS: &str = "tmp/fail-points";

/// One test's surroundings; its daemons are ended with it.
#[derive(Debug)]
pub struct World {
    root: tempfile::TempDir,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// Makes the folders `home`, `run`, `tmp` and `proj`.
    #[must_use]
    pub fn new() -> Self {
        Self::in_folder(&std::env::temp_dir())
    }

    fn in_folder(folder: &Path) -> Self {
        let root = tempfile::Builder::new().prefix("gsd").tempdir_in(folder).expect("a temporary folder");
        for folder in ["home", "run", "tmp", "proj"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder of the world");
        }
        Self { root }
    }

    /// A world whose daemon has fail points, see [`World::break_at`]; in memory where there is room for files: flushing is
    /// what tests of interruptions are full of, and a disk takes its time.
    #[must_use]
    pub fn with_fail_points() -> Self {
        let memory = Path::new("/dev/shm");
        let world = if memory.is_dir() { Self::in_folder(memory) } else { Self::new() };
        link(world.path("bin"), binaries::with_fail_points());
        world.break_at("");
        world
    }

    /// A path inside the world.
    #[must_use]
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(below)
    }

    /// The home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The folder that commands are run in.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.path("proj")
    }

    /// The client, about to be run with these arguments.
    #[must_use]
    pub fn gsdctl<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run {
        self.program("gsdctl", args)
    }

    /// The daemon, about to be run with these arguments.
    #[must_use]
    pub fn gsdd<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run {
        self.program("gsdd", args)
    }

    /// Gives this world copies of the programs, to be replaced or removed; later runs use them.
    #[must_use]
    pub fn own_programs(&self) -> PathBuf {
        let folder = self.path("bin");
        std::fs::create_dir(&folder).expect("a folder of the world");
        for program in ["gsdctl", "gsdd"] {
            std::fs::copy(binaries::folder().join(program), folder.join(program))
                .expect("a copy of the program");
        }
        folder
    }

    /// Tells the daemon with fail points to break: a word and the number of effects that come before, see `fs::fault`.
    pub fn break_at(&self, what: &str) {
        put(self.path(FAIL_POINTS), what);
    }

    /// What became of the last [`World::break_at`].
    ///
    /// # Errors
    /// The effects that are left, when it did not come true.
    pub fn broke_at(&self) -> Result<String, usize> {
        let text = text_of(self.path(FAIL_POINTS));
        match text.split_whitespace().nth(1).and_then(|left| left.parse().ok()) {
            Some(left) => Err(left),
            None => Ok(text.trim().to_owned()),
        }
    }

    /// Any program of the machine, about to be run in this world.
    #[must_use]
    pub fn outside_program(&self, program: &Path) -> Run {
        self.any_program(program, [])
    }

    fn program<'a>(&self, name: &str, args: impl IntoIterator<Item = &'a str>) -> Run {
        self.any_program(&self.program_path(name), args)
    }

    /// Where the client lies.
    #[must_use]
    pub fn client_program(&self) -> PathBuf {
        self.program_path("gsdctl")
    }

    /// Where a program under test lies.
    pub(crate) fn program_path(&self, name: &str) -> PathBuf {
        let own = self.path("bin");
        let folder = if own.exists() { own.as_path() } else { binaries::folder() };
        folder.join(name)
    }

    fn any_program<'a>(&self, program: &Path, args: impl IntoIterator<Item = &'a str>) -> Run {
        let mut command = Command::new(program);
        command.env_clear().args(args).current_dir(self.project());
        command
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_RUNTIME_DIR", self.path("run"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
        // Test machines are slow and busy; nothing here measures the time of a start.
        command.env("GSD_START_TIMEOUT", "20s");
        if self.path(FAIL_POINTS).exists() {
            command.env("GSD_FAIL_POINTS", self.path(FAIL_POINTS));
        }
        Run::new(command)
    }

    /// Where the daemon of this world listens.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::resolve(&Surroundings {
            home: self.home(),
            xdg_runtime_dir: Some(self.path("run")),
            tmpdir: Some(self.path("tmp")),
            uid: gsd_proto::private_dir::our_uid(),
            ..Surroundings::default()
        })
    }

    /// Starts the daemon and gives its process id.
    #[must_use]
    pub fn start_daemon(&self) -> u32 {
        let started = self.gsdctl(["daemon", "start", "--json"]).run().succeeds().json();
        started["data"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process id")
    }

    /// Process ids of the daemons of this world.
    #[must_use]
    pub fn daemons(&self) -> Vec<u32> {
        daemons_of(&self.home())
    }

    /// A connection to the running daemon.
    #[must_use]
    pub fn client(&self) -> Client {
        let channel = client::connect(&self.endpoint().socket, SOON).expect("the daemon accepts connections");
        let mut client = Client::new(channel);
        client.set_timeout(Some(SOON));
        client
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for pid in self.daemons() {
            signal_process(pid, Signal::KILL);
        }
    }
}

/// Looks until `condition` holds; gives up with `what` after a long while.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
