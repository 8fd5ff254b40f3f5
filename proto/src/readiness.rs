//! What a starting daemon tells the client that started it: one line, then it closes the pipe.
//!
//! The same failure is also left as a file beside the socket, so that later clients can name the reason
//! without trying again at once.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::private_dir::NotPrivate;

/// The one line on the readiness pipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The socket accepts connections.
    Ready(Ready),
    /// The daemon could not start and exits.
    Failed(StartFailure),
}

/// The daemon that is there now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Process id; 0 when another daemon was found serving.
    pub pid: u32,
    /// Where it listens.
    pub socket: PathBuf,
    /// True when a daemon was already serving and this one steps back.
    #[serde(default)]
    pub already: bool,
}

/// Why a daemon did not start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// What it was doing: `settings`, `runtime_dir`, `lock`, `socket`, `bind`, `load`.
    pub stage: String,
    /// Error number of the operating system, if it came from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The file or folder concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The reason in words.
    pub message: String,
    /// Seconds since 1970 when it happened; 0 on the pipe.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl std::fmt::Display for StartFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.stage, self.message)?;
        match &self.path {
            Some(path) if !self.message.contains(&*path.to_string_lossy()) => {
                write!(f, " ({})", path.display())
            }
            _ => Ok(()),
        }
    }
}

impl From<&NotPrivate> for StartFailure {
    fn from(error: &NotPrivate) -> Self {
        Self {
            stage: "runtime_dir".to_owned(),
            errno: error.errno(),
            path: Some(error.path().to_owned()),
            message: error.to_string(),
            at: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_documented_shape() {
        let ready = Readiness::Ready(Ready { pid: 7, socket: "/r/s".into(), already: false });
        assert_eq!(
            serde_json::to_string(&ready).unwrap(),
            r#"{"ready":{"pid":7,"socket":"/r/s","already":false}}"#
        );
        let failed: Readiness =
            serde_json::from_str(r#"{"failed":{"stage":"bind","errno":13,"path":"/r","message":"no"}}"#)
                .unwrap();
        assert!(matches!(failed, Readiness::Failed(StartFailure { errno: Some(13), .. })));
    }
}
