//! How well it is known where a content comes from, as one step of a ladder.

use std::fmt;

/// The steps, weakest first: the order of the variants is the order of the proof.
///
/// Source: ADR-1244 D5 rule 3 (integrity), decision D-15 (every source records what it took).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerificationLevel {
    /// Nothing: a folder of this machine, or a content whose origin was never recorded.
    #[default]
    None,
    /// An authenticated connection to a named host; the host may give other bytes tomorrow.
    Transport,
    /// Somebody besides the transport named the digest of the bytes, and it was compared before use: a registry.
    Digest,
    /// A name that means these bytes and no others, chosen by the person: a commit, an exact digest.
    Pin,
    /// A publisher's signature over the bytes, verified.
    Signature,
    /// A publisher's signature that also names the repository and the commit the bytes were built from.
    Provenance,
}

impl VerificationLevel {
    /// Every step, weakest first.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Transport, Self::Digest, Self::Pin, Self::Signature, Self::Provenance];

    /// Short stable name for programs, policies and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Transport => "transport",
            Self::Digest => "digest",
            Self::Pin => "pin",
            Self::Signature => "signature",
            Self::Provenance => "provenance",
        }
    }

    /// What it means for who is about to agree, one line.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "nothing proves it",
            Self::Transport => "it came from that host; the host may give other bytes tomorrow",
            Self::Digest => "a registry named the digest of these bytes, and they have it",
            Self::Pin => "the source names exactly these bytes and can't give others",
            Self::Signature => "a publisher whose key is known signed these bytes",
            Self::Provenance => {
                "a publisher whose key is known signed these bytes and the commit they were built from"
            }
        }
    }

    /// The step of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for VerificationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_the_order_is_the_order_of_the_proof() {
        for pair in VerificationLevel::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
        }
        for level in VerificationLevel::ALL {
            assert_eq!(VerificationLevel::parse(level.name()), Some(level));
        }
        assert_eq!(VerificationLevel::parse("Pin"), None);
    }
}
