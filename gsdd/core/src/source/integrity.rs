//! Pins: the digest that a fetched archive must have.
//!
//! One canonical form is accepted, `sha512-<88 characters of base64>`: weaker algorithms, lists, hexadecimal, other
//! alphabets and padding are refused before anything is fetched (threats T75, T76, T78).
//!
//! Source: ADR-1244 D5 rule 3.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha512};

use super::spec::SourceKind;

const PREFIX: &str = "sha512-";
const DIGEST_BYTES: usize = 64;

/// A digest in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pin(Box<str>);

/// Why a text is not a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinProblem {
    /// An empty pin is a mistake, not "no pin".
    #[error("the integrity value is empty")]
    Empty,
    /// Something other than `sha512-`.
    #[error("only `sha512-` integrity values are accepted")]
    UnsupportedAlgorithm,
    /// Not exactly one canonical base64 digest of 64 bytes.
    #[error("an integrity value is `sha512-` and 88 characters of base64, nothing before or after")]
    Malformed,
}

impl Pin {
    /// Reads a pin.
    ///
    /// # Errors
    /// [`PinProblem`].
    pub fn parse(raw: &str) -> Result<Self, PinProblem> {
        if raw.is_empty() {
            Err(PinProblem::Empty)
        } else if !raw.starts_with(PREFIX) {
            Err(PinProblem::UnsupportedAlgorithm)
        } else if is_canonical_sha512(raw) {
            Ok(Self(raw.into()))
        } else {
            Err(PinProblem::Malformed)
        }
    }

    /// The digest of an archive.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_digest(&Sha512::digest(bytes).into())
    }

    /// A digest that was computed while the archive was read.
    #[must_use]
    pub fn from_digest(digest: &[u8; DIGEST_BYTES]) -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(digest)).into())
    }

    /// The text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a pin and a source do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinRefusal {
    /// The text is not a pin.
    #[error(transparent)]
    Problem(#[from] PinProblem),
    /// The archive has another digest.
    #[error("the archive does not have the pinned digest")]
    Mismatch,
    /// This kind of source has no archive to compare; a git source is pinned by its commit.
    #[error("a {} source has no archive to compare an integrity value with", .0.name())]
    NotForKind(SourceKind),
}

/// Checks a pin that goes with a source, before anything is fetched.
///
/// # Errors
/// [`PinRefusal`] for a text that is no pin, and for a kind without archive.
pub fn read_pin(kind: SourceKind, pin: Option<&str>) -> Result<Option<Pin>, PinRefusal> {
    let Some(pin) = pin else { return Ok(None) };
    match kind {
        SourceKind::Local | SourceKind::Git => Err(PinRefusal::NotForKind(kind)),
        SourceKind::Npm | SourceKind::Tarball | SourceKind::Registry | SourceKind::Oci => {
            Ok(Some(Pin::parse(pin)?))
        }
    }
}

/// Compares the digest of the archive with the pin and returns the digest to record; `None` for kinds without archive.
///
/// # Errors
/// [`PinRefusal`].
pub fn judge_pin(
    kind: SourceKind,
    pin: Option<&str>,
    archive: Option<Pin>,
) -> Result<Option<Pin>, PinRefusal> {
    let wanted = read_pin(kind, pin)?;
    if wanted.is_some() && wanted != archive {
        return Err(PinRefusal::Mismatch);
    }
    Ok(archive)
}

/// Whether `raw` is exactly `sha512-` and the canonical base64 of 64 bytes.
#[must_use]
pub fn is_canonical_sha512(raw: &str) -> bool {
    raw.strip_prefix(PREFIX)
        .and_then(|encoded| STANDARD.decode(encoded).ok())
        .is_some_and(|digest| digest.len() == DIGEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t75_one_canonical_form() {
        let pin = Pin::of(b"abc");
        assert_eq!(Pin::parse(pin.as_str()), Ok(pin.clone()));
        let digest = pin.as_str().strip_prefix("sha512-").unwrap();
        for (raw, problem) in [
            (String::new(), PinProblem::Empty),
            (format!(" {}", pin.as_str()), PinProblem::UnsupportedAlgorithm),
            (format!("SHA512-{digest}"), PinProblem::UnsupportedAlgorithm),
            (digest.to_owned(), PinProblem::UnsupportedAlgorithm),
            (format!("{}\n", pin.as_str()), PinProblem::Malformed),
            (format!("{} {}", pin.as_str(), pin.as_str()), PinProblem::Malformed),
            (pin.as_str().trim_end_matches('=').to_owned(), PinProblem::Malformed),
            ("sha512-".to_owned(), PinProblem::Malformed),
        ] {
            assert_eq!(Pin::parse(&raw), Err(problem), "{raw:?}");
        }
    }
}
