//! Where one message ends and the next begins, without any input or output of its own.
//!
//! One JSON document a line is the contract. A connection whose first non-blank byte is `C` or `c` speaks
//! `Content-Length` headers instead, as editor libraries do, and is answered in the same way. A frame longer than the
//! limit is skipped, never stored: the reader learns that it was there and goes on with the next one (threat T175).

/// Longest block of headers before one message, in bytes.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;

/// How messages are delimited on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// One document a line.
    #[default]
    Lines,
    /// `Content-Length: n`, an empty line, n bytes.
    Headers,
}

/// What was found in the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The bytes of one message.
    Message(Vec<u8>),
    /// A message longer than the limit went by; nothing of it was kept.
    TooLong,
}

/// The stream cannot be followed any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Headers without a usable `Content-Length`.
    #[error("the headers have no usable Content-Length")]
    BadHeader,
    /// Headers that do not end.
    #[error("the headers are longer than {MAX_HEADER_BYTES} bytes")]
    HeadersTooLong,
}

/// Cuts a stream of bytes into frames.
///
/// Feed it with [`Decoder::push`], then call [`Decoder::next_frame`] until it returns `None`. As long as that is
/// kept, it holds at most one frame below the limit and what was pushed last.
#[derive(Debug)]
pub struct Decoder {
    max: usize,
    framing: Option<Framing>,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were already handed out.
    taken: usize,
    /// Bytes after `taken` in which no line end was found.
    scanned: usize,
    skipping: Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skip {
    No,
    /// Drop everything up to the next line end.
    Line,
    /// Drop this many bytes.
    Bytes(u64),
}

impl Decoder {
    /// A decoder that accepts frames up to `max` bytes and finds out the framing by itself.
    #[must_use]
    pub const fn new(max: usize) -> Self {
        Self { max, framing: None, buffer: Vec::new(), taken: 0, scanned: 0, skipping: Skip::No }
    }

    /// A decoder for a framing that is known.
    #[must_use]
    pub const fn with_framing(max: usize, framing: Framing) -> Self {
        let mut decoder = Self::new(max);
        decoder.framing = Some(framing);
        decoder
    }

    /// The framing, once the first byte has been seen; lines before that.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing.unwrap_or_default()
    }

    /// Whether a frame has begun and not ended.
    #[must_use]
    pub fn is_inside_frame(&self) -> bool {
        self.skipping != Skip::No || self.pending().iter().any(|byte| !byte.is_ascii_whitespace())
    }

