//! Running the consented scripts with the host's input.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use gsd_proto::api::hook::{Run, Script};

use super::attend::attend;

/// Most that is kept of a script's standard output, in bytes.
pub(super) const MAX_STDOUT: usize = 1024 * 1024;
/// Most that is kept of its standard error, in bytes.
pub(super) const MAX_STDERR: usize = 64 * 1024;
/// How long a child that stays behind may keep the pipes open.
pub(super) const STRAGGLERS: Duration = Duration::from_millis(500);

/// How a script that was attended to ended.
pub(super) struct Ended {
    pub(super) status: std::io::Result<ExitStatus>,
    pub(super) timed_out: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

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
        assert_eq!((runs[0].exit, runs[0].stdout.as_str()), (Some(0), "done\n"));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_child_that_stays_behind_with_the_input_does_not_hold_the_call_either() {
        let begun = Instant::now();
        let runs = run_all(&[sh("exec 3<&0; sleep 30 <&3 & exit 2")], &vec![b'x'; 1024 * 1024]);
        assert_eq!(runs[0].exit, Some(2));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_script_that_closes_its_outputs_still_gets_all_input_and_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let script = sh(&format!("exec >&- 2>&-; cat > {}; exit 3", kept.display()));
        let runs = run_all(&[script], &vec![b'x'; 1024 * 1024]);
        assert_eq!(runs[0].exit, Some(3));
        assert_eq!(kept.metadata().unwrap().len(), 1024 * 1024);
        let runs = run_all(&[Script { timeout_ms: 50, ..sh("exec >&- 2>&-; exec sleep 60") }], b"");
        assert!(runs[0].timed_out);
    }

    #[test]
    fn a_missing_program_is_named() {
        let script = Script { argv: vec!["/nonexistent/x".into()], ..sh("") };
        assert!(run_all(&[script], b"")[0].not_started.as_ref().unwrap().contains("/nonexistent/x"));
    }
}
