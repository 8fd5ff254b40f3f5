//! The tokens of JSON text, read one after another.

use serde_json::{Number, Value};

use super::MAX_DEPTH;

/// What is wrong at a byte offset.
#[derive(Debug)]
pub(super) struct Fault {
    /// Rule id.
    pub(super) rule: &'static str,
    /// Byte offset into the text.
    pub(super) at: usize,
    /// The fact.
    pub(super) message: &'static str,
}

/// A place in the text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    values_left: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, values_left: usize::MAX }
    }

    /// Bounds the number of values that may still be read: each costs many times its text in memory.
    pub(super) fn limit_values(&mut self, count: usize) {
        self.values_left = count;
    }

    /// Counts one value.
    pub(super) fn count_value(&mut self) -> Result<(), Fault> {
        match self.values_left.checked_sub(1) {
            Some(left) => {
                self.values_left = left;
                Ok(())
            }
            None => self.fault("the document has too many values"),
        }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn fault<T>(&self, message: &'static str) -> Result<T, Fault> {
        Err(Fault { rule: "parse.json", at: self.at, message })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// First byte of the next token.
    pub(super) fn peek_token(&mut self) -> Result<u8, Fault> {
        self.skip_blanks();
        match self.peek() {
            Some(byte) => Ok(byte),
            None => self.fault("the text ends where a value should stand"),
        }
    }

    /// Checks that nothing but blanks follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        if self.at == self.bytes.len() { Ok(()) } else { self.fault("there is text after the document") }
    }

    /// Steps over an opening bracket that makes `depth` containers.
    pub(super) fn open(&mut self, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return self.fault("the values are nested deeper than 64 levels");
        }
        self.at += 1;
        Ok(())
    }

    /// Steps over the closing bracket when it stands right here.
    pub(super) fn close(&mut self, bracket: u8) -> Result<bool, Fault> {
        let closed = self.peek_token()? == bracket;
        if closed {
            self.at += 1;
        }
        Ok(closed)
    }

    /// Steps over a comma (there is more) or the closing bracket (there is not).
    pub(super) fn more(&mut self, bracket: u8) -> Result<bool, Fault> {
        match self.peek_token()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == bracket => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fault("a comma or a closing bracket should stand here"),
        }
    }

    /// Reads a key and its colon.
    pub(super) fn key(&mut self) -> Result<String, Fault> {
        if self.peek_token()? != b'"' {
            return self.fault("a key in double quotes should stand here");
        }
        let key = self.string()?;
        if self.peek_token()? != b':' {
            return self.fault("a colon should stand here");
        }
        self.at += 1;
        Ok(key)
    }

    /// Reads `true`, `false`, `null` or a number.
    pub(super) fn scalar(&mut self) -> Result<Value, Fault> {
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
                self.at += word.len();
                return Ok(value);
            }
        }
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fault("this is not a JSON value"),
        }
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.fault("a digit should stand here") } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        if integer && literal != "-0" {
            if let Ok(whole) = literal.parse::<u64>() {
                return Ok(Value::Number(whole.into()));
            }
            if let Ok(whole) = literal.parse::<i64>() {
                return Ok(Value::Number(whole.into()));
            }
        }
        match literal.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(Fault { rule: "parse.json", at: start, message: "the number is out of range" }),
        }
    }

    /// Reads a string; the cursor stands on the opening quote.
    pub(super) fn string(&mut self) -> Result<String, Fault> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return self.fault("a control character stands in a string"),
                None => return self.fault("the text ends inside a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return self.fault("this escape does not exist"),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Reads `uXXXX`, and a second escape when the first is the high half of a pair.
    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.hex_unit()?;
        if let Some(c) = char::from_u32(u32::from(first)) {
            return Ok(c);
        }
        let pair = self.bytes.get(self.at..self.at + 2) == Some(b"\\u");
        if pair && first < 0xdc00 {
            self.at += 1;
            let second = self.hex_unit()?;
            if let Some(Ok(c)) = char::decode_utf16([first, second]).next() {
                return Ok(c);
            }
        }
        self.fault("half of a surrogate pair stands alone")
    }

    fn hex_unit(&mut self) -> Result<u16, Fault> {
        let digits =
            self.text.get(self.at + 1..self.at + 5).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at += 5;
                Ok(unit)
            }
            None => self.fault("four hexadecimal digits should follow"),
        }
    }
}
