//! Times of whole processes, and what they come to.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Doing as _, Failure, Outcome};

/// Times of one thing, sorted.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    /// Sorts what was measured.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// The one in the middle, in microseconds.
    pub(super) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The one that 99 of 100 do not exceed, in microseconds.
    pub(super) fn p99(&self) -> f64 {
        self.at(0.99)
    }

    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index of a list of a few hundred"
        )]
        let index = (last as f64 * share).round() as usize;
        self.0.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }
}

/// Runs a command to its end as a host runs a hook: the payload on standard input, the answer read. Gives the time from
/// before the start to after the end, and the answer.
pub(super) fn whole_process(command: &mut Command, input: &[u8]) -> Outcome<(Duration, String)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn().doing("starting a program to be measured")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that is gone before it has read all is measured as well as any.
        let _ = stdin.write_all(input);
    }
    let mut answer = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut answer).doing("reading what a measured program prints")?;
    }
    let status = child.wait().doing("waiting for a program to be measured")?;
    let time = begun.elapsed();
    if !status.success() {
        return Err(Failure::new(format!("{command:?} ended with {status}")));
    }
    Ok((time, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_and_tail_are_found() {
        let times = Times::of((1..=101).rev().map(Duration::from_micros).collect());
        assert!((times.median() - 51.0).abs() < 1e-6);
        assert!((times.p99() - 100.0).abs() < 1e-6);
        assert!(Times::default().median().is_nan());
    }
}
