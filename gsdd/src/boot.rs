//! The life of the process: start, readiness, signals, end.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gsd_proto::api::daemon::When;
use gsd_proto::endpoint::Endpoint;
use gsd_proto::private_dir;
use gsd_proto::readiness::{Readiness, Ready, StartFailure};

use crate::app::App;
use crate::observe::{self, Logging};
use crate::settings::{Flags, Mode, Settings};
use crate::shutdown::Shutdown;
use crate::single_instance::{self, Instance, NotAlone};
use crate::transport::{Limits, Listener, Service};
use crate::{rpc, stdio};

/// Exit status of a daemon that could not start.
const START_FAILED: u8 = 10;

/// Two threads, so that a slow handler cannot stop the accept loop.
const WORKERS: usize = 2;

/// Threads for work that blocks, files above all.
const BLOCKING_THREADS: usize = 8;

/// Runs the daemon until its end.
#[must_use]
pub fn run(settings: Settings) -> ExitCode {
    quiet_panics();
    match settings.mode {
        Mode::Stdio => run_stdio(settings),
        Mode::Detached | Mode::Foreground => run_socket(settings),
    }
}

/// Reports a failure that came before there were settings.
#[must_use]
pub fn report_failure(flags: &Flags, failure: StartFailure) -> ExitCode {
    if flags.stdio {
        say(&format!("gsdd: {failure}"));
        return ExitCode::from(START_FAILED);
    }
    fail(failure, flags.foreground, None)
}

fn run_socket(settings: Settings) -> ExitCode {
    detach(&settings);
    let foreground = settings.mode == Mode::Foreground;
    let endpoint = settings.endpoint.clone();
    let instance = match single_instance::acquire(&endpoint, settings.lock_patience()) {
        Ok(instance) => instance,
        Err(NotAlone::Serving) if foreground => {
            say("gsdd: another daemon serves this home already");
            return ExitCode::from(START_FAILED);
        }
        Err(NotAlone::Serving) => {
            announce(&Readiness::Ready(Ready { pid: 0, socket: endpoint.socket, already: true }));
            return ExitCode::SUCCESS;
        }
        Err(NotAlone::Failed(failure)) => return fail(failure, foreground, Some(&endpoint)),
    };
    let logging = observe::init(&settings);
    let exit = match serve_socket(settings, &instance, &logging) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!(stage = failure.stage, errno = failure.errno, "start failed");
            fail(failure, foreground, Some(&endpoint))
        }
    };
    drop(logging);
    // The end of the process releases the lock, so that whoever waits for the lock finds the process gone.
    std::mem::forget(instance);
    exit
}

/// From the lock to the end.
fn serve_socket(settings: Settings, instance: &Instance, logging: &Logging) -> Result<(), StartFailure> {
    let runtime = runtime()?;
    let endpoint = settings.endpoint.clone();
    let (mode, idle) = (settings.mode, settings.idle);
    let served = runtime.block_on(async {
        let service = service(settings)?;
        if let Some(problem) = &logging.problem {
            service.app().set_log_problem(problem.clone());
        }
        let our_uid = private_dir::our_uid();
        let listener = match Listener::inherited(our_uid)? {
            Some(listener) => listener,
            None => {
                single_instance::clear_stale_socket(instance, &endpoint.socket)?;
                Listener::bind(&endpoint.socket, our_uid)?
            }
        };
        let shutdown = service.app().shutdown.clone();
        tokio::spawn(watch_signals(shutdown.clone()));
        tokio::spawn(shutdown.clone().watch_idleness(idle));
        drop(std::fs::remove_file(endpoint.failure_file()));
        tracing::info!(pid = std::process::id(), version = gsd_proto::VERSION, "ready");
        ready(mode, &endpoint.socket);
        let stop = shutdown.token().clone();
        listener.serve(Arc::clone(&service), stop).await;
        tracing::info!("ended");
        Ok(())
    });
    // Handlers on blocking threads cannot be stopped; they get a moment and no more.
    runtime.shutdown_timeout(Duration::from_millis(500));
    served
}

