//! The table of error codes, and the error object that carries them.
//!
//! A code is a dotted name: permanent, never reused, the same in `--json` output and in `error.data.code` on the
//! wire. Its class decides the exit status of `gsdctl` and the JSON-RPC number. Readers must accept codes they do not
//! know: [`WireError::code`] is a string, and `exit` travels with it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Kinds of failure that a script can tell apart by exit status.
///
/// Source: interface section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Input/output or internal failure.
    Failed,
    /// Wrong usage or invalid input file.
    Usage,
    /// Consent needed and not given.
    Consent,
    /// Blocked by policy.
    Policy,
    /// Integrity or signature failure.
    Integrity,
    /// `engines.gsd` or runtime does not fit.
    Incompatible,
    /// No such thing.
    NotFound,
    /// Owned by another, or a lock is held.
    Conflict,
    /// Source or network unavailable, or refused by `--offline`.
    Unavailable,
    /// Daemon unreachable without a way around, or protocol refused.
    Daemon,
    /// A check found differences.
    Differences,
    /// Some items of a batch failed.
    Partial,
    /// Cancelled by the person or the caller.
    Cancelled,
    /// A time limit was reached.
    Timeout,
}

impl Class {
    /// Exit status of `gsdctl`.
    #[must_use]
    pub const fn exit(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Consent => 3,
            Self::Policy => 4,
            Self::Integrity => 5,
            Self::Incompatible => 6,
            Self::NotFound => 7,
            Self::Conflict => 8,
            Self::Unavailable => 9,
            Self::Daemon => 10,
            Self::Differences => 11,
            Self::Partial => 12,
            Self::Cancelled => 13,
            Self::Timeout => 124,
        }
    }

    /// JSON-RPC error number, `-32020 - n` in the order of the exit codes.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Timeout => -32034,
            Self::Failed
            | Self::Usage
            | Self::Consent
            | Self::Policy
            | Self::Integrity
            | Self::Incompatible
            | Self::NotFound
            | Self::Conflict
            | Self::Unavailable
            | Self::Daemon
            | Self::Differences
            | Self::Partial
            | Self::Cancelled => -32020 - self.exit() as i32,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $class:ident, $meaning:literal;)+) => {
        /// A failure that programs can tell apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)+
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The dotted name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it means, one line.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }

            /// Its class.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)+ }
            }
        }
    };
}

codes! {
    Internal = "internal", Failed, "A fault of this program; the log has more under the request id.";
    IoFailed = "io.failed", Failed, "The operating system refused a file operation.";
    UsageUnknownFlag = "usage.unknown_flag", Usage, "The command does not know this flag.";
    UsageInvalid = "usage.invalid", Usage, "The command line is not understood.";
    UsageInvalidParams = "usage.invalid_params", Usage, "The parameters of the request do not fit its method.";
    UsageUnknownMethod = "usage.unknown_method", Usage, "The daemon has no method of this name.";
    ManifestInvalid = "manifest.invalid", Usage, "A manifest breaks one or more rules.";
    SourceSpecInvalid = "source.spec_invalid", Usage, "The source spec is not understood.";
    SourceUnsupported = "source.unsupported", Usage, "Sources of this kind are not taken.";
    SourceUnreachable = "source.unreachable", Unavailable, "The source or the network did not answer.";
    SourceOffline = "source.offline", Unavailable, "The call needs the network and `--offline` forbids it.";
    ComposeCollision = "compose.collision", Conflict, "A skill, agent, family or key already has an owner.";
    UpdateDowngrade = "update.downgrade", Conflict, "The source holds an older version than the installed one.";
    UpdateAutoOff = "update.auto_off", Policy, "Updates without a person are not switched on.";
    UpdateWaits = "update.waits", Consent, "The update needs a person: it was not made by itself.";
    CompatEngines = "compat.engines", Incompatible, "The capability does not run on this GSD level.";
    CompatRuntime = "compat.runtime", Incompatible, "The host program cannot take it.";
    IntegrityMismatch = "integrity.mismatch", Integrity, "The content is not what its digest says.";
    SignatureInvalid = "signature.invalid", Integrity, "A signature does not fit, or its key is not known.";
    SignatureMissing = "signature.missing", Integrity, "A signature is required and there is none.";
    SignatureIdentityChanged = "signature.identity_changed", Integrity, "Signed by another identity than before.";
    SignatureDowngrade = "signature.downgrade", Integrity, "The new state is less verified than the old one.";
    ConsentRequired = "consent.required", Consent, "Something executable needs the person's agreement.";
    ConsentStale = "consent.stale", Consent, "The content changed after it was agreed to.";
    ConsentRevoked = "consent.revoked", Consent, "The agreement was withdrawn.";
    ConsentDeclined = "consent.declined", Consent, "The person said no.";
    PolicySourceBlocked = "policy.source_blocked", Policy, "Policy does not allow this source.";
    PolicyBlocked = "policy.blocked", Policy, "Policy does not allow this.";
    PolicyLevelTooLow = "policy.level_too_low", Policy, "Policy wants to know better where this comes from.";
    PolicyYesForbidden = "policy.yes_forbidden", Policy, "Policy does not take `--yes` for an agreement.";
    PolicyAutoForbidden = "policy.auto_forbidden", Policy, "Policy forbids updates without a person.";
    PolicyExecutableForbidden = "policy.executable_forbidden", Policy, "Policy forbids this class of things that run.";
    PolicyRequired = "policy.required", Policy, "Policy requires this capability to stay.";
    NotFound = "not_found", NotFound, "There is no such thing.";
    LedgerCorrupt = "ledger.corrupt", Failed, "The ledger cannot be read; nothing was changed.";
    StateNewer = "state.newer", Failed, "A state file was written by a newer version.";
    LockHeld = "lock.held", Conflict, "Another process is writing.";
    LockStale = "lock.stale", Conflict, "A lock was left by a process that is gone.";
    RuntimeDrift = "runtime.drift", Differences, "Files of a host differ from what was recorded.";
    CheckDifferences = "check.differences", Differences, "A check found differences.";
    BatchPartial = "batch.partial", Partial, "Some items failed.";
    Cancelled = "cancelled", Cancelled, "Cancelled before it was done.";
    Timeout = "timeout", Timeout, "The time limit was reached.";
    DaemonProtocol = "daemon.protocol", Daemon, "Client and daemon have no protocol number in common.";
    DaemonStartFailed = "daemon.start_failed", Daemon, "The daemon could not be started.";
    DaemonNotOurs = "daemon.not_ours", Daemon, "The socket, its folder or the peer belongs to someone else.";
    DaemonUnreachable = "daemon.unreachable", Daemon, "The daemon does not answer.";
    DaemonStopping = "daemon.stopping", Daemon, "The daemon is shutting down.";
}

