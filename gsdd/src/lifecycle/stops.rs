//! What stands between the installed content and another one although somebody agrees to what runs: another signer, or
//! less proof of where it comes from. Each is accepted by itself, in words that say what is accepted, or not at all.
//!
//! Source: ADR-1244 D5 rules 3 and 4, threats T147, T148, T161.

use gsd_proto::{Code, WireError};
use gsdd_core::text::shown;
use gsdd_core::trust::{PublisherKey, VerificationLevel};

use super::stage::Staged;
use crate::store::{Signer, Taken, TakenFrom, level_of};

/// How "nobody" is written where a key is expected.
const UNSIGNED: &str = "unsigned";

/// One thing to accept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The installed content is signed, and the new one is not.
    Missing {
        /// Who signed the installed one.
        before: Signer,
    },
    /// Somebody else signed the new one.
    IdentityChanged {
        /// Who signed the installed one.
        before: Signer,
        /// Who signed the new one.
        now: Signer,
    },
    /// Less is known of where the new one comes from.
    Downgrade {
        /// Of the installed one.
        before: VerificationLevel,
        /// Of the new one.
        now: VerificationLevel,
    },
}

/// What the person accepts, as they wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Public key of the new signer, or `unsigned`.
    pub(crate) signer: Option<String>,
    /// Name of the new level.
    pub(crate) level: Option<String>,
}

impl Stop {
    /// Code of the refusal.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Missing { .. } => Code::SignatureMissing,
            Self::IdentityChanged { .. } => Code::SignatureIdentityChanged,
            Self::Downgrade { .. } => Code::SignatureDowngrade,
        }
    }

    /// The fact, for people.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Missing { before } => {
                format!("the installed one is signed by {}, and this one is not signed", called(before))
            }
            Self::IdentityChanged { before, now } => {
                format!("it is signed by {}, and the installed one by {}", called(now), called(before))
            }
            Self::Downgrade { before, now } => {
                format!("its level is {now} ({}), and that of the installed one is {before}", now.words())
            }
        }
    }

    /// The flag that accepts it.
    pub(crate) fn flag(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::IdentityChanged { .. } => "--accept-signer",
            Self::Downgrade { .. } => "--accept-level",
        }
    }

    /// What has to stand behind that flag: an acceptance of one signer is worth nothing for the next one.
    pub(crate) fn value(&self) -> &str {
        match self {
            Self::Missing { .. } => UNSIGNED,
            Self::IdentityChanged { now, .. } => &now.key,
            Self::Downgrade { now, .. } => now.name(),
        }
    }

    fn is_accepted(&self, accepted: &Accepted) -> bool {
        let given = match self {
            Self::Missing { .. } | Self::IdentityChanged { .. } => &accepted.signer,
            Self::Downgrade { .. } => &accepted.level,
        };
        given.as_deref() == Some(self.value())
    }
}

/// A signer for people: by the person's own name, else by the whole key, because key ids can be copied.
fn called(signer: &Signer) -> String {
    let id = PublisherKey::parse(&signer.key).map(|key| key.id()).unwrap_or_default();
    match &signer.name {
        Some(name) => format!("{} (key id {id})", shown(name)),
        None => format!("{} (key id {id})", shown(&signer.key)),
    }
}

/// What has to be accepted before `staged` takes the place of `before`. Going back to what was agreed to before is none.
pub(super) fn stops(before: Option<&Taken>, staged: &Staged) -> Vec<Stop> {
    let Some(before) = before.and_then(|taken| taken.from.as_ref()).filter(|_| staged.restores.is_none())
    else {
        return Vec::new();
    };
    match &staged.taken_from {
        Some(now) => between(before, now),
        // Taken as it lies there.
        None => between(before, &before.of_content(staged.content_hash.as_str())),
    }
}

