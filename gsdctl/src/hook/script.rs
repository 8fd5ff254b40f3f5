//! Running the consented scripts with the host's input.

use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use gsd_proto::api::hook::{Run, Script};

/// Most that is kept of a script's standard output, in bytes.
const MAX_STDOUT: u64 = 1024 * 1024;
/// Most that is kept of its standard error, in bytes.
const MAX_STDERR: u64 = 64 * 1024;
/// How long a child that stays behind may keep the pipes open.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// Runs all of them at the same time; the results are in their order.
pub(super) fn run_all(scripts: &[Script], input: &[u8]) -> Vec<Run> {
    match scripts {
        [one] => vec![run(one, input)],
        many => std::thread::scope(|scope| {
            let running: Vec<_> = many.iter().map(|script| scope.spawn(move || run(script, input))).collect();
            running
                .into_iter()
                .zip(many)
                .map(|(thread, script)| {
                    thread.join().unwrap_or_else(|_| not_started(script, "internal fault"))
                })
                .collect()
        }),
    }
}

fn run(script: &Script, input: &[u8]) -> Run {
    let begun = Instant::now();
    let Some((program, arguments)) = script.argv.split_first() else {
        return not_started(script, "nothing to run");
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(&script.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if script.cwd.is_dir() {
        command.current_dir(&script.cwd);
    }
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_started(script, &format!("{program}: {error}")),
    };
    let ended = attend(child, input, Duration::from_millis(script.timeout_ms));
    let mut run = Run {
        capability: script.capability.clone(),
        script: script.script.clone(),
        timed_out: ended.timed_out,
        stdout: ended.stdout,
        stderr: ended.stderr,
        duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        ..Run::default()
    };
    match ended.status {
        Ok(status) => {
            run.exit = status.code();
            run.signal = signal(status);
        }
        Err(error) => run.not_started = Some(error.to_string()),
    }
    run
}

fn not_started(script: &Script, why: &str) -> Run {
    Run {
        capability: script.capability.clone(),
        script: script.script.clone(),
        not_started: Some(why.to_owned()),
        ..Run::default()
    }
}

struct Ended {
    status: std::io::Result<ExitStatus>,
    timed_out: bool,
    stdout: String,
    stderr: String,
}

/// Feeds the child, drains it, and ends it at its time limit.
fn attend(mut child: Child, input: &[u8], limit: Duration) -> Ended {
    let stdout = drain(child.stdout.take(), MAX_STDOUT);
    let stderr = drain(child.stderr.take(), MAX_STDERR);
    let stdin = child.stdin.take();
    let pid = child.id();
    let (ended, watching) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let timed_out = watching.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if timed_out {
            kill(pid);
        }
        timed_out
    });
    let status = std::thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            if input.len() <= 4096 {
                // Fits into any pipe, so it can't block. A script that does not read is fine.
                drop(stdin.write_all(input));
            } else {
                scope.spawn(move || drop(stdin.write_all(input)));
            }
        }
        child.wait()
    });
    drop(ended);
    let timed_out = watch.join().unwrap_or(false);
    Ended { status, timed_out, stdout: collect(&stdout), stderr: collect(&stderr) }
}

fn drain(pipe: Option<impl Read + Send + 'static>, limit: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            drop(pipe.by_ref().take(limit).read_to_end(&mut kept));
            drop(sender.send(kept));
            // The rest is read and forgotten, so that the script does not block.
            drop(std::io::copy(&mut pipe, &mut std::io::sink()));
        });
    }
    receiver
}

fn collect(received: &Receiver<Vec<u8>>) -> String {
    String::from_utf8_lossy(&received.recv_timeout(STRAGGLERS).unwrap_or_default()).into_owned()
}

#[cfg(unix)]
fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(pid: u32) {
    drop(Command::new("taskkill").args(["/F", "/T", "/PID", &pid.to_string()]).status());
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str) -> Script {
        Script {
            capability: "acme".into(),
            script: "h.sh".into(),
            argv: vec!["/bin/sh".into(), "-c".into(), text.into()],
            timeout_ms: 5000,
            ..Script::default()
        }
    }

    #[test]
    fn input_output_and_status_come_through() {
        let runs = run_all(&[sh("cat; echo no >&2; exit 2")], b"hello");
        assert_eq!(
            (runs[0].exit, runs[0].stdout.as_str(), runs[0].stderr.as_str()),
            (Some(2), "hello", "no\n")
        );
    }

    #[test]
    fn a_large_input_does_not_block_on_a_script_that_writes() {
        let input = vec![b'x'; 8 * 1024 * 1024];
        let runs = run_all(&[sh("cat"), sh("exit 0"), sh("head -c 100000 /dev/zero")], &input);
        assert_eq!(runs[0].stdout.len(), 1024 * 1024);
        assert_eq!(runs[1].exit, Some(0));
        assert_eq!(runs[2].exit, Some(0));
    }

    #[test]
    fn a_script_is_ended_at_its_limit() {
        let runs = run_all(&[Script { timeout_ms: 50, ..sh("exec sleep 60") }], b"");
        assert!(runs[0].timed_out);
        assert!(runs[0].duration_us < 10_000_000);
    }

    #[test]
    fn a_child_that_stays_behind_does_not_hold_the_call() {
        let begun = Instant::now();
        let runs = run_all(&[sh("sleep 30 & echo done")], b"");
        assert_eq!(runs[0].exit, Some(0));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_missing_program_is_named() {
        let script = Script { argv: vec!["/nonexistent/x".into()], ..sh("") };
        assert!(run_all(&[script], b"")[0].not_started.as_ref().unwrap().contains("/nonexistent/x"));
    }
}
