//! Why a call has no result.

use std::io;

use crate::code::{Code, WireError, rpc};

/// A call that did not end in a result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The daemon answered with an error.
    #[error("{error}")]
    Remote {
        /// JSON-RPC number.
        number: i32,
        /// What it said.
        error: Box<WireError>,
    },
    /// No answer within the time limit.
    #[error("no answer within the time limit")]
    Timeout,
    /// The connection ended before the answer.
    #[error("the daemon closed the connection")]
    Closed,
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[source] io::Error),
    /// Request or answer is longer than a frame may be.
    #[error("the message is longer than {} bytes", crate::MAX_FRAME_BYTES)]
    TooLong,
    /// What came back is not JSON-RPC.
    #[error("the answer is not JSON-RPC: {0}")]
    NotAnAnswer(#[source] serde_json::Error),
    /// The parameters cannot be written as JSON.
    #[error("the parameters cannot be sent: {0}")]
    Encode(#[source] serde_json::Error),
    /// The result does not have the shape of its method.
    #[error("unexpected result of `{method}`: {error}")]
    Decode {
        /// The method.
        method: String,
        /// What does not fit.
        error: serde_json::Error,
    },
}

impl CallError {
    pub(super) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
                Self::Closed
            }
            _ => Self::Io(error),
        }
    }

    /// Whether the call certainly or possibly never reached a handler, so that another way may be tried for a
    /// reading call.
    #[must_use]
    pub fn is_transport(&self) -> bool {
        matches!(self, Self::Timeout | Self::Closed | Self::Io(_))
    }

    /// The same failure as an error to show.
    #[must_use]
    pub fn into_wire(self) -> WireError {
        match self {
            Self::Remote { error, .. } => *error,
            Self::Timeout => WireError::new(Code::Timeout, "the daemon did not answer within the time limit")
                .with_fix("see what it is doing", &["gsdctl", "daemon", "status"]),
            Self::Closed | Self::Io(_) => WireError::new(Code::DaemonUnreachable, self.to_string())
                .with_fix("look for the reason in its log", &["gsdctl", "daemon", "logs"]),
            Self::TooLong | Self::NotAnAnswer(_) | Self::Encode(_) | Self::Decode { .. } => {
                WireError::new(Code::Internal, self.to_string())
            }
        }
    }
}

/// An error for an answer that carries only a JSON-RPC number.
pub(super) fn for_number(number: i32, message: String) -> WireError {
    let code = match number {
        rpc::METHOD_NOT_FOUND => Code::UsageUnknownMethod,
        rpc::INVALID_PARAMS | rpc::INVALID_REQUEST => Code::UsageInvalidParams,
        rpc::BUSY => Code::DaemonUnreachable,
        _ => Code::Internal,
    };
    WireError::new(code, message)
}
