//! What was taken from a source: enough to fetch the same again, and to notice when the same is not the same.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where one content came from. What a kind of source does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TakenFrom {
    /// Commit, for git: 40 or 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
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
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

impl TakenFrom {
    /// Whether this came with a proof that `later` came without: a digest that the person gave, an attestation, an
    /// unchanging name.
    pub(crate) fn proves_more_than(&self, later: &Self) -> bool {
        let lost = |before: &Option<String>, now: &Option<String>| before.is_some() && now.is_none();
        lost(&self.pinned, &later.pinned)
            || lost(&self.attestation, &later.attestation)
            || lost(&self.reference, &later.reference)
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
    fn unknown_members_survive() {
        let text = r#"{"commit":"c","later":1}"#;
        let from: TakenFrom = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&from).unwrap(), text);
    }
}
