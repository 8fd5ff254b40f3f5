//! Digests that a registry publishes with an archive, in the form of Subresource Integrity.
//!
//! A registry lists one or several digests, separated by white space; the strongest that we know decides. SHA-1 and
//! weaker vouch for nothing (threat T75): an archive that has only those is refused before it is unpacked.
//!
//! Source: ADR-1244 D5 rule 3.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::digest::DynDigest;
use sha2::{Sha256, Sha384, Sha512};

/// Longest list that is read, in bytes.
const MAX_BYTES: usize = 1024;

/// Algorithms that are accepted, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SriAlgorithm {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl SriAlgorithm {
    const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// As it stands before the dash.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// Length of its digest, in bytes.
    #[must_use]
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn hasher(self) -> Box<dyn DynDigest> {
        match self {
            Self::Sha256 => Box::<Sha256>::default(),
            Self::Sha384 => Box::<Sha384>::default(),
            Self::Sha512 => Box::<Sha512>::default(),
        }
    }
}

/// One digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sri {
    algorithm: SriAlgorithm,
    digest: Box<[u8]>,
}

/// Why a list of digests is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SriProblem {
    /// Nothing is listed.
    #[error("there is no digest")]
    Empty,
    /// Only algorithms that vouch for nothing.
    #[error("the only digest is of a kind that vouches for nothing (sha1 or unknown)")]
    Weak,
    /// A digest of a known algorithm that is not the base64 of so many bytes, or a list beyond all measure.
    #[error("the digest is malformed")]
    Malformed,
}

impl Sri {
    /// The strongest digest of a list. Options after a question mark mean nothing and are skipped.
    ///
    /// # Errors
    /// [`SriProblem`]; a malformed digest of a known algorithm spoils the list, because a typing mistake must not
    /// lower what is asked for.
    pub fn strongest(list: &str) -> Result<Self, SriProblem> {
        if list.len() > MAX_BYTES {
            return Err(SriProblem::Malformed);
        }
        let mut strongest: Option<Self> = None;
        let mut words = list.split_ascii_whitespace().peekable();
        if words.peek().is_none() {
            return Err(SriProblem::Empty);
        }
        for word in words {
            let word = word.split('?').next().unwrap_or_default();
            let (name, encoded) = word.split_once('-').ok_or(SriProblem::Malformed)?;
            let Some(algorithm) = SriAlgorithm::ALL.into_iter().find(|known| known.name() == name) else {
                continue;
            };
            let digest = STANDARD.decode(encoded).map_err(|_| SriProblem::Malformed)?;
            if digest.len() != algorithm.digest_bytes() {
                return Err(SriProblem::Malformed);
            }
            match &strongest {
                Some(best) if best.algorithm > algorithm => {}
                // Two different digests of one algorithm would accept two archives.
                Some(best) if best.algorithm == algorithm && *best.digest != *digest => {
                    return Err(SriProblem::Malformed);
                }
                _ => strongest = Some(Self { algorithm, digest: digest.into() }),
            }
        }
        strongest.ok_or(SriProblem::Weak)
    }

    /// Its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> SriAlgorithm {
        self.algorithm
    }

    /// Begins to compare content with this digest.
    #[must_use]
    pub fn check(&self) -> SriCheck<'_> {
        SriCheck { wanted: &self.digest, digest: self.algorithm.hasher() }
    }
}

/// Content that is compared with a digest while it comes.
pub struct SriCheck<'a> {
    wanted: &'a [u8],
    digest: Box<dyn DynDigest>,
}

impl SriCheck<'_> {
    /// Adds content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    /// Whether the content has the digest.
    #[must_use]
    pub fn matches(self) -> bool {
        *self.digest.finalize() == *self.wanted
    }
}

impl fmt::Display for Sri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.algorithm.name(), STANDARD.encode(&self.digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sri(algorithm: SriAlgorithm, bytes: &[u8]) -> String {
        let mut hasher = algorithm.hasher();
        hasher.update(bytes);
        format!("{}-{}", algorithm.name(), STANDARD.encode(hasher.finalize()))
    }

    fn matches(sri: &Sri, bytes: &[u8]) -> bool {
        let mut check = sri.check();
        bytes.chunks(3).for_each(|part| check.update(part));
        check.matches()
    }

    #[test]
    fn t75_the_strongest_digest_decides() {
        let weak = sri(SriAlgorithm::Sha256, b"other");
        let strong = sri(SriAlgorithm::Sha512, b"archive");
        for list in [
            format!("{weak} {strong}"),
            format!("{strong}\n {weak}"),
            format!("sha1-x {strong}?opt"),
            format!("{strong} {strong}"),
        ] {
            let found = Sri::strongest(&list).unwrap();
            assert!(matches(&found, b"archive") && !matches(&found, b"other"), "{list}");
            assert_eq!(found.to_string(), strong);
        }
        let longest = format!("{strong}{}", " ".repeat(1024 - strong.len()));
        assert!(Sri::strongest(&longest).is_ok());
        assert_eq!(Sri::strongest(&format!("{longest} ")), Err(SriProblem::Malformed));
        let middle = sri(SriAlgorithm::Sha384, b"archive");
        assert_eq!(Sri::strongest(&middle).map(|found| found.algorithm()), Ok(SriAlgorithm::Sha384));
    }

    #[test]
    fn t75_weak_and_malformed_lists_are_refused() {
        let strong = sri(SriAlgorithm::Sha512, b"archive");
        for (list, problem) in [
            (String::new(), SriProblem::Empty),
            (" \n".to_owned(), SriProblem::Empty),
            ("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=".to_owned(), SriProblem::Weak),
            ("md5-1B2M2Y8AsgTpgAmY7PhCfg==".to_owned(), SriProblem::Weak),
            ("sha512-".to_owned(), SriProblem::Malformed),
            (strong.trim_end_matches('=').to_owned(), SriProblem::Malformed),
            (format!("{strong} {}", sri(SriAlgorithm::Sha512, b"other")), SriProblem::Malformed),
            (format!("{} sha512-zz", sri(SriAlgorithm::Sha256, b"archive")), SriProblem::Malformed),
            ("nonsense".to_owned(), SriProblem::Malformed),
        ] {
            assert_eq!(Sri::strongest(&list), Err(problem), "{list}");
        }
    }
}
