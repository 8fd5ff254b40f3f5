//! What is decided before anything is connected: where, how long, and in which surroundings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gsd_proto::endpoint::{self, Endpoint};
use gsd_proto::{Code, Context, WireError, duration, private_dir};

use crate::args::Global;

/// Time to connect and to be greeted.
const BUDGET: Duration = Duration::from_millis(250);

/// Time that a call may take when `--timeout` does not say.
const CALL_TIMEOUT: Duration = Duration::from_secs(11 * 60);

/// What the daemon gets beyond `--timeout` to say what it waited for in vain.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Time that a start may take when `GSD_START_TIMEOUT` does not say.
const START_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that an ending daemon gets to finish its calls.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The process environment with the global flags applied.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Decides where the socket is.
    pub(crate) places: endpoint::Surroundings,
    /// Working directory after `-C`.
    pub(crate) cwd: PathBuf,
}

impl Surroundings {
    /// Reads environment and flags.
    pub(crate) fn of_process(global: &Global) -> Result<Self, WireError> {
        let started_in = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let cwd = match &global.cwd {
            Some(dir) => folder(&started_in.join(dir))?,
            None => started_in.clone(),
        };
        let mut places = endpoint::Surroundings::from_vars(
            |name| std::env::var_os(name),
            &started_in,
            private_dir::our_uid(),
        );
        if let Some(home) = &global.home {
            places.gsd_home = Some(started_in.join(home));
        }
        if let Some(socket) = &global.socket {
            places.socket = Some(started_in.join(socket));
        }
        if places.lacks_home() {
            return Err(WireError::new(Code::UsageInvalid, "HOME is not set")
                .with_fix("say which home is meant", &["env", "HOME=DIR", "gsdctl"]));
        }
        Ok(Self { places, cwd })
    }
}

fn folder(path: &Path) -> Result<PathBuf, WireError> {
    let usable = path.canonicalize().and_then(|path| path.read_dir().map(|_| path));
    usable.map_err(|error| {
        WireError::new(Code::UsageInvalid, "the folder of `--cwd` cannot be used")
            .caused_by(error.to_string())
            .at_file(path)
    })
}

/// How to connect.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Where the daemon is.
    pub(crate) endpoint: Endpoint,
    /// Decides where a started daemon is.
    pub(crate) places: endpoint::Surroundings,
    /// Sent with each call.
    pub(crate) context: Context,
    /// Do not use a daemon at all.
    pub(crate) no_daemon: bool,
    /// Time to connect.
    pub(crate) budget: Duration,
    /// Time for the answer to the greeting.
    pub(crate) hello_timeout: Duration,
    /// Time that one call may take.
    pub(crate) call_timeout: Duration,
    /// Time that a start may take.
    pub(crate) start_timeout: Duration,
    /// Time that an end may take.
    pub(crate) stop_timeout: Duration,
    /// Take a recent failure's word for it that a start is pointless.
    pub(crate) heed_failures: bool,
    /// Say nothing about detours.
    pub(crate) quiet: bool,
    /// Protocol number to claim; tests forge it.
    pub(crate) protocol: Option<u32>,
}

impl Options {
    /// The options of an ordinary command.
    pub(crate) fn new(global: &Global, surroundings: &Surroundings) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut context = Context::new("gsdctl", surroundings.cwd.clone(), std::env::vars_os());
        context.umask = gsd_proto::context::umask_of_process();
        context.progress = true;
        context.wait_ms =
            global.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        if global.offline {
            context.env.insert("GSD_OFFLINE".to_owned(), "1".to_owned());
        }
        Self {
            endpoint: Endpoint::resolve(&surroundings.places),
            places: surroundings.places.clone(),
            context,
            no_daemon: global.no_daemon || set("GSD_NO_DAEMON").is_some_and(|value| value != "0"),
            budget: BUDGET,
            // Connecting proves that it lives; a busy machine may need longer for the first answer.
            hello_timeout: BUDGET * 4,
            call_timeout: global.timeout.map_or(CALL_TIMEOUT, |timeout| timeout.saturating_add(LAST_WORDS)),
            start_timeout: set("GSD_START_TIMEOUT")
                .and_then(|raw| duration::parse(&raw))
                .unwrap_or(START_TIMEOUT),
            stop_timeout: global.timeout.unwrap_or(STOP_TIMEOUT),
            heed_failures: true,
            quiet: global.quiet,
            protocol: set("GSD_TEST_CLIENT_PROTOCOL").and_then(|raw| raw.parse().ok()),
        }
    }
}
