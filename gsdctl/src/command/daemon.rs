//! `gsdctl daemon …`

use std::fmt::Write as _;
use std::time::Duration;

use gsd_proto::api::daemon::{
    LogPosition, Logs, LogsParams, LogsResult, Shutdown, ShutdownParams, Status, StatusParams, StatusResult,
    When,
};
use gsd_proto::client::{CallError, Client};
use gsd_proto::{Code, WireError};
use serde_json::{Map, Value, json};

use crate::args::{DaemonVerb, Global};
use crate::connect::{self, ConnectError, Connection, Options};
use crate::output::{self, Report, clean};

/// Pause between two looks at the log with `--follow`.
const FOLLOW_PAUSE: Duration = Duration::from_millis(250);

type Outcome = Result<Report, WireError>;

/// Runs a verb; its name comes with the outcome.
pub(super) fn run(global: &Global, options: &Options, verb: &DaemonVerb) -> (&'static str, Outcome) {
    match verb {
        DaemonVerb::Start => ("daemon-start", start(global, options)),
        DaemonVerb::Stop => ("daemon-stop", stop(global, options)),
        DaemonVerb::Restart => ("daemon-restart", restart(global, options)),
        DaemonVerb::Status => ("daemon-status", status(options)),
        DaemonVerb::Logs { follow, lines } => ("daemon-logs", logs(global, options, *follow, *lines)),
        DaemonVerb::Call { method, params } => ("daemon-call", call(options, method, params)),
        DaemonVerb::Run => ("daemon-run", run_in_foreground(options)),
    }
}

fn start(global: &Global, options: &Options) -> Outcome {
    let running = connect::existing(options).map_err(ConnectError::into_wire)?.is_some();
    if global.dry_run {
        return Ok(planned("daemon-start", (!running).then_some("start")));
    }
    // Whoever asks for it by name may have removed the obstacle.
    let options = &Options { heed_failures: false, ..options.clone() };
    let mut client = connect::connect_to_daemon(options).map_err(ConnectError::into_wire)?;
    let status = ask_status(&mut client, options)?;
    let text = match running {
        true => format!("already running, process {}\n", status.pid),
        false => format!("started, process {}\n", status.pid),
    };
    Ok(Report {
        command: "daemon-start",
        changed: !running,
        data: json!({"pid": status.pid, "socket": status.socket, "running": true}),
        text,
        ..Report::default()
    })
}

fn stop(global: &Global, options: &Options) -> Outcome {
    let Some(mut client) = connect::existing(options).map_err(ConnectError::into_wire)? else {
        let data = json!({"running": false});
        return Ok(Report {
            command: "daemon-stop",
            data,
            text: "not running\n".to_owned(),
            ..Report::default()
        });
    };
    if global.dry_run {
        return Ok(planned("daemon-stop", Some("stop")));
    }
    client.set_timeout(Some(options.stop_timeout));
    let params = ShutdownParams { ctx: options.context.clone(), when: When::Now };
    let pid = match client.call::<Shutdown>(&params) {
        Ok(answer) => Some(answer.pid),
        // It was ending already.
        Err(CallError::Closed) => None,
        Err(error) => return Err(error.into_wire()),
    };
    drop(client);
    connect::wait_until_gone(options, pid)?;
    let text = pid.map_or_else(|| "stopped\n".to_owned(), |pid| format!("stopped process {pid}\n"));
    let data = json!({"pid": pid, "running": false});
    Ok(Report { command: "daemon-stop", changed: true, data, text, ..Report::default() })
}

fn restart(global: &Global, options: &Options) -> Outcome {
    if global.dry_run {
        return Ok(planned("daemon-restart", Some("restart")));
    }
    stop(global, options)?;
    let started = start(global, options)?;
    Ok(Report { command: "daemon-restart", changed: true, ..started })
}

fn planned(command: &'static str, step: Option<&str>) -> Report {
    let text = step.map_or_else(|| "nothing to do\n".to_owned(), |step| format!("would {step} the daemon\n"));
    Report {
        command,
        data: json!({"steps": step.into_iter().collect::<Vec<_>>()}),
        text,
        ..Report::default()
    }
}

fn status(options: &Options) -> Outcome {
    let mut client = running(options)?;
    let status = ask_status(&mut client, options)?;
    // The process id also stands beside `data`: scripts that look after a process want little else.
    let extra = Map::from_iter([("pid".to_owned(), json!(status.pid))]);
    Ok(Report {
        command: "daemon-status",
        data: status_data(&status),
        text: status_text(&status),
        warnings: status.warnings,
        extra,
        ..Report::default()
    })
}

fn running(options: &Options) -> Result<Client, WireError> {
    connect::existing(options).map_err(ConnectError::into_wire)?.ok_or_else(|| {
        WireError::new(Code::DaemonUnreachable, "no daemon is running")
            .at_file(&options.endpoint.socket)
            .with_fix("start it", &["gsdctl", "daemon", "start"])
    })
}

fn ask_status(client: &mut Client, options: &Options) -> Result<StatusResult, WireError> {
    client.set_timeout(Some(options.call_timeout.min(Duration::from_secs(10))));
    client.call::<Status>(&StatusParams { ctx: options.context.clone() }).map_err(CallError::into_wire)
}

