//! Publishers' signatures in the format of minisign: the key, the signature, and what its signed comment says.
//!
//! A signature names its key by eight bytes that anybody may copy; what counts is the whole key. Where a key is known
//! from is the caller's to say: a key that arrives together with the bytes it signs proves nothing the first time.
//!
//! Source: ADR-1244 D5 rule 3, threats T74, T148, T161.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Most bytes of a signature file.
const MAX_SIGNATURE: usize = 4096;
/// Most bytes of a file with a public key.
const MAX_KEY_FILE: usize = 4096;
/// How every signature file begins.
const FIRST_WORDS: &[u8] = b"untrusted comment:";

/// Public key of a publisher.
#[derive(Clone, PartialEq, Eq)]
pub struct PublisherKey {
    text: String,
    key: minisign_verify::PublicKey,
    id: KeyId,
}

/// What a signature calls its key by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KeyId([u8; 8]);

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key of minisign is 56 characters that begin with RW, the second line of its file")]
pub struct KeyProblem;

impl PublisherKey {
    /// Reads a key, as it stands on the second line of its file.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, KeyProblem> {
        let bytes = STANDARD.decode(text).map_err(|_| KeyProblem)?;
        let key = minisign_verify::PublicKey::from_base64(text).map_err(|_| KeyProblem)?;
        // The algorithm of a key is `Ed`, whatever signatures are made with it.
        let id = match bytes.as_slice() {
            [b'E', b'd', rest @ ..] => KeyId::of(rest),
            _ => None,
        };
        Ok(Self { text: text.to_owned(), key, id: id.ok_or(KeyProblem)? })
    }

    /// Reads a file with a key: a comment, and the key on the next line.
    ///
    /// # Errors
    /// It has none.
    pub fn read_file(bytes: &[u8]) -> Result<Self, KeyProblem> {
        if bytes.len() > MAX_KEY_FILE {
            return Err(KeyProblem);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| KeyProblem)?;
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(comment), Some(key)) if comment.starts_with("untrusted comment:") => {
                Self::parse(key.trim_end())
            }
            _ => Err(KeyProblem),
        }
    }

    /// The key on one line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The short name that minisign prints: 16 hexadecimal digits. For people; another key may have the same.
    #[must_use]
    pub fn id(&self) -> String {
        self.id.to_string()
    }
}

impl fmt::Debug for PublisherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublisherKey").field(&self.text).finish()
    }
}

impl KeyId {
    /// From the front of `bytes`.
    fn of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|id| Self(*id))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

/// A detached signature, not verified.
pub struct PublisherSignature {
    text: String,
    signature: minisign_verify::Signature,
    id: KeyId,
}

/// Why a signature is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// It is not in the format of minisign.
    #[error("it is no signature of minisign")]
    Malformed,
    /// No key at hand has its key id.
    #[error("it was made with the key {0}, which is not known here")]
    UnknownKey(String),
    /// The bytes, the comment or the key are others.
    #[error("it does not fit these bytes and the key {0}")]
    Wrong(String),
}

impl PublisherSignature {
    /// Whether a file is meant to be a signature. Servers that have an answer to everything give pages instead.
    #[must_use]
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(FIRST_WORDS)
    }

    /// Reads the file of a signature.
    ///
    /// # Errors
    /// [`SignatureProblem::Malformed`].
    pub fn read(bytes: &[u8]) -> Result<Self, SignatureProblem> {
        let malformed = || SignatureProblem::Malformed;
        if bytes.len() > MAX_SIGNATURE || !Self::is_meant(bytes) {
            return Err(malformed());
        }
        let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
        let signature = minisign_verify::Signature::decode(text).map_err(|_| malformed())?;
        let named = text.lines().nth(1).and_then(|line| STANDARD.decode(line).ok());
        let id = named.as_deref().and_then(|named| KeyId::of(named.get(2..)?)).ok_or_else(malformed)?;
        Ok(Self { text: text.to_owned(), signature, id })
    }

    /// The file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key id that it gives, for people; see [`PublisherKey::id`].
    #[must_use]
    pub fn key_id(&self) -> String {
        self.id.to_string()
    }

    /// Whether `key` may be the one it was made with.
    #[must_use]
    pub fn names(&self, key: &PublisherKey) -> bool {
        self.id == key.id
    }

    /// Verifies it over `signed`, and gives its comment, which is signed too; not cleaned. Both algorithms of minisign
    /// are taken, over the bytes and over their hash.
    ///
    /// # Errors
    /// [`SignatureProblem`].
    pub fn verify(&self, key: &PublisherKey, signed: &[u8]) -> Result<&str, SignatureProblem> {
        if !self.names(key) {
            return Err(SignatureProblem::UnknownKey(self.key_id()));
        }
        key.key
            .verify(signed, &self.signature, true)
            .map_err(|_| SignatureProblem::Wrong(key.id()))
            .map(|()| self.signature.trusted_comment())
    }
}

