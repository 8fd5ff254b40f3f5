//! Text that we did not write, made safe to show.
//!
//! Manifests, directory names, file paths and tool output can carry terminal escapes, line breaks that forge
//! extra lines, and characters that reorder what a person reads. Everything that reaches a terminal, a log or a
//! prompt goes through [`shown`] or [`shown_up_to`] (threats T119 to T122, T184).

use std::fmt::Write as _;

/// Longest text that a prompt or message shows of one foreign value, in characters.
pub const MAX_SHOWN: usize = 300;

/// `raw` with every character that could act on a terminal or mislead a reader written as `\u{…}`, cut at
/// [`MAX_SHOWN`] characters.
#[must_use]
pub fn shown(raw: &str) -> String {
    shown_up_to(raw, MAX_SHOWN)
}

/// Like [`shown`] with another bound, in characters; `…` marks the cut.
#[must_use]
pub fn shown_up_to(raw: &str, max_chars: usize) -> String {
    let mut out = String::with_capacity(raw.len().min(max_chars * 4));
    for (count, c) in raw.chars().enumerate() {
        if count == max_chars {
            out.push('…');
            break;
        }
        if is_hostile(c) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character acts on the display instead of being shown: controls (C0, DEL, C1), bidirectional
/// controls, zero-width and invisible characters, line and paragraph separators, tags, private use.
#[must_use]
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
            | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe000..=0xf8ff | 0x1d173..=0x1d17a
            | 0xe0000..=0x10ffff)
}

/// One line for a warning that an agent will read: no control or hostile character, no backtick, white space
/// collapsed, at most 300 UTF-16 units; `None` when nothing is left.
///
/// Source: overlay model, note on #2009 (text from a manifest never becomes an instruction or a command).
#[must_use]
pub fn advisory(raw: &str) -> Option<String> {
    let mut out = String::new();
    let mut units = 0;
    let spaced = raw.chars().map(|c| if is_hostile(c) || c == '`' { ' ' } else { c }).collect::<String>();
    for word in spaced.split_whitespace() {
        let gap = usize::from(!out.is_empty());
        if gap == 1 && units < 300 {
            out.push(' ');
            units += 1;
        }
        for c in word.chars() {
            if units + c.len_utf16() > 300 {
                return Some(out.trim_end().to_owned());
            }
            units += c.len_utf16();
            out.push(c);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// `raw` in POSIX single quotes, so that a shell reads it back as the same text; bare when no quoting is needed.
#[must_use]
pub fn shell_quoted(raw: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"@%+=:,./_-".contains(&b);
    if !raw.is_empty() && raw.bytes().all(plain) { raw.to_owned() } else { always_shell_quoted(raw) }
}

/// `raw` in POSIX single quotes, always.
#[must_use]
pub fn always_shell_quoted(raw: &str) -> String {
    format!("'{}'", raw.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_reordering_are_visible() {
        assert_eq!(shown("Stop\u{1b}[2K\u{1b}[1A"), r"Stop\u{1b}[2K\u{1b}[1A");
        assert_eq!(shown("a\nb\u{202e}c\u{200b}"), r"a\u{a}b\u{202e}c\u{200b}");
        assert_eq!(shown("café 数 ok"), "café 数 ok");
        assert_eq!(shown_up_to("abcdef", 3), "abc…");
    }

    #[test]
    fn advisories_are_one_plain_line() {
        assert_eq!(advisory("a\n`rm -rf`\t b\u{9b}").unwrap(), "a rm -rf b");
        assert_eq!(advisory(" \n `` "), None);
        assert_eq!(advisory(&"x".repeat(400)).unwrap().len(), 300);
        assert_eq!(advisory(&"𝕏".repeat(400)).unwrap().chars().count(), 150);
    }

    #[test]
    fn quoting_survives_a_shell() {
        assert_eq!(shell_quoted("/a/b-c.sh"), "/a/b-c.sh");
        assert_eq!(shell_quoted("o'neil $HOME"), r"'o'\''neil $HOME'");
        assert_eq!(shell_quoted(""), "''");
    }
}
