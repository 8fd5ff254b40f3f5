//! Text to a tree with positions. Exactly JSON, or JSON with comments and trailing commas; nothing looser, so that
//! what passes here is what a host of that dialect reads.

use std::ops::Range;

use super::Dialect;
use super::refusal::{EditRefusal, EditRefusalKind};
use super::tree::{Document, Node, NodeKind, Part};

/// Deepest nesting of a settings file.
pub(super) const MAX_DEPTH: usize = 128;

/// Parses a text without byte order mark.
pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Document, EditRefusal> {
    let mut parser = Parser { text, at: 0, dialect, comments: Vec::new() };
    let document = parser.document();
    document.map_err(|(offset, message)| EditRefusal::at(text, offset, EditRefusalKind::Syntax, message, ""))
}

/// Offset and message.
type Problem = (usize, &'static str);

struct Parser<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
    comments: Vec<Range<usize>>,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Document, Problem> {
        self.trivia()?;
        if self.at == self.text.len() {
            return Err((self.at, "the file is empty"));
        }
        let root = self.value(0)?;
        self.trivia()?;
        if self.at < self.text.len() {
            return Err((self.at, "there is text after the end of the document"));
        }
        Ok(Document { root, comments: std::mem::take(&mut self.comments) })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips white space and comments.
    fn trivia(&mut self) -> Result<(), Problem> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let start = self.at;
            let length = if self.rest().starts_with("//") {
                self.rest().find(['\n', '\r']).unwrap_or(self.rest().len())
            } else if self.rest().starts_with("/*") {
                let inner = self.rest().get(2..).unwrap_or_default();
                4 + inner.find("*/").ok_or((start, "this comment does not end"))?
            } else {
                return Ok(());
            };
            if self.dialect == Dialect::StrictJson {
                return Err((start, "comments are not allowed in this file"));
            }
            self.at += length;
            self.comments.push(start..self.at);
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Problem> {
        if depth >= MAX_DEPTH {
            return Err((self.at, "it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => NodeKind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", NodeKind::Bool(true))?,
            Some(b'f') => self.word("false", NodeKind::Bool(false))?,
            Some(b'n') => self.word("null", NodeKind::Null)?,
            Some(_) => return Err((start, "a value is expected here")),
            None => return Err((start, "the file ends before a value")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<NodeKind, Problem> {
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            self.trivia()?;
            if self.closes(b'}', &parts)? {
                return Ok(NodeKind::Object(parts));
            }
            let start = self.at;
            match self.peek() {
                Some(b'"') => {}
                Some(_) => return Err((start, "a key in double quotes is expected here")),
                None => return Err((start, "the file ends inside an object")),
            }
            let key = self.string()?;
            self.trivia()?;
            if !self.take(b':') {
                return Err((self.at, "a colon is expected here"));
            }
            self.trivia()?;
            let value = self.value(depth + 1)?;
            let comma = self.comma(b'}', "a comma or the end of the object is expected here")?;
            parts.push(Part { key, start, value, comma });
        }
    }

    fn array(&mut self, depth: usize) -> Result<NodeKind, Problem> {
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            self.trivia()?;
            if self.closes(b']', &parts)? {
                return Ok(NodeKind::Array(parts));
            }
            let start = self.at;
            let value = self.value(depth + 1)?;
            let comma = self.comma(b']', "a comma or the end of the list is expected here")?;
            parts.push(Part { key: String::new(), start, value, comma });
        }
    }

    /// Takes the closing bracket if it is here; refuses one after a comma where that is not allowed.
    fn closes(&mut self, bracket: u8, parts: &[Part]) -> Result<bool, Problem> {
        if self.peek() != Some(bracket) {
            return Ok(false);
        }
        if let Some(comma) = parts.last().and_then(|last| last.comma)
            && self.dialect == Dialect::StrictJson
        {
            return Err((comma, "a trailing comma is not allowed in this file"));
        }
        self.at += 1;
        Ok(true)
    }

    /// Takes the comma behind a part; without one the closing bracket must follow.
    fn comma(&mut self, bracket: u8, message: &'static str) -> Result<Option<usize>, Problem> {
        self.trivia()?;
        let at = self.at;
        if self.take(b',') {
            Ok(Some(at))
        } else if self.peek() == Some(bracket) {
            Ok(None)
        } else {
            Err((at, message))
        }
    }

    fn word(&mut self, word: &str, kind: NodeKind) -> Result<NodeKind, Problem> {
        let goes_on = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let ends = !self.rest().as_bytes().get(word.len()).is_some_and(goes_on);
        if self.rest().starts_with(word) && ends {
            self.at += word.len();
            Ok(kind)
        } else {
            Err((self.at, "a value is expected here"))
        }
    }

    fn number(&mut self) -> Result<NodeKind, Problem> {
        let start = self.at;
        let malformed = (start, "this is not a number");
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(malformed);
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(malformed);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(malformed);
            }
        }
        if self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_') {
            return Err(malformed);
        }
        Ok(NodeKind::Number)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// Reads a string; a surrogate without its partner, which JavaScript tolerates, reads as U+FFFD.
    fn string(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.at += 1;
        let mut units: Vec<u16> = Vec::new();
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err((start, "this text does not end"));
            };
            if c == '\\' {
                units.push(0);
                let escape = self.escape()?;
                if let Some(last) = units.last_mut() {
                    *last = escape;
                }
                continue;
            }
            flush(&mut units, &mut out);
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(out);
                }
                '\n' | '\r' => return Err((start, "this text does not end on its line")),
                c if c < ' ' => return Err((self.at, "a control character must be written as an escape")),
                c => out.push(c),
            }
            self.at += c.len_utf8();
        }
    }

    fn escape(&mut self) -> Result<u16, Problem> {
        let start = self.at;
        let malformed = (start, "this escape is not allowed");
        let kind = self.text.as_bytes().get(start + 1).copied();
        self.at += 2;
        Ok(match kind {
            Some(plain @ (b'"' | b'\\' | b'/')) => u16::from(plain),
            Some(b'b') => 0x8,
            Some(b'f') => 0xc,
            Some(b'n') => 0xa,
            Some(b'r') => 0xd,
            Some(b't') => 0x9,
            Some(b'u') => {
                let digits = self.text.get(start + 2..start + 6).ok_or(malformed)?;
                if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err(malformed);
                }
                self.at = start + 6;
                u16::from_str_radix(digits, 16).map_err(|_| malformed)?
            }
            _ => return Err(malformed),
        })
    }
}