impl fmt::Debug for PublisherSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherSignature").field("key", &self.key_id()).finish_non_exhaustive()
    }
}

/// Where a key is known from, which is what makes a signature worth something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignerTrust {
    /// The person configured it.
    Configured,
    /// The registry that the person configured names it as the publisher's.
    Registry,
    /// It signed what the person agreed to before, under the same id and in the same place.
    Agreed,
    /// It came along with the bytes, now for the first time. Nobody vouches for it yet.
    FirstSeen,
}

impl SignerTrust {
    /// Every member.
    pub const ALL: [Self; 4] = [Self::Configured, Self::Registry, Self::Agreed, Self::FirstSeen];

    /// Short stable name for programs and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Registry => "registry",
            Self::Agreed => "agreed",
            Self::FirstSeen => "first-seen",
        }
    }

    /// The member of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.name() == name)
    }

    /// Whether a signature with such a key is proof. What brings its own key could bring any.
    #[must_use]
    pub fn counts(self) -> bool {
        match self {
            Self::Configured | Self::Registry | Self::Agreed => true,
            Self::FirstSeen => false,
        }
    }
}

/// The repository and the commit that a signed comment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedOrigin<'a> {
    /// As written.
    pub repository: &'a str,
    /// 40 or 64 hexadecimal digits.
    pub commit: &'a str,
}

impl<'a> SignedOrigin<'a> {
    /// Reads the words `repository:URL` and `commit:ID` of a signed comment. Either of them missing, twice or not a
    /// whole commit id: no origin.
    #[must_use]
    pub fn read(comment: &'a str) -> Option<Self> {
        let value = |name: &str| {
            let mut values = comment.split_whitespace().filter_map(|word| word.strip_prefix(name));
            values.next().filter(|_| values.next().is_none())
        };
        let (repository, commit) = (value("repository:")?, value("commit:")?);
        let is_whole = matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
        (is_whole && !repository.is_empty()).then_some(Self { repository, commit })
    }

