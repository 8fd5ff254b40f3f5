//! One run of a program, and what came of it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::process::signal_process;

/// A program that takes this long hangs: nothing in the tests takes a tenth of it.
const HANGS: Duration = Duration::from_secs(60);

/// A program about to be run.
#[derive(Debug)]
pub struct Run {
    command: Command,
    input: Vec<u8>,
}

impl Run {
    pub(crate) fn new(command: Command) -> Self {
        Self { command, input: Vec::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it in this folder.
    #[must_use]
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(args);
        self
    }

    /// Gives it this on standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Starts it with all three streams connected to the test.
    #[must_use]
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("the program starts")
    }

    /// Runs it to its end.
    #[must_use]
    pub fn run(self) -> Outcome {
        let input = self.input.clone();
        let shown = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        let mut child = self.spawn();
        let mut stdin = child.stdin.take().expect("it was connected");
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let pid = child.id();
        let (ended, watching) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let hangs = watching.recv_timeout(HANGS) == Err(mpsc::RecvTimeoutError::Timeout);
            if hangs {
                signal_process(pid, rustix::process::Signal::KILL);
            }
            hangs
        });
        let output = child.wait_with_output().expect("it ends");
        drop(ended);
        assert!(!watchdog.join().expect("watching does not panic"), "{shown} hangs");
        feeder.join().expect("feeding does not panic");
        Outcome {
            shown,
            exit: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    shown: String,
    /// Exit status; -1 after a signal.
    pub exit: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Expects this exit status.
    #[track_caller]
    pub fn exits(self, exit: u8) -> Self {
        assert_eq!(
            self.exit,
            i32::from(exit),
            "{} ended wrongly\n{}\n{}",
            self.shown,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Expects success.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// Expects nothing on standard error.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert_eq!(self.stderr, "", "{} had something to say", self.shown);
        self
    }

    /// Expects this text on standard error.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{} did not say {text:?}\n{}", self.shown, self.stderr);
        self
    }

    /// Expects this text on standard output.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "{} did not print {text:?}\n{}\n{}",
            self.shown,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Expects failure, whatever its status, and not by a signal.
    #[track_caller]
    pub fn fails(self) -> Self {
        assert!(self.exit > 0, "{} ended with {}\n{}\n{}", self.shown, self.exit, self.stdout, self.stderr);
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{} printed no JSON: {error}\n{}", self.shown, self.stdout))
    }
}