    /// Takes bytes from the stream.
    pub fn push(&mut self, mut bytes: &[u8]) {
        // What is being skipped is not stored first.
        match &mut self.skipping {
            Skip::No => {}
            Skip::Line => match bytes.iter().position(|&byte| byte == b'\n') {
                Some(end) => {
                    bytes = &bytes[end + 1..];
                    self.skipping = Skip::No;
                }
                None => return,
            },
            Skip::Bytes(left) => {
                let step = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                bytes = &bytes[step..];
                *left -= step as u64;
                if *left == 0 {
                    self.skipping = Skip::No;
                }
            }
        }
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// When the framing is broken; the connection has to be closed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.skipping != Skip::No {
            return Ok(None);
        }
        match self.detect() {
            None => Ok(None),
            Some(Framing::Lines) => Ok(self.next_line()),
            Some(Framing::Headers) => self.next_with_headers(),
        }
    }

    /// What is left when the stream has ended: a last line without a line end is a message all the same.
    #[must_use]
    pub fn finish(&mut self) -> Option<Frame> {
        if self.framing != Some(Framing::Lines) || self.skipping != Skip::No {
            return None;
        }
        let rest = self.line(self.pending());
        self.forget();
        rest
    }

    fn pending(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    fn detect(&mut self) -> Option<Framing> {
        if self.framing.is_none() {
            let blanks = self.pending().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.taken += blanks;
            let first = *self.pending().first()?;
            self.framing = Some(if matches!(first, b'C' | b'c') { Framing::Headers } else { Framing::Lines });
        }
        self.framing
    }

    fn next_line(&mut self) -> Option<Frame> {
        loop {
            let pending = self.pending();
            let Some(end) = pending.iter().skip(self.scanned).position(|&byte| byte == b'\n') else {
                if pending.len() > self.longest_line() {
                    self.forget();
                    self.skipping = Skip::Line;
                    return Some(Frame::TooLong);
                }
                self.scanned = pending.len();
                return None;
            };
            let end = self.scanned + end;
            let frame = self.line(pending.get(..end).unwrap_or_default());
            self.taken += end + 1;
            self.scanned = 0;
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// With its blanks a line may have one byte more: the other half of `\r\n`. It must not matter whether the end of the
    /// line has been seen when its length is judged.
    const fn longest_line(&self) -> usize {
        self.max + 1
    }

    fn line(&self, line: &[u8]) -> Option<Frame> {
        let trimmed = trim(line);
        if line.len() > self.longest_line() || trimmed.len() > self.max {
            return Some(Frame::TooLong);
        }
        if trimmed.is_empty() { None } else { Some(Frame::Message(trimmed.to_vec())) }
    }

    fn next_with_headers(&mut self) -> Result<Option<Frame>, FrameError> {
        let blanks = self.pending().iter().take_while(|&&byte| byte == b'\r' || byte == b'\n').count();
        self.taken += blanks;
        let pending = self.pending();
        let Some((head, body_at)) = split_headers(pending) else {
            return if pending.len() > MAX_HEADER_BYTES { Err(FrameError::HeadersTooLong) } else { Ok(None) };
        };
        if head.len() > MAX_HEADER_BYTES {
            return Err(FrameError::HeadersTooLong);
        }
        let announced = content_length(head).ok_or(FrameError::BadHeader)?;
        let length = usize::try_from(announced).unwrap_or(usize::MAX);
        let available = pending.len() - body_at;
        if length > self.max {
            if available < length {
                self.skipping = Skip::Bytes(announced - available as u64);
                self.forget();
            } else {
                self.taken += body_at + length;
            }
            return Ok(Some(Frame::TooLong));
        }
        if available < length {
            return Ok(None);
        }
        let body = pending.get(body_at..body_at + length).unwrap_or_default().to_vec();
        self.taken += body_at + length;
        Ok(Some(Frame::Message(body)))
    }

    fn forget(&mut self) {
        self.buffer = Vec::new();
        self.taken = 0;
        self.scanned = 0;
    }
}

/// Appends one message to `out`. Line ends inside a JSON document can only be blanks between its tokens; with
/// [`Framing::Lines`] they become spaces.
pub fn encode(framing: Framing, message: &[u8], out: &mut Vec<u8>) {
    match framing {
        Framing::Lines => {
            let start = out.len();
            out.extend_from_slice(message);
            for byte in out.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
            out.push(b'\n');
        }
        Framing::Headers => {
            out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes());
            out.extend_from_slice(message);
        }
    }
}

/// The header block and the offset of what follows it.
fn split_headers(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let mut line_start = 0;
    // A block longer than the limit is refused by the caller, so the search need not go on for ever.
    for (at, _) in bytes.iter().enumerate().take(MAX_HEADER_BYTES + 4).filter(|(_, byte)| **byte == b'\n') {
        let line = bytes.get(line_start..at)?;
        if line.is_empty() || line == b"\r" {
            return Some((bytes.get(..line_start)?, at + 1));
        }
        line_start = at + 1;
    }
    None
}

fn content_length(head: &[u8]) -> Option<u64> {
    let mut found = None;
    for line in head.split(|&byte| byte == b'\n') {
        let line = std::str::from_utf8(trim(line)).ok()?;
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.trim().eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            // Two lengths, or a sign, are how request smuggling begins.
            if found.is_some() || value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            found = Some(value.parse().ok()?);
        }
    }
    found
}

fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

#[cfg(test)]
mod tests;
