//! A walk that is shown while it happens: commands, what they printed, and what was checked.

use std::fmt::Display;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Doing as _, Failure, Outcome};

/// The walk so far.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    steps: usize,
    held: usize,
    broken: Vec<String>,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit status; -1 after a signal.
    pub(crate) exit: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Ran {
    /// Standard output as one JSON document; `Null` when it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }
}

/// How much of what a command prints is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Show {
    /// All of it.
    All,
    /// The first lines.
    Lines(usize),
}

impl Transcript {
    /// Begins a step.
    pub(crate) fn step(&mut self, title: &str) {
        self.steps += 1;
        println!("\n== {}. {title}", self.steps);
    }

    /// Says something about what follows.
    pub(crate) fn note(&self, text: impl Display) {
        for line in text.to_string().lines() {
            println!("   {line}");
        }
    }

    /// Runs a command, shows it as `shown`, and shows what it printed.
    pub(crate) fn run(&mut self, shown: &str, command: Command, input: &[u8], show: Show) -> Outcome<Ran> {
        println!("$ {shown}");
        let ran = run(command, input)?;
        for text in [&ran.stdout, &ran.stderr] {
            print_text(text, show);
        }
        println!("[exit status {}]", ran.exit);
        Ok(ran)
    }

    /// Checks something and says so.
    pub(crate) fn check(&mut self, holds: bool, what: impl Display) {
        if holds {
            self.held += 1;
            println!("   ok: {what}");
        } else {
            self.broken.push(what.to_string());
            println!("   NOT SO: {what}");
        }
    }

    /// The end of the walk: an error when anything was not as it should be.
    pub(crate) fn finish(&self) -> Outcome {
        if self.broken.is_empty() {
            println!("\nAll {} checks in {} steps hold.", self.held, self.steps);
            return Ok(());
        }
        let broken = self.broken.join("\n  - ");
        Err(Failure::new(format!(
            "{} of {} checks:\n  - {broken}",
            self.broken.len(),
            self.held + self.broken.len()
        )))
    }
}

/// Runs a command to its end with `input` on its standard input.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Outcome<Ran> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing(format!("starting {name}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is free to leave it. Inputs here fit into a pipe.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().doing(format!("waiting for {name}"))?;
    Ok(Ran {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn print_text(text: &str, show: Show) {
    let total = text.lines().count();
    let shown = match show {
        Show::All => total,
        Show::Lines(most) => most.min(total),
    };
    for line in text.lines().take(shown) {
        println!("  {line}");
    }
    if shown < total {
        println!("  … {} more lines", total - shown);
    }
}
