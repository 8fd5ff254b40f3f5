//! Why the daemon is not used.

use std::io;

use gsd_proto::private_dir::NotPrivate;
use gsd_proto::readiness::StartFailure;
use gsd_proto::{Code, WireError};

/// A daemon that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The socket, its folder or the peer is not ours.
    #[error("the place of the socket is not safe: {0}")]
    NotOurs(String),
    /// The system does not let us connect.
    #[error("the socket cannot be used: {0}")]
    Unusable(#[source] io::Error),
    /// It is there and does not answer.
    #[error("the daemon does not answer")]
    Silent,
    /// It closed the connection before answering.
    #[error("the daemon closed the connection")]
    Closed,
    /// It has no protocol number in common with us, or lacks something.
    #[error("{0}")]
    Protocol(Box<WireError>),
    /// It could not be started.
    #[error("the daemon could not be started: {0}")]
    StartFailed(Box<StartFailure>),
    /// It was started and did not report.
    #[error("the daemon was started but was not ready in time (GSD_START_TIMEOUT)")]
    StartTimeout,
    /// Its program was not found or could not be run.
    #[error("{0}")]
    NoProgram(Box<WireError>),
}

impl From<NotPrivate> for ConnectError {
    fn from(error: NotPrivate) -> Self {
        match error {
            NotPrivate::Io { source, .. } => Self::Unusable(source),
            other => Self::NotOurs(other.to_string()),
        }
    }
}

impl ConnectError {
    /// The same as an error to show, for commands that want the daemon itself.
    pub(crate) fn into_wire(self) -> WireError {
        let logs = |error: WireError| {
            error.with_fix("look for the reason in its log", &["gsdctl", "daemon", "logs"])
        };
        match self {
            Self::NotOurs(_) => WireError::new(Code::DaemonNotOurs, self.to_string()).with_fix(
                "choose a folder of your own",
                &["env", "GSD_RUNTIME_DIR=DIR", "gsdctl", "daemon", "start"],
            ),
            Self::Unusable(_) | Self::Silent | Self::Closed => {
                logs(WireError::new(Code::DaemonUnreachable, self.to_string()))
            }
            Self::Protocol(error) | Self::NoProgram(error) => *error,
            Self::StartFailed(failure) => {
                let error = WireError::new(Code::DaemonStartFailed, "the daemon could not be started")
                    .caused_by(failure.to_string());
                match failure.path {
                    Some(path) => error.at_file(path),
                    None => error,
                }
                .with_fix("do the work without it", &["env", "GSD_NO_DAEMON=1", "gsdctl"])
            }
            Self::StartTimeout => logs(WireError::new(Code::DaemonStartFailed, self.to_string())).with_fix(
                "give it more time",
                &["env", "GSD_START_TIMEOUT=10s", "gsdctl", "daemon", "start"],
            ),
        }
    }
}
