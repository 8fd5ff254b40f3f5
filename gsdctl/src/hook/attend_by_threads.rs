//! Attending to a script where pipes cannot be waited for together: one thread for each.

use std::io::{Read, Write as _};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::script::{Ended, MAX_STDERR, MAX_STDOUT, STRAGGLERS};

/// Feeds the child, drains it, and ends it at its time limit.
pub(super) fn attend(mut child: Child, input: &[u8], limit: Duration) -> Ended {
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

fn drain(pipe: Option<impl Read + Send + 'static>, limit: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            drop(pipe.by_ref().take(limit as u64).read_to_end(&mut kept));
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

fn kill(pid: u32) {
    drop(Command::new("taskkill").args(["/F", "/T", "/PID", &pid.to_string()]).status());
}
