//! What a stream that a person may be reading can show: colour, and how wide.
//!
//! Source: interface section 5. Colour never carries meaning alone.

use std::io::{IsTerminal as _, stderr, stdout};

use crate::args::{Color, Global};

/// A narrower terminal is not worth wrapping for.
const NARROWEST: usize = 40;

/// What a part of a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Wants to be read before anything else.
    Alarm,
    /// Wants to be read.
    Notice,
    /// Structure.
    Heading,
}

impl Tone {
    fn codes(self) -> &'static str {
        match self {
            Self::Alarm => "\x1b[1;31m",
            Self::Notice => "\x1b[33m",
            Self::Heading => "\x1b[1m",
        }
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    colour: bool,
    /// Columns, on a terminal.
    width: Option<usize>,
}

impl Screen {
    /// Standard error, where people are asked.
    pub(crate) fn of_stderr(global: &Global) -> Self {
        Self::new(global, stderr().is_terminal(), columns(&stderr()))
    }

    /// Standard output, where results go.
    pub(crate) fn of_stdout(global: &Global) -> Self {
        Self::new(global, stdout().is_terminal(), columns(&stdout()))
    }

    fn new(global: &Global, is_terminal: bool, columns: Option<usize>) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let colour = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("CLICOLOR_FORCE") || set("FORCE_COLOR") => true,
            Color::Auto => {
                is_terminal && !dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self { colour, width: columns.filter(|width| is_terminal && *width >= NARROWEST) }
    }

    /// `text` in a tone.
    pub(crate) fn toned(self, tone: Tone, text: &str) -> String {
        if self.colour { format!("{}{text}\x1b[0m", tone.codes()) } else { text.to_owned() }
    }

    /// `text` as one item below a heading: two columns in, what does not fit four.
    pub(crate) fn item(self, text: &str) -> String {
        let Some(width) = self.width else { return format!("  {text}") };
        let options = textwrap::Options::new(width)
            .initial_indent("  ")
            .subsequent_indent("    ")
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(text, options)
    }
}

#[cfg(unix)]
fn columns(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn columns<T>(_: &T) -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_on_further_in_and_no_word_is_lost() {
        let screen = Screen { colour: false, width: Some(40) };
        let text =
            "MCP server \"db\" starts \"node\" \"server/with/a/very/long/path/that/does/not/fit.js\" ok";
        let wrapped = screen.item(text);
        for (at, line) in wrapped.lines().enumerate() {
            assert!(line.chars().count() <= 40, "{line}");
            assert!(line.starts_with(if at == 0 { "  M" } else { "    " }), "{line:?}");
        }
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&wrapped), bare(text));
        assert_eq!(Screen { colour: false, width: None }.item(text), format!("  {text}"));
    }

    #[test]
    fn colour_ends_where_it_began() {
        let screen = Screen { colour: true, width: None };
        assert_eq!(screen.toned(Tone::Alarm, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Screen { colour: false, width: None }.toned(Tone::Alarm, "x"), "x");
    }
}