fn flush(units: &mut Vec<u16>, out: &mut String) {
    if !units.is_empty() {
        out.extend(
            char::decode_utf16(units.drain(..)).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::projection::edit::read;

    #[track_caller]
    fn refused(text: &str, dialect: Dialect, line: usize, column: usize) {
        let refusal = read(text.as_bytes(), dialect).unwrap_err();
        assert_eq!((refusal.line, refusal.column), (line, column), "{text:?}: {refusal}");
    }

    #[test]
    fn refusals_say_where() {
        refused("{\n  \"model\": \"opus\"\n  \"theme\": \"dark\"\n}\n", Dialect::Jsonc, 3, 3);
        refused("{\"a\":1,}", Dialect::StrictJson, 1, 7);
        refused("{\r\n// x\r\n}", Dialect::StrictJson, 2, 1);
        refused("", Dialect::Jsonc, 1, 1);
        refused("{\"a\": tru}", Dialect::Jsonc, 1, 7);
        refused("{\"a\": 01}", Dialect::Jsonc, 1, 7);
        refused("{\"a\": \"x\ny\"}", Dialect::Jsonc, 1, 7);
        refused("{} {}", Dialect::Jsonc, 1, 4);
        refused("{,}", Dialect::Jsonc, 1, 2);
        refused("[1,,2]", Dialect::Jsonc, 1, 4);
        refused("{'a':1}", Dialect::Jsonc, 1, 2);
        refused("{\"a\" /* ", Dialect::Jsonc, 1, 6);
        assert_eq!(read(b"{\"a\xff\"}", Dialect::Jsonc).unwrap_err().column, 4);
    }

    #[test]
    fn a_byte_order_mark_and_comments_are_read() {
        let value = read("\u{feff}{ // c\n \"a\": [1, /* x */ 2,], }".as_bytes(), Dialect::Jsonc).unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, 2]}));
        assert_eq!(read("\u{feff}{}".as_bytes(), Dialect::StrictJson).unwrap(), serde_json::json!({}));
        assert_eq!(
            read(br#""\ud800x\ud83d\ude00""#, Dialect::StrictJson).unwrap(),
            Value::from("\u{fffd}x😀")
        );
    }

    #[test]
    fn t49_deep_nesting_is_refused() {
        let deep = "[".repeat(100_000);
        assert_eq!(read(deep.as_bytes(), Dialect::Jsonc).unwrap_err().message, "it is nested too deeply");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The strict dialect is JSON: what the JSON library accepts is accepted with the same value, and vice versa.
        #[test]
        fn strict_agrees_with_the_json_library(text in r#"[\[\]{}",:a0-9eE.+\\untrlfs \n-]{0,14}"#) {
            let ours = read(text.as_bytes(), Dialect::StrictJson);
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => prop_assert_eq!(ours.unwrap(), value),
                // Out-of-range numbers and lone surrogates are JSON that the library can't hold.
                Err(error) => prop_assert!(
                    ours.is_err() || error.to_string().contains("range") || error.to_string().contains("surrogate")
                        || error.to_string().contains("hex escape")
                ),
            }
        }

        /// No bytes make the parser panic.
        #[test]
        fn arbitrary_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for dialect in [Dialect::StrictJson, Dialect::Jsonc] {
                if let Err(refusal) = read(&bytes, dialect) {
                    prop_assert!(refusal.line >= 1 && refusal.column >= 1);
                }
            }
        }
    }
}
