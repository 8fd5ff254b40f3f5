//! Logging: JSON lines into a rotated file of ours, and to standard error in the foreground.
//!
//! What is logged is shape: method names, durations, codes, counts. Values of parameters, environment variables and
//! headers never are (threat T185).

use std::io;

use gsd_proto::private_dir;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::rotating_file::RotatingFile;
use crate::settings::{Mode, Settings};

/// Size at which the log is rotated.
pub const LOG_FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Number of files kept, the current one included.
pub const LOG_FILES: u32 = 5;

/// Lines that wait to be written; the memory for them is taken at once. What comes on top of them is lost.
const BUFFERED_LINES: usize = 4_096;

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
    let filter =
        EnvFilter::try_new(directives(&settings.log)).unwrap_or_else(|_| EnvFilter::new(directives("info")));
    let stderr = (settings.mode == Mode::Foreground)
        .then(|| tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false));
    // The one client of a `--stdio` daemon owns the terminal, and several of them may run at a time.
    let file = if settings.mode == Mode::Stdio { Ok(None) } else { open(settings).map(Some) };
    let (file, problem) = match file {
        Ok(file) => (file, None),
        Err(problem) => (None, Some(problem)),
    };
    let lines = |file| NonBlockingBuilder::default().buffered_lines_limit(BUFFERED_LINES).finish(file);
    let (writer, guard) = file.map(lines).unzip();
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

/// What a person writes, in the terms of the log library: a level is that of our own code, a name without `::` is one of
/// our modules. Libraries stay at warnings, because what they log in detail may quote values.
fn directives(written: &str) -> String {
    let parts = written.split(',').map(str::trim).filter(|part| !part.is_empty());
    let translated = parts.map(|part| match part.split_once('=') {
        None if matches!(part, "off" | "error") => format!("{part},gsdd={part},gsdd_core={part}"),
        None => format!("warn,gsdd={part},gsdd_core={part}"),
        Some((name, level)) if !name.contains("::") && !name.starts_with("gsdd") => {
            format!("gsdd::{name}={level},gsdd_core::{name}={level}")
        }
        Some(_) => part.to_owned(),
    });
    translated.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t185_libraries_stay_at_warnings() {
        assert_eq!(directives("trace"), "warn,gsdd=trace,gsdd_core=trace");
        assert_eq!(directives("off"), "off,gsdd=off,gsdd_core=off");
        let mixed = directives("info, compose=debug");
        assert_eq!(mixed, "warn,gsdd=info,gsdd_core=info,gsdd::compose=debug,gsdd_core::compose=debug");
        assert!(EnvFilter::try_new(mixed).is_ok());
    }
}