impl Code {
    /// Exit status of `gsdctl`.
    #[must_use]
    pub const fn exit(self) -> u8 {
        self.class().exit()
    }

    /// JSON-RPC error number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.class().number()
    }

    /// The code of a dotted name, if this build knows it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

/// Numbers that the transport itself answers with, besides those of the JSON-RPC specification.
pub mod rpc {
    /// The bytes are not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but not a request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The handler failed in a way it did not expect.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// Too many subscriptions on this connection.
    pub const TOO_MANY_SUBSCRIPTIONS: i32 = -32006;
    /// The frame is longer than [`crate::MAX_FRAME_BYTES`].
    pub const FRAME_TOO_LONG: i32 = -32007;
    /// The answer would be longer than the limit.
    pub const ANSWER_TOO_LONG: i32 = -32008;
    /// The daemon has no room for another connection or call.
    pub const BUSY: i32 = -32009;
    /// The batch has too many entries.
    pub const BATCH_TOO_LONG: i32 = -32010;
    /// The answers of the batch together are longer than the limit.
    pub const BATCH_ANSWER_TOO_LONG: i32 = -32011;
}

/// Something a person can do about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fix {
    /// What to do, in words.
    pub text: String,
    /// The command that does it, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
}

/// The place an error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Where {
    /// File or folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// JSON pointer inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// An error as it travels in `error.data`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", default)]
#[error("{message}")]
pub struct WireError {
    /// Dotted name, see [`Code`].
    pub code: Box<str>,
    /// The fact, one line, the object named.
    pub message: String,
    /// Why, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cause: Vec<String>,
    /// Where, if it is about a place.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub where_: Option<Box<Where>>,
    /// What can be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<Fix>,
    /// Exit status that a command should end with.
    pub exit: u8,
    /// Topic that explains more, usually the code itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<Box<str>>,
}

impl WireError {
    /// An error of `code`.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code: code.name().into(),
            message: message.into(),
            exit: code.exit(),
            doc: Some(code.name().into()),
            ..Self::default()
        }
    }

    /// Adds a cause below the ones already there.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.cause.push(cause.into());
        self
    }

    /// Names the file it is about.
    #[must_use]
    pub fn at_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.where_.get_or_insert_default().file = Some(file.into());
        self
    }

    /// Names the place inside the file.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.where_.get_or_insert_default().pointer = Some(pointer.into());
        self
    }

    /// Offers a remedy; `argv` is a command that can be run as it stands, or empty.
    #[must_use]
    pub fn with_fix(mut self, text: impl Into<String>, argv: &[&str]) -> Self {
        self.fix.push(Fix { text: text.into(), argv: argv.iter().map(|&word| word.to_owned()).collect() });
        self
    }

    /// JSON-RPC number: that of the code, or of internal failures for a code this build does not know.
    #[must_use]
    pub fn number(&self) -> i32 {
        Code::from_name(&self.code).unwrap_or(Code::Internal).number()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_dotted_lowercase() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for name in names {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'.' || b == b'_'), "{name}");
            assert_eq!(Code::from_name(name).unwrap().name(), name);
        }
    }

    #[test]
    fn numbers_stay_in_the_server_range_and_off_the_transport_ones() {
        for code in Code::ALL {
            assert!((-32099..=-32020).contains(&code.number()), "{}", code.name());
        }
    }

    #[test]
    fn unknown_codes_and_fields_are_read() {
        let error: WireError =
            serde_json::from_str(r#"{"code":"later.thing","message":"m","exit":9,"new":[1]}"#).unwrap();
        assert_eq!((error.exit, error.number()), (9, Code::Internal.number()));
    }
}
