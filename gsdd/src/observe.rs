//! Logging: JSON lines into a rotated file of ours, and to standard error in the foreground.
//!
//! What is logged is shape: method names, durations, codes, counts. Values of parameters, environment variables and
//! headers never are (threat T185).

use std::io;

use gsd_proto::private_dir;
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::rotating_file::RotatingFile;
use crate::settings::{Mode, Settings};

/// Size at which the log is rotated.
pub const LOG_FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Number of files kept, the current one included.
pub const LOG_FILES: u32 = 5;

/// Keeps the log writer alive; dropping it writes what is still queued.
#[derive(Debug, Default)]
#[must_use = "the log ends when this is dropped"]
pub struct Logging {
    _guard: Option<WorkerGuard>,
    /// Why nothing is written to the file, if so.
    pub problem: Option<String>,
}

/// Starts logging as the settings say. A log that cannot be written is a warning, not a reason not to serve.
pub fn init(settings: &Settings) -> Logging {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let stderr = (settings.mode == Mode::Foreground)
        .then(|| tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false));
    // The one client of a `--stdio` daemon owns the terminal, and several of them may run at a time.
    let file = if settings.mode == Mode::Stdio { Ok(None) } else { open(settings).map(Some) };
    let (file, problem) = match file {
        Ok(file) => (file, None),
        Err(problem) => (None, Some(problem)),
    };
    let (writer, guard) = file.map(NonBlocking::new).unzip();
    let json =
        writer.map(|writer| tracing_subscriber::fmt::layer().json().with_writer(writer).with_ansi(false));
    // Fails only when logging was started before, as in tests.
    drop(tracing_subscriber::registry().with(filter).with(stderr).with(json).try_init());
    Logging { _guard: guard, problem }
}

fn open(settings: &Settings) -> Result<RotatingFile, String> {
    private_dir::ensure(&settings.log_dir()).map_err(|error| error.to_string())?;
    let path = settings.log_file();
    RotatingFile::open(&path, LOG_FILE_BYTES, LOG_FILES)
        .map_err(|error| format!("{}: {error}", path.display()))
}
