//! `daemon.*`: who is there, how it is doing, end it, what it logged.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsd_proto::api::Warning;
use gsd_proto::api::daemon::{
    Hello, HelloParams, HelloResult, LogPosition, Logs, LogsParams, LogsResult, ProtocolRange, Shutdown,
    ShutdownParams, ShutdownResult, Status, StatusResult, Watch,
};
use gsd_proto::{Code, WireError};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;

use super::{register, register_blocking, wire};
use crate::app::App;
use crate::settings::Mode;
use crate::watch::WatchState;

/// Most of the log that one answer carries, in bytes.
const LOG_BYTES: u64 = 1024 * 1024;

/// Lines of the log when the caller does not say.
const DEFAULT_LINES: u32 = 100;

/// Adds the methods of this namespace.
///
/// # Errors
/// When a name is taken.
pub fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Hello, _, _>(module, async |app: Arc<App>, params| hello(&app, &params))?;
    register::<Status, _, _>(module, async |app: Arc<App>, _| Ok(status(&app)))?;
    register::<Shutdown, _, _>(module, async |app: Arc<App>, params| Ok(shutdown(&app, &params)))?;
    register_blocking::<Logs, _>(module, |app, params| logs(app, &params))
}

/// The refusal of a client whose protocol numbers are not ours.
#[must_use]
pub fn protocol_error(theirs: ProtocolRange) -> WireError {
    let ours = ProtocolRange::OURS;
    let message = format!(
        "the client speaks protocol {} to {}, this daemon {} to {}",
        theirs.min, theirs.max, ours.min, ours.max
    );
    WireError::new(Code::DaemonProtocol, message)
        .with_fix("end the older daemon", &["gsdctl", "daemon", "stop"])
}

fn hello(app: &App, params: &HelloParams) -> Result<HelloResult, WireError> {
    let protocol =
        ProtocolRange::OURS.common(params.protocol).ok_or_else(|| protocol_error(params.protocol))?;
    let methods = app.methods();
    let missing: Vec<&str> =
        params.required.iter().filter(|name| !methods.contains(name)).map(String::as_str).take(16).collect();
    if !missing.is_empty() {
        let shown = gsdd_core::text::shown(&missing.join(", "));
        return Err(WireError::new(Code::DaemonProtocol, format!("this daemon does not have {shown}")));
    }
    Ok(HelloResult {
        protocol,
        server: "gsdd".to_owned(),
        version: gsd_proto::VERSION.to_owned(),
        build: app.build.clone(),
        pid: std::process::id(),
        instance: app.instance.clone(),
        uptime_s: app.started.elapsed().as_secs(),
        home: app.settings.home.clone(),
        methods: methods.to_vec(),
        snapshot: app.engine.generation(),
        warnings: Vec::new(),
    })
}

fn status(app: &App) -> StatusResult {
    let settings = &app.settings;
    StatusResult {
        pid: std::process::id(),
        socket: (settings.mode != Mode::Stdio).then(|| settings.endpoint.socket.clone()),
        version: gsd_proto::VERSION.to_owned(),
        build: app.build.clone(),
        protocol: Some(ProtocolRange::OURS),
        instance: app.instance.clone(),
        home: settings.home.clone(),
        uptime_s: app.started.elapsed().as_secs(),
        clients: app.shutdown.clients(),
        in_flight: app.in_flight.count(),
        memory_bytes: resident_bytes().unwrap_or(0),
        latencies: app.latencies.report(),
        watches: app.engine.watcher().states().into_iter().map(watch).collect(),
        log: settings.log_file(),
        snapshot: app.engine.generation(),
        warnings: app
            .log_problem()
            .map(|message| Warning { code: "log.unwritable".into(), message, fix: Vec::new() })
            .into_iter()
            .chain(app.engine.audit().problem().iter().map(|said| wire::warning("audit.unwritable", said)))
            .chain(app.engine.not_taken_over().iter().map(|said| wire::warning("link.refused", said)))
            .collect(),
    }
}

fn watch(state: WatchState) -> Watch {
    Watch {
        root: state.project,
        state: if state.polled_because.is_some() { "polling" } else { "watching" }.to_owned(),
        reason: state.polled_because,
    }
}

fn shutdown(app: &App, params: &ShutdownParams) -> ShutdownResult {
    tracing::info!(when = ?params.when, "a client asked for the end");
    app.shutdown.request(params.when);
    ShutdownResult {
        pid: std::process::id(),
        in_flight: app.in_flight.count().saturating_sub(1),
        ..ShutdownResult::default()
    }
}

/// Resident memory as the kernel accounts it; the file is in kB, so the size of a page does not matter.
fn resident_bytes() -> Option<u64> {
    let mut text = String::new();
    File::open("/proc/self/status").ok()?.take(64 * 1024).read_to_string(&mut text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn logs(app: &App, params: &LogsParams) -> Result<LogsResult, WireError> {
    let path = app.settings.log_file();
    let read = match params.after {
        Some(after) => lines_after(&path, after),
        None => last_lines(&path, if params.lines == 0 { DEFAULT_LINES } else { params.lines }),
    };
    let (lines, next) = match read {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), LogPosition::default()),
        Err(error) => {
            return Err(WireError::new(Code::IoFailed, "the log cannot be read")
                .caused_by(error.to_string())
                .at_file(path));
        }
    };
    Ok(LogsResult { path, lines, next, ..LogsResult::default() })
}

fn last_lines(path: &Path, count: u32) -> io::Result<(Vec<String>, LogPosition)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(LOG_BYTES);
    let (mut lines, next) = lines_from(file, start)?;
    if start > 0 && !lines.is_empty() {
        // It began in the middle.
        lines.remove(0);
    }
    let surplus = lines.len().saturating_sub(count as usize);
    lines.drain(..surplus);
    Ok((lines, next))
}

fn lines_after(path: &Path, after: LogPosition) -> io::Result<(Vec<String>, LogPosition)> {
    let file = File::open(path)?;
    if file_id(&file)? == after.file {
        return lines_from(file, after.offset);
    }
    // Rotated in the meantime: the rest of the old file first.
    let mut older = path.to_owned().into_os_string();
    older.push(".1");
    let mut lines = match File::open(PathBuf::from(older)) {
        Ok(old) if file_id(&old)? == after.file => lines_from(old, after.offset)?.0,
        _ => Vec::new(),
    };
    let (newer, next) = lines_from(file, 0)?;
    lines.extend(newer);
    Ok((lines, next))
}

/// The whole lines from `start` on; a line that is still being written is left for the next time.
fn lines_from(mut file: File, start: u64) -> io::Result<(Vec<String>, LogPosition)> {
    let id = file_id(&file)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    Ok((lines, LogPosition { file: id, offset: start + whole as u64 }))
}

#[cfg(unix)]
fn file_id(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().map(|found| found.ino())
}

#[cfg(not(unix))]
fn file_id(_file: &File) -> io::Result<u64> {
    Ok(1)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_log_can_be_followed_across_a_rotation() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        let mut log = crate::rotating_file::RotatingFile::open(&path, 20, 3).unwrap();
        log.write_all(b"one\ntwo\nthr").unwrap();
        let (lines, next) = last_lines(&path, 1).unwrap();
        assert_eq!(lines, ["two"]);
        log.write_all(b"ee\n").unwrap();
        log.write_all(b"four, long\n").unwrap();
        let (lines, next) = lines_after(&path, next).unwrap();
        assert_eq!(lines, ["three", "four, long"]);
        assert!(lines_after(&path, next).unwrap().0.is_empty());
    }

    #[test]
    fn a_missing_log_is_empty() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(last_lines(&root.path().join("none"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