fn status_data(status: &StatusResult) -> Value {
    let latencies: Map<String, Value> = status
        .latencies
        .iter()
        .map(|(method, latency)| {
            (
                method.clone(),
                json!({"count": latency.count, "p50_us": latency.p50_us, "p99_us": latency.p99_us}),
            )
        })
        .collect();
    json!({
        "pid": status.pid,
        "socket": status.socket,
        "version": status.version,
        "build": status.build,
        "protocol": status.protocol,
        "instance": status.instance,
        "home": status.home,
        "uptime_s": status.uptime_s,
        "clients": status.clients,
        "in_flight": status.in_flight,
        "memory_bytes": status.memory_bytes,
        "snapshot": status.snapshot,
        "watches": status.watches,
        "latencies": latencies,
        "log": status.log,
    })
}

fn status_text(status: &StatusResult) -> String {
    let mut out = String::new();
    let socket = status.socket.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    let rows = [
        ("process", status.pid.to_string()),
        ("version", status.version.clone()),
        ("socket", socket),
        ("home", status.home.display().to_string()),
        ("uptime", format!("{} s", status.uptime_s)),
        ("clients", status.clients.to_string()),
        ("memory", format!("{} KiB", status.memory_bytes / 1024)),
        ("snapshot", status.snapshot.to_string()),
        ("log", status.log.display().to_string()),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "{name:<9} {}", clean(&value));
    }
    for watch in &status.watches {
        let reason = watch.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let _ = writeln!(
            out,
            "watch     {}",
            clean(&format!("{} {}{reason}", watch.state, watch.root.display()))
        );
    }
    for (method, latency) in &status.latencies {
        let _ = writeln!(
            out,
            "latency   {} {} calls, median {} µs, 99 % {} µs",
            clean(method),
            latency.count,
            latency.p50_us,
            latency.p99_us
        );
    }
    out
}

/// The log is there with or without a daemon, so any way will do; with `--follow` it goes on until interrupted.
fn logs(global: &Global, options: &Options, follow: bool, lines: u32) -> Outcome {
    let quiet =
        Options { quiet: true, no_daemon: options.no_daemon || !is_running(options), ..options.clone() };
    let mut connection = connect::connect(&quiet)?;
    let ask = |connection: &mut Connection, after: Option<LogPosition>| -> Result<LogsResult, WireError> {
        let ctx = connection.context();
        connection.call::<Logs>(&LogsParams { ctx, lines, after })
    };
    let mut answer = ask(&mut connection, None)?;
    if !follow && !global.json {
        let text = joined(&answer.lines);
        return Ok(Report {
            command: "daemon-logs",
            text,
            warnings: connection.warnings(),
            ..Report::default()
        });
    }
    let mut seq = 0;
    loop {
        let written = if global.json {
            stream(&answer.lines, &mut seq)
        } else {
            output::write_all(joined(&answer.lines).as_bytes())
        };
        if written.is_err() {
            // Nobody reads any more.
            return Err(WireError {
                exit: 141,
                ..WireError::new(Code::IoFailed, "standard output is closed")
            });
        }
        if !follow {
            return Ok(Report { command: "daemon-logs", ..Report::streamed() });
        }
        std::thread::sleep(FOLLOW_PAUSE);
        answer = ask(&mut connection, Some(answer.next))?;
    }
}

fn is_running(options: &Options) -> bool {
    matches!(connect::existing(options), Ok(Some(_)))
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", clean(line))).collect()
}

fn stream(lines: &[String], seq: &mut u64) -> std::io::Result<()> {
    for line in lines {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|_| json!({"message": line}));
        let time = entry.get("timestamp").cloned().unwrap_or(Value::Null);
        output::line(&json!({"type": "log", "seq": *seq, "time": time, "entry": entry}))?;
        *seq += 1;
    }
    Ok(())
}

fn call(options: &Options, method: &str, params: &str) -> Outcome {
    let mut params: Map<String, Value> = serde_json::from_str(params).map_err(|error| {
        WireError::new(Code::UsageInvalid, "the parameters are not a JSON object")
            .caused_by(error.to_string())
    })?;
    let internal = |error: serde_json::Error| WireError::new(Code::Internal, error.to_string());
    let mut connection = connect::connect(options)?;
    let context = serde_json::to_value(connection.context()).map_err(internal)?;
    params.entry("ctx").or_insert(context);
    let params = serde_json::to_string(&params).map_err(internal)?;
    let data: Value = serde_json::from_str(connection.call_raw(method, &params)?.get()).map_err(internal)?;
    let text = format!("{data:#}\n");
    Ok(Report { command: "daemon-call", data, text, warnings: connection.warnings(), ..Report::default() })
}

#[cfg(unix)]
fn run_in_foreground(options: &Options) -> Outcome {
    use std::os::unix::process::CommandExt as _;
    // Replaces this process; coming back means that it failed.
    let error = connect::foreground(options)?.exec();
    Err(WireError::new(Code::DaemonStartFailed, "`gsdd` cannot be run").caused_by(error.to_string()))
}

#[cfg(not(unix))]
fn run_in_foreground(options: &Options) -> Outcome {
    let status = connect::foreground(options)?.status().map_err(|error| {
        WireError::new(Code::DaemonStartFailed, "`gsdd` cannot be run").caused_by(error.to_string())
    })?;
    let exit = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(Report { command: "daemon-run", exit, ..Report::streamed() })
}
