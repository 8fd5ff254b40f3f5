//! What is recorded.

use serde_json::{Map, Value};

use crate::text::shown_up_to;

/// Longest text of one member, in characters: a hostile name must not fill the log.
const MAX_TEXT: usize = 500;

/// A decision that changed what can run, or something that was kept from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happening {
    /// A capability was installed.
    Installed,
    /// It was replaced by another content.
    Updated,
    /// A content that was agreed to before came back.
    RolledBack,
    /// What lay there was agreed to.
    Granted,
    /// It was removed.
    Removed,
    /// An agreement was taken back.
    Revoked,
    /// It was switched on, or one of its switches was set.
    Switched,
    /// What changed in a linked folder was taken over.
    Followed,
    /// What another program had installed counts as agreed to from now on.
    FirstSeen,
    /// What an interrupted operation left was settled.
    Repaired,
    /// A policy refused something.
    PolicyRefused,
    /// Bytes were not those that a digest or a signature promised.
    ProofFailed,
    /// An installed content is not the agreed one any more; nothing of it runs.
    ContentChanged,
    /// The agreed content is back.
    ContentRestored,
    /// A hook of a capability refused what the host was about to do.
    HookDenied,
}

impl Happening {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Installed,
        Self::Updated,
        Self::RolledBack,
        Self::Granted,
        Self::Removed,
        Self::Revoked,
        Self::Switched,
        Self::Followed,
        Self::FirstSeen,
        Self::Repaired,
        Self::PolicyRefused,
        Self::ProofFailed,
        Self::ContentChanged,
        Self::ContentRestored,
        Self::HookDenied,
    ];

    /// Word in the log; permanent.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Updated => "updated",
            Self::RolledBack => "rolled_back",
            Self::Granted => "granted",
            Self::Removed => "removed",
            Self::Revoked => "revoked",
            Self::Switched => "switched",
            Self::Followed => "followed",
            Self::FirstSeen => "first_seen",
            Self::Repaired => "repaired",
            Self::PolicyRefused => "policy_refused",
            Self::ProofFailed => "proof_failed",
            Self::ContentChanged => "content_changed",
            Self::ContentRestored => "content_restored",
            Self::HookDenied => "hook_denied",
        }
    }
}

/// One event. Empty members are left out of the line; texts are cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub what: Happening,
    /// Capability.
    pub id: String,
    /// `global` or `project`.
    pub scope: String,
    /// Folder that holds the scope.
    pub root: String,
    /// Version.
    pub version: String,
    /// Where it came from, without credentials.
    pub source: String,
    /// Content that may run from then on, or did until then.
    pub content_hash: String,
    /// Token of the agreement.
    pub consent_digest: String,
    /// How well it is known where it comes from.
    pub level: String,
    /// Key of the publisher that signed it.
    pub signer: String,
    /// How it was agreed to: `agreed`, `blanket` or `not_needed`.
    pub consent: String,
    /// Who asked: the name that the client gave itself.
    pub client: String,
    /// The rest, for people.
    pub detail: String,
}

impl Event {
    /// An event without any member.
    #[must_use]
    pub fn new(what: Happening) -> Self {
        let empty = String::new;
        Self {
            what,
            id: empty(),
            scope: empty(),
            root: empty(),
            version: empty(),
            source: empty(),
            content_hash: empty(),
            consent_digest: empty(),
            level: empty(),
            signer: empty(),
            consent: empty(),
            client: empty(),
            detail: empty(),
        }
    }

    pub(super) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("event".to_owned(), self.what.name().into());
        for (name, text) in [
            ("id", &self.id),
            ("scope", &self.scope),
            ("root", &self.root),
            ("version", &self.version),
            ("source", &self.source),
            ("content_hash", &self.content_hash),
            ("consent_digest", &self.consent_digest),
            ("level", &self.level),
            ("signer", &self.signer),
            ("consent", &self.consent),
            ("client", &self.client),
            ("detail", &self.detail),
        ] {
            if !text.is_empty() {
                members.insert(name.to_owned(), shown_up_to(text, MAX_TEXT).into());
            }
        }
        members
    }
}
