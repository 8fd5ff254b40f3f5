//! A blocking client: one connection, one call at a time, every wait bounded.
//!
//! It serves the hook path, where a process lives for a millisecond, and everything else of `gsdctl`. There is no
//! async runtime in it; editors that want many calls at once have their own libraries.

mod channel;
mod error;
mod subscription;

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;

pub use channel::{Channel, ChildChannel, Peer, connect};
pub use error::CallError;
pub use subscription::Events;

use crate::MAX_FRAME_BYTES;
use crate::api::{PROGRESS, Progress};
use crate::code::WireError;
use crate::frame::{Decoder, Frame, Framing, encode};
use crate::method::{Method, Subscription};

/// Bytes asked for in one read.
const READ_BYTES: usize = 64 * 1024;

/// A connection to a daemon.
pub struct Client {
    channel: Box<dyn Channel>,
    decoder: Decoder,
    next_id: u64,
    timeout: Option<Duration>,
    chunk: Vec<u8>,
    outgoing: Vec<u8>,
    /// The frame that the last answer was read from.
    answer: Vec<u8>,
    on_progress: Option<ProgressListener>,
}

/// Hears how far a call is.
pub type ProgressListener = Box<dyn FnMut(&Progress) + Send>;

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("next_id", &self.next_id)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The answer to a raw call, still as it came.
#[derive(Clone, Copy, Debug)]
pub struct RawAnswer<'a> {
    /// The result.
    pub result: &'a RawValue,
}

impl Client {
    /// A client over a channel that is open.
    #[must_use]
    pub fn new(channel: Box<dyn Channel>) -> Self {
        Self {
            channel,
            decoder: Decoder::with_framing(MAX_FRAME_BYTES, Framing::Lines),
            next_id: 1,
            timeout: None,
            chunk: Vec::new(),
            outgoing: Vec::new(),
            answer: Vec::new(),
            on_progress: None,
        }
    }

    /// How long one call may take from now on; `None` waits for ever.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Who is told how far a call is, while it is waited for. The daemon tells only about calls whose `ctx.progress`
    /// is set.
    pub fn on_progress(&mut self, listener: Option<ProgressListener>) {
        self.on_progress = listener;
    }

    /// Calls a method.
    ///
    /// # Errors
    /// What the daemon refused, or why no answer came.
    pub fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, CallError> {
        let params = serde_json::to_string(params).map_err(CallError::Encode)?;
        let answer = self.call_raw(M::NAME, &params)?;
        serde_json::from_str(answer.result.get())
            .map_err(|error| CallError::Decode { method: M::NAME.to_owned(), error })
    }

    /// Calls a method with parameters that are JSON already; the result is borrowed from the frame.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_raw(&mut self, method: &str, params: &str) -> Result<RawAnswer<'_>, CallError> {
        let deadline = self.deadline();
        match self.send_call(method, params, deadline) {
            Ok(id) => self.read_answer(id, deadline)?,
            // Who has no place left says so and hangs up, perhaps before it was asked anything.
            Err(CallError::Closed) => self.read_refusal(deadline)?,
            Err(other) => return Err(other),
        }
        parse_answer(&self.answer, method)
    }

    /// Opens a subscription; the client is then only good for its events.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn subscribe<S: Subscription>(mut self, params: &S::Params) -> Result<Events<S>, CallError> {
        let params = serde_json::to_string(params).map_err(CallError::Encode)?;
        let answer = self.call_raw(S::SUBSCRIBE, &params)?;
        let id = answer.result.get().to_owned();
        Ok(Events::new(self, id))
    }

    /// The process at the other end, where the system tells.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.channel.peer()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| Instant::now() + timeout)
    }

    fn send_call(&mut self, method: &str, params: &str, deadline: Option<Instant>) -> Result<u64, CallError> {
        let id = self.next_id;
        self.next_id += 1;
        let method = serde_json::to_string(method).map_err(CallError::Encode)?;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        if message.len() > MAX_FRAME_BYTES {
            return Err(CallError::TooLong);
        }
        self.outgoing.clear();
        encode(Framing::Lines, message.as_bytes(), &mut self.outgoing);
        self.channel.write_all(&self.outgoing, deadline).map_err(CallError::from_io)?;
        Ok(id)
    }

    fn read_answer(&mut self, id: u64, deadline: Option<Instant>) -> Result<(), CallError> {
        loop {
            let frame = self.read_frame(deadline)?;
            // Notifications and answers to calls that were given up may come in between.
            let envelope: Envelope<'_> = serde_json::from_slice(&frame).map_err(CallError::NotAnAnswer)?;
            if let (Some(listener), Some(progress)) = (&mut self.on_progress, envelope.progress_of(id)) {
                listener(&progress);
            }
            let matches = envelope.id.is_some_and(|raw| raw.get().parse() == Ok(id));
            let refused_unread =
                envelope.id.is_none_or(|raw| raw.get() == "null") && envelope.error.is_some();
            if matches || refused_unread {
                self.answer = frame;
                return Ok(());
            }
        }
    }

    /// What the other end said, unasked, before it hung up.
    fn read_refusal(&mut self, deadline: Option<Instant>) -> Result<(), CallError> {
        // No call has the number 0, so only an error about no call in particular is taken.
        self.read_answer(0, deadline).map_err(|_| CallError::Closed)
    }

    /// The next message of any kind.
    fn read_frame(&mut self, deadline: Option<Instant>) -> Result<Vec<u8>, CallError> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(Frame::Message(message))) => return Ok(message),
                Ok(Some(Frame::TooLong)) => return Err(CallError::TooLong),
                Ok(None) => {}
                Err(_) => return Err(CallError::Closed),
            }
            self.chunk.resize(READ_BYTES, 0);
            let read = self.channel.read(&mut self.chunk, deadline).map_err(CallError::from_io)?;
            if read == 0 {
                return Err(CallError::Closed);
            }
            self.decoder.push(self.chunk.get(..read).unwrap_or_default());
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// The progress of call `id`, if this message is that.
    fn progress_of(&self, id: u64) -> Option<Progress> {
        let method: String = serde_json::from_str(self.method?.get()).ok()?;
        let progress: Progress =
            serde_json::from_str(self.params.filter(|_| method == PROGRESS)?.get()).ok()?;
        (progress.token.as_u64() == Some(id)).then_some(progress)
    }
}

#[derive(Deserialize)]
struct ErrorObject {
    code: i32,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<serde_json::Value>,
}

fn parse_answer<'a>(frame: &'a [u8], method: &str) -> Result<RawAnswer<'a>, CallError> {
    let envelope: Envelope<'a> = serde_json::from_slice(frame).map_err(CallError::NotAnAnswer)?;
    if let Some(error) = envelope.error {
        let error: ErrorObject = serde_json::from_str(error.get()).map_err(CallError::NotAnAnswer)?;
        return Err(remote(error));
    }
    // A `null` result reads as absent; it is a result all the same.
    let result = envelope.result.map_or_else(|| serde_json::from_str("null"), Ok);
    result
        .map(|result| RawAnswer { result })
        .map_err(|error| CallError::Decode { method: method.to_owned(), error })
}

fn remote(error: ErrorObject) -> CallError {
    let data = error.data.and_then(|data| serde_json::from_value::<WireError>(data).ok());
    let wire = match data {
        Some(wire) if !wire.code.is_empty() => wire,
        _ => error::for_number(error.code, error.message),
    };
    CallError::Remote { number: error.code, error: Box::new(wire) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