fn run_stdio(settings: Settings) -> ExitCode {
    let logging = observe::init(&settings);
    let outcome = runtime().and_then(|runtime| {
        let served = runtime.block_on(async {
            let service = service(settings)?;
            tokio::spawn(watch_signals(service.app().shutdown.clone()));
            stdio::serve(service).await;
            Ok(())
        });
        // A thread still waits in a read of standard input.
        runtime.shutdown_background();
        served
    });
    drop(logging);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("gsdd: {failure}"));
            ExitCode::from(START_FAILED)
        }
    }
}

fn service(settings: Settings) -> Result<Arc<Service>, StartFailure> {
    let app = Arc::new(App::new(settings)?);
    // The answer is logged by the writer; nobody waits for it.
    drop(app.engine.sweep());
    let methods = rpc::build(&app).map_err(|error| internal("load", &error.to_string()))?;
    Ok(Service::new(methods, app, Limits::default()))
}

fn runtime() -> Result<tokio::runtime::Runtime, StartFailure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(|error| internal("runtime", &error.to_string()))
}

fn internal(stage: &str, message: &str) -> StartFailure {
    StartFailure { stage: stage.to_owned(), message: message.to_owned(), ..StartFailure::default() }
}

/// Ends the daemon on SIGTERM and SIGINT; calls in flight are finished first.
async fn watch_signals(shutdown: Shutdown) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    tracing::info!("a signal asked for the end");
    shutdown.request(When::Now);
}

/// Leaves the terminal and the folder of whoever started us.
fn detach(settings: &Settings) {
    #[cfg(unix)]
    {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        if settings.mode == Mode::Detached {
            // Fails for the leader of a process group, which is started by hand from a shell and may stay there.
            let _ = rustix::process::setsid();
        }
    }
    if settings.mode == Mode::Detached {
        drop(std::env::set_current_dir("/"));
    }
}

fn ready(mode: Mode, socket: &Path) {
    if mode == Mode::Detached {
        announce(&Readiness::Ready(Ready {
            pid: std::process::id(),
            socket: socket.to_owned(),
            already: false,
        }));
    }
    notify_service_manager();
}

/// Writes the one line and closes standard output, so that whoever waits sees the end.
fn announce(readiness: &Readiness) {
    if let Ok(mut line) = serde_json::to_string(readiness) {
        line.push('\n');
        let mut stdout = std::io::stdout().lock();
        // A client that is gone does not need the line.
        drop(stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()));
    }
    #[cfg(unix)]
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

/// `READY=1` for a service manager that waits for it (systemd's `Type=notify`).
#[cfg(unix)]
fn notify_service_manager() {
    use std::os::unix::net::UnixDatagram;
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|path| Path::new(path).is_absolute()) else {
        return;
    };
    if let Ok(datagram) = UnixDatagram::unbound() {
        drop(datagram.send_to(b"READY=1", socket));
    }
}

#[cfg(not(unix))]
fn notify_service_manager() {}

/// Tells the waiting client, leaves a record for later ones, and gives the exit status.
fn fail(mut failure: StartFailure, foreground: bool, endpoint: Option<&Endpoint>) -> ExitCode {
    if foreground {
        say(&format!("gsdd: {failure}"));
    } else {
        announce(&Readiness::Failed(failure.clone()));
    }
    failure.at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // In a folder that is not private there is nobody to leave it for.
    if let Some(endpoint) = endpoint
        && private_dir::check(&endpoint.dir).is_ok()
    {
        drop(leave_record(&endpoint.failure_file(), &failure));
    }
    ExitCode::from(START_FAILED)
}

fn leave_record(path: &Path, failure: &StartFailure) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, failure)?;
    file.persist(path)?;
    Ok(())
}

fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Panics are caught and answered call by call; the log gets their place and not their text, which may quote what a
/// client sent.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
        tracing::error!(place, "panic");
    }));
}
