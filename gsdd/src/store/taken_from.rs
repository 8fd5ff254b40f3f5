//! What was taken from a source: enough to fetch the same again, and to notice when the same is not the same.

use gsdd_core::trust::{SignedOrigin, SignerTrust, VerificationLevel};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where one content came from. What a kind of source does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TakenFrom {
    /// Commit, for git: 40 or 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// The tag that named that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
    /// Digest of the archive, `sha512-<base64>`; what the ledger has as `integrity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) archive: Option<String>,
    /// The source that the person gave that digest for, when they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pinned: Option<String>,
    /// Where the archive came from in the end, without its query, which may be a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Version that a registry resolved a range or tag to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Digest of an OCI manifest, `sha256:<hex>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) manifest_digest: Option<String>,
    /// Where the registry offers a provenance attestation; it is recorded, not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attestation: Option<String>,
    /// A name that means these bytes and no others, ever: a commit, an exact version, a digest, a pinned URL. `None`
    /// for a name that may get other bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<String>,
    /// Hash of the content as it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// What the way it came proves by itself, signatures aside; name of a [`VerificationLevel`]. Absent in records of
    /// before there were levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<String>,
    /// Who signed it; the signature was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signer: Option<Signer>,
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

/// A publisher whose signature was verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Signer {
    /// Public key, on one line.
    pub(crate) key: String,
    /// What the person calls it, when they configured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Where the key was known from at that time; name of a [`SignerTrust`].
    pub(crate) trust: String,
    /// The signed comment, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) comment: String,
    /// Whether that comment names the repository and the commit that the manifest names, and nothing that was fetched
    /// says otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) provenance: bool,
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

impl Signer {
    /// Where the key was known from; what a later version may have recorded is no more than the first sight.
    pub(crate) fn trust(&self) -> SignerTrust {
        SignerTrust::parse(&self.trust).unwrap_or(SignerTrust::FirstSeen)
    }
}

/// How well it is known where a content comes from.
///
/// Source: ADR-1244 D5 rule 3.
pub(crate) fn level_of(from: &TakenFrom) -> VerificationLevel {
    let carried = from.carried();
    match &from.signer {
        Some(signer) if signer.trust().counts() => carried.max(match signer.provenance {
            true => VerificationLevel::Provenance,
            false => VerificationLevel::Signature,
        }),
        Some(_) | None => carried,
    }
}

impl TakenFrom {
    /// What the way it came proves by itself. Records of before there were levels get no more than what they tell: a
    /// commit may have been that of a branch, a digest of a manifest that of a tag.
    pub(crate) fn carried(&self) -> VerificationLevel {
        let recorded = self.carried.as_deref().and_then(VerificationLevel::parse);
        recorded.filter(|level| *level <= VerificationLevel::Pin).unwrap_or_else(|| {
            if self.pinned.is_some() && self.archive.is_some() {
                VerificationLevel::Pin
            } else if (self.version.is_some() && self.archive.is_some()) || self.manifest_digest.is_some() {
                VerificationLevel::Digest
            } else if self.commit.is_some() || self.url.is_some() {
                VerificationLevel::Transport
            } else {
                VerificationLevel::None
            }
        })
    }

    /// The same with what the way it came proves.
    pub(crate) fn carrying(self, level: VerificationLevel) -> Self {
        Self { carried: Some(level.name().to_owned()), ..self }
    }

    /// Whether the signed comment says where the bytes were built from, as `manifest` does. A repository that was
    /// fetched from has to have been at that commit.
    pub(crate) fn has_provenance(&self, manifest: &Value) -> bool {
        let Some(origin) = self.signer.as_ref().and_then(|signer| SignedOrigin::read(&signer.comment)) else {
            return false;
        };
        origin.is_that_of(manifest)
            && self.commit.as_ref().is_none_or(|commit| commit.eq_ignore_ascii_case(origin.commit))
    }

    /// Whether the registry offered an attestation and offers none for `later`. It is not verified, so it is no level;
    /// its absence is what a person should look at.
    pub(crate) fn lost_attestation(&self, later: &Self) -> bool {
        self.attestation.is_some() && later.attestation.is_none()
    }

    /// Whether `later` was named by the same tag of the same repository, and is another commit. Tags are for one commit,
    /// and nothing enforces that.
    pub(crate) fn was_moved(&self, later: &Self) -> bool {
        let place =
            |from: &Self| from.reference.as_ref()?.rsplit_once('#').map(|(place, _)| place.to_owned());
        self.tag.is_some()
            && self.tag == later.tag
            && place(self) == place(later)
            && self.commit != later.commit
    }

    /// What is known of `content`: this, when it is what was fetched; else only where it came from once.
    pub(crate) fn of_content(&self, content: &str) -> Self {
        if self.content.as_deref().is_none_or(|fetched| fetched == content) {
            return self.clone();
        }
        Self { signer: None, ..self.clone() }.carrying(VerificationLevel::None)
    }

    /// This, after `before`. Where the bytes are the same, what was proved of them stays proved, and a key that has only
    /// signed these does not become a known one by being seen twice.
    pub(crate) fn continuing(self, before: &Self) -> Self {
        if self.content.is_none() || self.content != before.content {
            return self;
        }
        let carried = self.carried().max(before.carried());
        let signer = match (self.signer.clone(), &before.signer) {
            (None, kept) => kept.clone(),
            (Some(now), Some(kept)) if now.key == kept.key && now.trust() == SignerTrust::Agreed => {
                Some(Signer { trust: kept.trust.clone(), ..now })
            }
            (now, _) => now,
        };
        Self { signer, ..self }.carrying(carried)
    }

    /// Whether nothing of what is proved differs from `other`.
    pub(crate) fn proves_the_same_as(&self, other: &Self) -> bool {
        self.carried() == other.carried() && self.signer == other.signer
    }

    /// Whether `later` has the same unchanging name and other bytes. Archives are compared where both have one: how
    /// they are unpacked may change with our version.
    pub(crate) fn contradicts(&self, later: &Self) -> bool {
        let differ = |left: &Option<String>, right: &Option<String>| match (left, right) {
            (Some(left), Some(right)) => Some(left != right),
            _ => None,
        };
        self.reference.is_some()
            && self.reference == later.reference
            && differ(&self.archive, &later.archive)
                .or_else(|| differ(&self.content, &later.content))
                .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(reference: Option<&str>, archive: Option<&str>, content: &str) -> TakenFrom {
        TakenFrom {
            reference: reference.map(str::to_owned),
            archive: archive.map(str::to_owned),
            content: Some(content.to_owned()),
            ..TakenFrom::default()
        }
    }

    #[test]
    fn t74_t86_other_bytes_under_an_unchanging_name_are_noticed() {
        let commit = taken(Some("git+https://h.example/r#c0ffee"), None, "one");
        assert!(commit.contradicts(&taken(commit.reference.as_deref(), None, "two")));
        assert!(!commit.contradicts(&commit));
        assert!(!commit.contradicts(&taken(Some("other"), None, "two")));
        let package = taken(Some("npm:p@1.0.0"), Some("a"), "one");
        assert!(package.contradicts(&taken(Some("npm:p@1.0.0"), Some("b"), "one")));
        assert!(!package.contradicts(&taken(Some("npm:p@1.0.0"), Some("a"), "unpacked otherwise")));
        // A name that may change: a branch, a URL without a digest.
        assert!(!taken(None, Some("a"), "one").contradicts(&taken(None, Some("b"), "two")));
    }

    #[test]
    fn records_of_before_there_were_levels_get_what_they_tell() {
        use VerificationLevel::{Digest, None, Pin, Signature, Transport};
        for (record, level) in [
            (r#"{}"#, None),
            (r#"{"content":"c"}"#, None),
            (r#"{"url":"https://h.example/a.tgz","archive":"a"}"#, Transport),
            (r#"{"commit":"c","reference":"git+https://h.example/r#c"}"#, Transport),
            (r#"{"version":"1.0.0","archive":"a","reference":"npm:p@1.0.0"}"#, Digest),
            (r#"{"manifestDigest":"sha256:0","archive":"a"}"#, Digest),
            (r#"{"pinned":"https://h.example/a.tgz","archive":"a"}"#, Pin),
            (r#"{"carried":"pin","commit":"c"}"#, Pin),
            // A way by itself proves no signature, and what a later version says is not guessed at.
            (r#"{"carried":"signature","commit":"c"}"#, Transport),
            (r#"{"carried":"hearsay"}"#, None),
            (r#"{"carried":"transport","signer":{"key":"k","trust":"configured"}}"#, Signature),
            (
                r#"{"carried":"transport","signer":{"key":"k","trust":"first-seen","provenance":true}}"#,
                Transport,
            ),
            (r#"{"carried":"transport","signer":{"key":"k","trust":"later"}}"#, Transport),
        ] {
            let from: TakenFrom = serde_json::from_str(record).unwrap();
            assert_eq!(level_of(&from), level, "{record}");
        }
    }

    #[test]
    fn a_signed_comment_is_provenance_when_manifest_and_commit_agree() {
        let commit = "2f1c9e0c1f0f5b8d8a3d9b7d6c5b4a3928171605";
        let comment = format!("repository:https://h.example/r commit:{commit}");
        let signer = Signer { comment, ..Signer::default() };
        let manifest =
            serde_json::json!({"provenance": {"sourceRepo": "https://h.example/r", "commit": commit}});
        let archive = TakenFrom { signer: Some(signer), ..TakenFrom::default() };
        assert!(archive.has_provenance(&manifest));
        assert!(!archive.has_provenance(&Value::Null));
        let at = |commit: &str| TakenFrom { commit: Some(commit.to_owned()), ..archive.clone() };
        assert!(at(commit).has_provenance(&manifest) && !at("c0ffee").has_provenance(&manifest));
        assert!(!TakenFrom::default().has_provenance(&manifest));
    }

    #[test]
    fn other_bytes_than_were_fetched_have_no_level() {
        let from = TakenFrom {
            signer: Some(Signer { trust: "agreed".into(), ..Signer::default() }),
            ..taken(None, None, "one")
        };
        assert_eq!(level_of(&from.of_content("one")), VerificationLevel::Signature);
        assert_eq!(level_of(&from.of_content("two")), VerificationLevel::None);
        assert_eq!(from.of_content("two").content.as_deref(), Some("one"));
    }

    #[test]
    fn t86_a_tag_that_names_another_commit_was_moved() {
        let at = |tag: &str, place: &str, commit: &str| TakenFrom {
            tag: Some(tag.to_owned()),
            commit: Some(commit.to_owned()),
            reference: Some(format!("git+{place}#{commit}")),
            ..TakenFrom::default()
        };
        let before = at("v1", "https://h.example/r", "c0ffee");
        assert!(before.was_moved(&at("v1", "https://h.example/r", "decaf")));
        assert!(!before.was_moved(&before));
        assert!(!before.was_moved(&at("v2", "https://h.example/r", "decaf")));
        assert!(!before.was_moved(&at("v1", "https://h.example/other", "decaf")));
        let branch = TakenFrom { tag: None, ..before.clone() };
        assert!(!branch.was_moved(&TakenFrom { tag: None, ..at("", "https://h.example/r", "decaf") }));
    }

    #[test]
    fn the_same_bytes_keep_what_was_proved_of_them() {
        let signed = |trust: &str| Signer { key: "k".into(), trust: trust.into(), ..Signer::default() };
        let with =
            |signer: Option<Signer>, level| TakenFrom { signer, ..taken(None, None, "one") }.carrying(level);
        let before = with(Some(signed("first-seen")), VerificationLevel::Pin);
        let again = with(Some(signed("agreed")), VerificationLevel::Transport).continuing(&before);
        assert_eq!(
            (again.carried(), again.signer.unwrap().trust()),
            (VerificationLevel::Pin, SignerTrust::FirstSeen)
        );
        let unsigned = with(None, VerificationLevel::Transport).continuing(&before);
        assert!(unsigned.proves_the_same_as(&before));
        let known = with(Some(signed("configured")), VerificationLevel::Transport).continuing(&before);
        assert_eq!(level_of(&known), VerificationLevel::Signature);
        let other = TakenFrom { content: Some("two".into()), ..with(None, VerificationLevel::Transport) };
        assert_eq!(other.clone().continuing(&before), other);
    }

    #[test]
    fn unknown_members_survive() {
        let text = r#"{"commit":"c","signer":{"key":"k","trust":"agreed","later":1},"later":1}"#;
        let from: TakenFrom = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&from).unwrap(), text);
    }
}
