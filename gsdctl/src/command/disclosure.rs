//! What a person is shown before they agree: who, what runs, what instructs, what changed, where it is written.

use std::fmt::Write as _;

use gsd_proto::api::capability::{Differences, DisclosureLine, NotWired, PlanLine, StageResult};

use crate::args::Global;
use crate::output::{clean, say};
use crate::screen::{Screen, Tone};

/// Lines of a difference that are printed for one file.
const SHOWN_DIFF: usize = 60;
/// Names of other files that differ.
const SHOWN_OTHERS: usize = 20;

/// The disclosure, on standard error: who, what runs, what instructs, where it is written, which digest.
pub(super) fn show(global: &Global, staged: &StageResult) {
    let screen = Screen::of_stderr(global);
    let mut text = format!("{} {} — {}\n", clean(&staged.id), clean(&staged.version), clean(&staged.title));
    let _ = writeln!(text, "  from     {}", clean(&staged.source));
    if let Some(commit) = &staged.commit {
        let _ = writeln!(text, "  commit   {}", clean(commit));
    }
    if let Some(archive) = &staged.archive {
        // Nobody else has promised which bytes are behind a name that can get others.
        let pin = if staged.pinned { "as pinned" } else { "not pinned; --integrity pins it" };
        let _ = writeln!(text, "  archive  {} ({pin})", clean(archive));
    }
    if let Some(version) = &staged.installed_version {
        let _ = writeln!(text, "  replaces {}", clean(version));
    }
    let _ = writeln!(text, "  scope    {} ({})", staged.scope, clean(&staged.root.display().to_string()));
    let _ = writeln!(text, "  digest   {}", staged.consent_digest);
    groups(&mut text, screen, &staged.disclosure, staged.tokens);
    if !staged.wired.is_empty() {
        let _ = writeln!(text, "It would be wired: {}", clean(&staged.wired.join(", ")));
    }
    not_wired(&mut text, &staged.not_wired);
    if let Some(differs) = &staged.differs {
        differences(&mut text, differs);
    }
    for warning in &staged.warnings {
        let _ = writeln!(text, "NOTE: {}", clean(&warning.message));
    }
    for reason in &staged.reasons {
        let reason = format!("You are asked again because {}.", clean(reason));
        let _ = writeln!(text, "{}", screen.toned(Tone::Notice, &reason));
    }
    for line in text.lines() {
        say(line);
    }
}

/// What runs, what instructs, and the rest, each under its heading.
pub(super) fn groups(text: &mut String, screen: Screen, lines: &[DisclosureLine], tokens: u64) {
    let reading = match tokens {
        0 => String::new(),
        tokens => format!("; up to {tokens} tokens of its context, roughly"),
    };
    for (group, tone, heading) in [
        ("summary", Tone::Heading, String::new()),
        (
            "executable",
            Tone::Alarm,
            "It can RUN on this machine, with your rights (there is no sandbox):".to_owned(),
        ),
        (
            "instructing",
            Tone::Notice,
            format!("It INSTRUCTS your agent (trusted as it is, not scanned{reading}):"),
        ),
        ("inert", Tone::Heading, "It also has, without effect of its own:".to_owned()),
    ] {
        let mut of_group = lines.iter().filter(|line| line.group == group).peekable();
        if of_group.peek().is_some() && !heading.is_empty() {
            let _ = writeln!(text, "{}", screen.toned(tone, &heading));
        }
        for line in of_group {
            let _ = writeln!(text, "{}", screen.item(&clean(&line.text)));
        }
    }
}

/// What changed since the person agreed: surfaces, files that run, files that instruct, and the names of the rest.
fn differences(text: &mut String, differs: &Differences) {
    text.push_str("What changed since it was agreed to:\n");
    for line in &differs.surfaces {
        let _ = writeln!(text, "  {}", clean(line));
    }
    for (heading, files) in [
        ("Files that can run:", &differs.executable),
        ("Files that instruct the agent:", &differs.instructing),
    ] {
        if !files.is_empty() {
            let _ = writeln!(text, "{heading}");
        }
        for file in files {
            let _ = writeln!(text, "  {} {}", clean(&file.change), clean(&file.path));
            diff_lines(text, file.diff.as_deref().unwrap_or("the right to execute it\n"));
        }
    }
    let others: Vec<String> = differs
        .other
        .iter()
        .take(SHOWN_OTHERS)
        .map(|file| format!("{} {}", clean(&file.change), clean(&file.path)))
        .collect();
    if !others.is_empty() {
        let more = match differs.other.len() - others.len() {
            0 => String::new(),
            more => format!(" … and {more} more (--json has them)"),
        };
        let _ = writeln!(text, "Other files: {}{more}", others.join(", "));
    }
}

/// A difference, cut where it would hide what stands above it.
pub(super) fn diff_lines(text: &mut String, diff: &str) {
    let mut lines = diff.lines();
    for line in lines.by_ref().take(SHOWN_DIFF) {
        let _ = writeln!(text, "      {}", clean(line));
    }
    let rest = lines.count();
    if rest > 0 {
        let _ = writeln!(text, "      … and {rest} more lines (--dry-run --json has them)");
    }
}

pub(super) fn changes(text: &mut String, lines: &[PlanLine]) {
    for (at, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "  {:>2}. {}", at + 1, clean(&line.text));
        if let Some(diff) = &line.diff {
            diff_lines(text, diff);
        }
    }
}

pub(super) fn not_wired(text: &mut String, rows: &[NotWired]) {
    for row in rows {
        let _ = writeln!(text, "NOT wired: {} ({})", clean(&row.surface), clean(&row.reason));
    }
}