fn between(before: &TakenFrom, now: &TakenFrom) -> Vec<Stop> {
    let signer = match (&before.signer, &now.signer) {
        (Some(before), None) => Some(Stop::Missing { before: before.clone() }),
        (Some(before), Some(now)) if before.key != now.key => {
            Some(Stop::IdentityChanged { before: before.clone(), now: now.clone() })
        }
        (Some(_), Some(_)) | (None, _) => None,
    };
    // Who accepts the signer accepts what the signature was worth; what goes besides that is another question.
    let (was, is) = match signer {
        Some(_) => (before.carried(), now.carried()),
        None => (level_of(before), level_of(now)),
    };
    let level = (is < was).then_some(Stop::Downgrade { before: was, now: is });
    signer.into_iter().chain(level).collect()
}

/// Refuses what was not accepted.
///
/// # Errors
/// The first of `stops` that is not, with the flag that accepts it.
pub(crate) fn require_accepted(id: &str, stops: &[Stop], accepted: &Accepted) -> Result<(), WireError> {
    let open: Vec<&Stop> = stops.iter().filter(|stop| !stop.is_accepted(accepted)).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let mut error = WireError::new(first.code(), format!("{id}: {}", first.said()));
    for other in &open[1..] {
        error = error.caused_by(format!("besides, {}", other.said()));
    }
    let flags: Vec<String> = open.iter().map(|stop| format!("{} {}", stop.flag(), stop.value())).collect();
    Err(error
        .with_fix("ask the publisher by another way than the source whether this is right", &[])
        .with_fix(format!("to accept it, add {}", flags.join(" ")), &[]))
}

#[cfg(test)]
mod tests {
    use VerificationLevel::{Digest, None as Nothing, Pin, Transport};

    use super::*;

    fn from(carried: VerificationLevel, signer: Option<(&str, &str)>) -> TakenFrom {
        let signer =
            signer.map(|(key, trust)| Signer { key: key.into(), trust: trust.into(), ..Signer::default() });
        TakenFrom { signer, ..TakenFrom::default() }.carrying(carried)
    }

    #[track_caller]
    fn check(before: &TakenFrom, now: &TakenFrom, expected: &[(&str, &str)]) {
        let stops = between(before, now);
        let found: Vec<(&str, &str)> = stops.iter().map(|stop| (stop.flag(), stop.value())).collect();
        assert_eq!(found, expected);
        let accepted = |signer: Option<&str>, level: Option<&str>| Accepted {
            signer: signer.map(str::to_owned),
            level: level.map(str::to_owned),
        };
        let given = |flag: &str| expected.iter().find(|(other, _)| *other == flag).map(|(_, value)| *value);
        let all = accepted(given("--accept-signer"), given("--accept-level"));
        assert!(require_accepted("x", &stops, &all).is_ok());
        for nothing in [accepted(None, None), accepted(Some("elsewhere"), Some("elsewhere"))] {
            assert_eq!(require_accepted("x", &stops, &nothing).is_ok(), expected.is_empty());
        }
    }

    #[test]
    fn t148_t161_another_signer_none_and_less_proof_stop() {
        let (one, other) = (Some(("one", "agreed")), Some(("other", "configured")));
        check(&from(Transport, one), &from(Transport, one), &[]);
        check(&from(Transport, one), &from(Transport, other), &[("--accept-signer", "other")]);
        check(&from(Transport, one), &from(Transport, None), &[("--accept-signer", "unsigned")]);
        check(
            &from(Pin, one),
            &from(Transport, None),
            &[("--accept-signer", "unsigned"), ("--accept-level", "transport")],
        );
        check(&from(Digest, None), &from(Transport, None), &[("--accept-level", "transport")]);
        check(&from(Transport, None), &from(Nothing, None), &[("--accept-level", "none")]);
        // What is gained is no question, and a signature covers how the bytes came.
        check(&from(Transport, None), &from(Transport, one), &[]);
        check(&from(Pin, one), &from(Transport, one), &[]);
        // The first sight of a key binds like any other.
        check(
            &from(Transport, Some(("one", "first-seen"))),
            &from(Transport, other),
            &[("--accept-signer", "other")],
        );
    }

    #[test]
    fn less_than_provenance_is_less() {
        let mut before = from(Transport, Some(("one", "agreed")));
        before.signer.as_mut().unwrap().provenance = true;
        check(&before, &from(Transport, Some(("one", "agreed"))), &[("--accept-level", "signature")]);
    }
}
