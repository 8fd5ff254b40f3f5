//! What every handler can reach.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use gsd_proto::readiness::StartFailure;

use crate::engine::{BaseSource, Engine, load_base};
use crate::hook_runs::HookRuns;
use crate::latency::Latencies;
use crate::lifecycle::Tickets;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::store::Places;

/// The daemon as its handlers see it.
#[derive(Debug)]
pub struct App {
    /// When it started.
    pub started: Instant,
    /// Differs for each start.
    pub instance: String,
    /// The build that runs, see [`gsd_proto::build_of`].
    pub build: String,
    /// What it was told.
    pub settings: Settings,
    /// Its end.
    pub shutdown: Shutdown,
    /// Time spent per method.
    pub latencies: Latencies,
    /// Calls being served.
    pub in_flight: InFlight,
    /// The composed registry and its writer.
    pub(crate) engine: Engine,
    /// Bundles that were staged and wait for an agreement.
    pub(crate) tickets: Tickets,
    /// How hooks have been doing.
    pub(crate) hook_runs: HookRuns,
    methods: OnceLock<Vec<String>>,
    log_problem: OnceLock<String>,
}

impl App {
    /// A daemon that has just started.
    ///
    /// # Errors
    /// When the shipped capabilities do not compose, or no thread can be started.
    pub fn new(settings: Settings) -> Result<Self, StartFailure> {
        let engine = start_engine(&settings)?;
        Ok(Self {
            started: Instant::now(),
            instance: new_instance(),
            build: std::env::current_exe()
                .map_or_else(|_| gsd_proto::VERSION.to_owned(), |exe| build_at(&exe)),
            settings,
            shutdown: Shutdown::default(),
            latencies: Latencies::default(),
            in_flight: InFlight::default(),
            engine,
            tickets: Tickets::default(),
            hook_runs: HookRuns::default(),
            methods: OnceLock::new(),
            log_problem: OnceLock::new(),
        })
    }

    /// Names of the methods that are served, sorted.
    #[must_use]
    pub fn methods(&self) -> &[String] {
        self.methods.get().map_or(&[], Vec::as_slice)
    }

    /// Remembers the names of the method table; the first call counts.
    pub fn set_methods(&self, mut names: Vec<String>) {
        names.sort_unstable();
        drop(self.methods.set(names));
    }

    /// Why the log is not written, if so.
    #[must_use]
    pub fn log_problem(&self) -> Option<String> {
        self.log_problem.get().cloned()
    }

    /// Remembers why the log is not written; the first call counts.
    pub fn set_log_problem(&self, problem: String) {
        drop(self.log_problem.set(problem));
    }
}

fn start_engine(settings: &Settings) -> Result<Engine, StartFailure> {
    let failure = |stage: &str, message: String| StartFailure {
        stage: stage.to_owned(),
        message,
        ..StartFailure::default()
    };
    let source = settings.base.clone().map_or(BaseSource::Embedded, BaseSource::Folder);
    let shipped = load_base(&source).map_err(|error| failure("base", error.to_string()))?;
    // Two homes never share records: each daemon settles only what it began itself.
    let tag = format!("home-{}", settings.surroundings.home_tag());
    let places = Places {
        user_home: settings.surroundings.home.clone(),
        gsd_home: settings.home.clone(),
        data: settings.data_dir.join(&tag),
        state: settings.state_dir.join(&tag),
    };
    let client = std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .ok()
        .map(|exe| exe.with_file_name(if cfg!(windows) { "gsdctl.exe" } else { "gsdctl" }))
        .filter(|client| client.is_file());
    Engine::start(shipped, places, client).map_err(|error| failure("engine", error.to_string()))
}

fn build_at(exe: &Path) -> String {
    std::fs::metadata(exe)
        .map_or_else(|_| gsd_proto::VERSION.to_owned(), |metadata| gsd_proto::build_of(&metadata))
}

/// Unique enough to tell two starts apart; not a secret.
fn new_instance() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", since.as_nanos() & 0xffff_ffff_ffff_ffff, std::process::id())
}

/// Number of calls that are being served.
#[derive(Debug, Default)]
pub struct InFlight(AtomicU64);

impl InFlight {
    /// Counts one call for as long as the guard lives.
    pub fn enter(&self) -> InFlightGuard<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(&self.0)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// See [`InFlight::enter`].
#[derive(Debug)]
pub struct InFlightGuard<'a>(&'a AtomicU64);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