    /// Whether a manifest says the same in `provenance`. A `.git`, a slash at the end and `git+` in front make no
    /// difference.
    #[must_use]
    pub fn is_that_of(&self, manifest: &serde_json::Value) -> bool {
        let member = |name: &str| manifest.get("provenance")?.get(name)?.as_str();
        let bare = |url: &str| {
            let url = url.strip_prefix("git+").unwrap_or(url).trim_end_matches('/');
            url.strip_suffix(".git").unwrap_or(url).to_owned()
        };
        member("sourceRepo").is_some_and(|repository| bare(repository) == bare(self.repository))
            && member("commit").is_some_and(|commit| commit.eq_ignore_ascii_case(self.commit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    // Made by minisign itself over the bytes `test`; from the documentation of its libraries.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const LEGACY: &str = "untrusted comment: signature from minisign secret key\n\
        RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\n\
        trusted comment: timestamp:1555779966\tfile:test\n\
        QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==\n";
    const HASHED: &str = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";

    fn key() -> PublisherKey {
        PublisherKey::parse(KEY).unwrap()
    }

    #[test]
    fn both_algorithms_of_minisign_are_verified() {
        for (text, comment) in
            [(LEGACY, "timestamp:1555779966\tfile:test"), (HASHED, "timestamp:1556193335\tfile:test")]
        {
            let signature = PublisherSignature::read(text.as_bytes()).unwrap();
            assert_eq!(signature.key_id(), "E7620F1842B4E81F");
            assert_eq!(signature.verify(&key(), b"test"), Ok(comment));
            let wrong = Err(SignatureProblem::Wrong("E7620F1842B4E81F".into()));
            assert_eq!(signature.verify(&key(), b"tesu"), wrong);
            // The comment is signed as well.
            let other = text.replace("file:test", "file:tset");
            let other = PublisherSignature::read(other.as_bytes()).unwrap();
            assert_eq!(other.verify(&key(), b"test"), wrong);
        }
    }

    #[test]
    fn t161_a_key_that_borrows_the_id_of_another_gains_nothing() {
        let mut bytes = STANDARD.decode(KEY).unwrap();
        bytes[20] ^= 1;
        let forged = PublisherKey::parse(&STANDARD.encode(&bytes)).unwrap();
        assert_eq!(forged.id(), key().id());
        assert_ne!(forged, key());
        let signature = PublisherSignature::read(HASHED.as_bytes()).unwrap();
        assert_eq!(signature.verify(&forged, b"test"), Err(SignatureProblem::Wrong(key().id())));
        bytes[2] ^= 1;
        let other = PublisherKey::parse(&STANDARD.encode(&bytes)).unwrap();
        assert_eq!(signature.verify(&other, b"test"), Err(SignatureProblem::UnknownKey(key().id())));
    }

    #[test]
    fn what_is_no_key_and_no_signature_is_refused() {
        for text in ["", "RW", &KEY[1..], &format!("{KEY} "), &KEY.replacen('Q', "x", 1), &KEY.to_lowercase()]
        {
            assert_eq!(PublisherKey::parse(text).err(), Some(KeyProblem), "{text}");
        }
        let file = format!("untrusted comment: minisign public key E7620F1842B4E81F\r\n{KEY}\r\n");
        assert_eq!(PublisherKey::read_file(file.as_bytes()), Ok(key()));
        assert_eq!(PublisherKey::read_file(KEY.as_bytes()), Err(KeyProblem));
        let long = format!("{HASHED}{}", "x".repeat(MAX_SIGNATURE));
        for text in ["", "<html>", "untrusted comment: x", long.as_str(), &HASHED.replacen("RUQ", "RVQ", 1)] {
            assert!(PublisherSignature::read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(
            PublisherSignature::is_meant(b"untrusted comment:") && !PublisherSignature::is_meant(b"<html>")
        );
    }

    #[test]
    fn a_signed_comment_is_compared_with_the_manifest() {
        let commit = "2f1c9e0c1f0f5b8d8a3d9b7d6c5b4a3928171605";
        let comment = format!("timestamp:1 repository:https://forge.example/acme/lint\tcommit:{commit}");
        let origin = SignedOrigin::read(&comment).unwrap();
        let manifest = |repository: &str, commit: &str| json!({"provenance": {"sourceRepo": repository, "commit": commit}});
        assert!(origin.is_that_of(&manifest("https://forge.example/acme/lint.git", commit)));
        assert!(origin.is_that_of(&manifest("git+https://forge.example/acme/lint/", &commit.to_uppercase())));
        assert!(!origin.is_that_of(&manifest("https://forge.example/acme/other", commit)));
        assert!(!origin.is_that_of(&manifest("https://forge.example/acme/lint", &commit[..12])));
        for nothing in [json!({}), json!({"provenance": 1}), json!({"provenance": {"commit": commit}})] {
            assert!(!origin.is_that_of(&nothing), "{nothing}");
        }
        for comment in [
            format!("commit:{commit}"),
            "repository:https://x.example/a commit:2f1c9e0".to_owned(),
            format!("repository:x commit:{commit} commit:{commit}"),
            format!("repository: commit:{commit}"),
        ] {
            assert_eq!(SignedOrigin::read(&comment), None, "{comment}");
        }
    }

    proptest! {
        /// Bytes of strangers never end the program.
        #[test]
        fn reading_is_total(bytes in prop::collection::vec(any::<u8>(), 0..300), line in "[A-Za-z0-9+/=]{0,120}") {
            drop(PublisherSignature::read(&bytes));
            drop(PublisherKey::read_file(&bytes));
            drop(PublisherKey::parse(&line));
            let file = format!("untrusted comment: x\n{line}\ntrusted comment: y\n{line}\n");
            if let Ok(signature) = PublisherSignature::read(file.as_bytes()) {
                drop(signature.verify(&key(), &bytes));
            }
        }
    }
}
