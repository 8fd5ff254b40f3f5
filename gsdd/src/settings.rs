//! What the daemon was told: flags before environment before default, resolved once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use gsd_proto::duration;
use gsd_proto::endpoint::{Endpoint, Surroundings};
use gsd_proto::readiness::StartFailure;

use crate::environment::Environment;

/// Idle time after which the daemon ends, unless told otherwise.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30 * 60);

/// Time a start may take, unless told otherwise.
pub const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(1);

/// Keeps the composed capability registry and serves it to AI coding CLIs over a local socket.
///
/// Started by `gsdctl` on demand; there is rarely a reason to start it by hand.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "gsdd", version)]
pub struct Flags {
    /// Serve one client over standard input and output, and end with it
    #[arg(long)]
    pub stdio: bool,

    /// Stay in the foreground and log to standard error too
    #[arg(long, conflicts_with = "stdio")]
    pub foreground: bool,

    /// The home to serve instead of the user's (`GSD_HOME`)
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,

    /// A folder of capabilities that replaces the built-in ones (`GSD_BASE`)
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,

    /// Listen here (`GSD_SOCKET`)
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// End after this time without clients, 0 = never (`GSD_IDLE_TIMEOUT`, default 30m)
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<String>,

    /// What to log, for example `info,compose=debug` (`GSD_LOG`)
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}

/// How the daemon talks to its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Many clients over a socket, detached from whoever started it.
    Detached,
    /// Many clients over a socket, attached to a terminal or a service manager.
    Foreground,
    /// One client over standard input and output.
    Stdio,
}

/// Everything that is decided before the first request.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How clients are served.
    pub mode: Mode,
    /// Where things are.
    pub surroundings: Surroundings,
    /// The socket and the files beside it.
    pub endpoint: Endpoint,
    /// The served home: `GSD_HOME`, else the user's.
    pub home: PathBuf,
    /// Folder of our own state.
    pub state_dir: PathBuf,
    /// Folder of our own data: agreed contents.
    pub data_dir: PathBuf,
    /// Replaces the built-in capabilities (D-02).
    pub base: Option<PathBuf>,
    /// Idle time after which the daemon ends; `None` is never.
    pub idle: Option<Duration>,
    /// Time that the start may take; the client that waits for it has the same number.
    pub start_timeout: Duration,
    /// Log filter.
    pub log: String,
}

impl Settings {
    /// Resolves flags and environment.
    ///
    /// # Errors
    /// When a value is not understood; nothing has been touched then.
    pub fn resolve(flags: &Flags, environment: &Environment) -> Result<Self, StartFailure> {
        let absolute = |path: &Path| environment.cwd().join(path);
        let mut surroundings = environment.surroundings();
        if let Some(home) = &flags.home {
            surroundings.gsd_home = Some(absolute(home));
        }
        if let Some(socket) = &flags.socket {
            surroundings.socket = Some(absolute(socket));
        }
        if surroundings.lacks_home() {
            let message = "HOME is not set".to_owned();
            return Err(StartFailure { stage: "settings".to_owned(), message, ..StartFailure::default() });
        }
        let idle = match flags.idle_timeout.as_deref().or_else(|| environment.text("GSD_IDLE_TIMEOUT")) {
            Some(raw) => Some(parse_duration("GSD_IDLE_TIMEOUT", raw)?).filter(|idle| !idle.is_zero()),
            None => Some(DEFAULT_IDLE),
        };
        let start_timeout = match environment.text("GSD_START_TIMEOUT") {
            Some(raw) => parse_duration("GSD_START_TIMEOUT", raw)?,
            None => DEFAULT_START_TIMEOUT,
        };
        let mode = match (flags.stdio, flags.foreground) {
            (true, _) => Mode::Stdio,
            (false, true) => Mode::Foreground,
            (false, false) => Mode::Detached,
        };
        Ok(Self {
            mode,
            endpoint: Endpoint::resolve(&surroundings),
            home: surroundings.served_home().to_owned(),
            state_dir: surroundings.state_dir(),
            data_dir: data_dir(environment, &surroundings),
            base: flags
                .base
                .as_deref()
                .map(absolute)
                .or_else(|| environment.var("GSD_BASE").map(|dir| absolute(Path::new(dir)))),
            idle,
            start_timeout,
            log: flags
                .log
                .clone()
                .or_else(|| environment.text("GSD_LOG").map(str::to_owned))
                .unwrap_or_else(|| "info".to_owned()),
            surroundings,
        })
    }

    /// How long to wait for another daemon to leave: somewhat less than the client waits for us, so that it hears the
    /// reason.
    #[must_use]
    pub fn lock_patience(&self) -> Duration {
        self.start_timeout.mul_f32(0.75)
    }

    /// Folder of the logs.
    #[must_use]
    pub fn log_dir(&self) -> PathBuf {
        self.state_dir.join("logs")
    }

    /// The log of this home's daemon; older ones have `.1` to `.4` behind it.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.log_dir().join(format!("gsdd-{}.ndjson", self.surroundings.home_tag()))
    }
}

/// `$XDG_DATA_HOME/gsd`; relative values are ignored.
fn data_dir(environment: &Environment, surroundings: &Surroundings) -> PathBuf {
    if cfg!(windows) {
        return surroundings.state_dir();
    }
    match environment.var("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        Some(dir) => dir.join("gsd"),
        None => surroundings.home.join(".local").join("share").join("gsd"),
    }
}

fn parse_duration(name: &str, raw: &str) -> Result<Duration, StartFailure> {
    duration::parse(raw).ok_or_else(|| StartFailure {
        stage: "settings".to_owned(),
        message: format!("{name} must be a duration such as 500ms, 5s or 2m"),
        ..StartFailure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(flags: &Flags, vars: &[(&'static str, &str)]) -> Result<Settings, StartFailure> {
        let vars = vars.iter().map(|(name, value)| (*name, value.into()));
        Settings::resolve(flags, &Environment::of(vars, Path::new("/cwd")))
    }

    #[test]
    fn flags_beat_the_environment() {
        let flags = Flags {
            home: Some("h".into()),
            base: Some("/b".into()),
            idle_timeout: Some("0".into()),
            ..Flags::default()
        };
        let got = resolve(
            &flags,
            &[("HOME", "/u"), ("GSD_HOME", "/e"), ("GSD_BASE", "/x"), ("GSD_IDLE_TIMEOUT", "5s")],
        )
        .unwrap();
        assert_eq!(
            (got.home.as_path(), got.base.as_deref(), got.idle),
            (Path::new("/cwd/h"), Some(Path::new("/b")), None)
        );
    }

    #[test]
    fn defaults() {
        let got = resolve(&Flags::default(), &[("HOME", "/u")]).unwrap();
        assert_eq!((got.mode, got.idle, got.log.as_str()), (Mode::Detached, Some(DEFAULT_IDLE), "info"));
        assert!(got.log_file().starts_with("/u/.local/state/gsd/logs"));
    }

    #[test]
    fn without_a_home_nothing_is_guessed() {
        assert!(resolve(&Flags::default(), &[]).is_err());
        assert!(resolve(&Flags::default(), &[("GSD_HOME", "/g")]).is_err());
        assert!(resolve(&Flags::default(), &[("GSD_HOME", "/g"), ("XDG_STATE_HOME", "/s")]).is_ok());
    }

    #[test]
    fn a_bad_duration_is_named() {
        let failure =
            resolve(&Flags::default(), &[("HOME", "/u"), ("GSD_IDLE_TIMEOUT", "soon")]).unwrap_err();
        assert!(failure.message.contains("GSD_IDLE_TIMEOUT"), "{failure}");
    }
}
