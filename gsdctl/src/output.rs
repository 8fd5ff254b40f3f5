//! The result on standard output: text for people, or exactly one JSON document.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Map, Value, json};

use gsd_proto::api::Warning;

use crate::args::Global;

/// What a command has to say when it succeeded.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Words of the command, joined: `daemon-status`.
    pub(crate) command: &'static str,
    /// Whether something is different now.
    pub(crate) changed: bool,
    /// The result for programs.
    pub(crate) data: Value,
    /// The result for people; each line is written as it stands.
    pub(crate) text: String,
    /// What did not stop it.
    pub(crate) warnings: Vec<Warning>,
    /// Members beside the documented ones of the envelope.
    pub(crate) extra: Map<String, Value>,
    /// Exit status.
    pub(crate) exit: u8,
    /// The result has been written already, piece by piece.
    pub(crate) streamed: bool,
}

impl Report {
    /// A report whose result has been written already.
    pub(crate) fn streamed() -> Self {
        Self { streamed: true, ..Self::default() }
    }
}

/// Writes a report and gives its exit status.
pub(crate) fn print(global: &Global, report: Report) -> ExitCode {
    let exit = report.exit;
    if report.streamed {
        return ExitCode::from(exit);
    }
    let written = if global.json {
        let mut document = json!({
            "schema": format!("gsd/v1/{}", report.command),
            "ok": true,
            "changed": report.changed,
            "data": report.data,
            "warnings": report.warnings,
            "exit": exit,
        });
        if let Some(members) = document.as_object_mut() {
            members.extend(report.extra);
        }
        line(&document)
    } else {
        for warning in report.warnings.iter().filter(|warning| warning.code != crate::connect::DETOUR) {
            say(&format!("warning: {}", clean(&warning.message)));
        }
        write_all(report.text.as_bytes())
    };
    finish(&written, exit)
}

/// One JSON document on one line of standard output.
pub(crate) fn line(document: &impl Serialize) -> io::Result<()> {
    let mut text = escaped(&serde_json::to_string(document)?);
    text.push('\n');
    write_all(text.as_bytes())
}

/// JSON with every character that could act on a terminal written as an escape: the same value to a program. Outside
/// of strings there are none.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && (c.is_control() || acts_unseen(c)) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Bytes on standard output, all of them, now.
pub(crate) fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Exit status after writing: a reader that went away is not an error worth words.
pub(crate) fn finish(written: &io::Result<()>, exit: u8) -> ExitCode {
    match written {
        Ok(()) => ExitCode::from(exit),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(error) => {
            say(&format!("error[io.failed]: standard output: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error.
pub(crate) fn say(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// `text` without characters that could act on a terminal or reorder what is read.
pub(crate) fn clean(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() || acts_unseen(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

fn acts_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_act_on_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d"), "a\\u{1b}[31mb\\u{a}c\\u{202e}d");
        assert_eq!(clean("grün ✓"), "grün ✓");
    }

    #[test]
    fn a_document_cannot_act_on_the_terminal_and_says_the_same() {
        let value = json!({"a\u{202e}": "x\u{9b}31m\u{7f}\u{e0041}é\n"});
        let text = escaped(&serde_json::to_string(&value).unwrap());
        assert_eq!(text, "{\"a\\u202e\":\"x\\u009b31m\\u007f\\udb40\\udc41é\\n\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
