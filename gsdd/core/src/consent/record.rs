//! One approval.

use serde_json::{Map, Value};

use crate::ids::CapabilityId;
use crate::trust::canonical_json::string;

/// That a person approved a bundle for a project.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsentRecord {
    /// Real path of the project, not empty.
    pub project_root: String,
    /// The capability.
    pub id: CapabilityId,
    /// Digest of the archive it came from, or empty; plays no part in the decision.
    pub integrity: String,
    /// What was disclosed; plays no part in the decision.
    pub disclosure_signature: String,
    /// Which bytes were approved, not empty.
    pub content_hash: String,
    /// When, as ISO-8601 text, not empty.
    pub consented_at: String,
    /// The destination of the reviewer lane that was shown.
    pub reviewer_host: Option<String>,
    /// Members that we do not know; they are written back.
    pub extra: Map<String, Value>,
}

/// The key of a record in the file: compact JSON of root and id, in this order.
#[must_use]
pub fn record_key(root: &str, id: &str) -> String {
    format!("{{\"r\":{},\"i\":{}}}", string(root), string(id))
}

impl ConsentRecord {
    /// Reads a record; `None` when any member is missing or of another shape.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let filled = |key: &str| text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        if text("scope") != Some("project") {
            return None;
        }
        let reviewer_host = match members.get("reviewerHost") {
            None => None,
            Some(Value::String(host)) => Some(host.clone()),
            Some(_) => return None,
        };
        Some(Self {
            project_root: filled("projectRoot")?,
            id: CapabilityId::parse(text("id")?).ok()?,
            integrity: text("integrity")?.to_owned(),
            disclosure_signature: text("disclosureSignature")?.to_owned(),
            content_hash: filled("contentHash")?,
            consented_at: filled("consentedAt")?,
            reviewer_host,
            extra: members
                .iter()
                .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        })
    }

    /// The record as upstream writes it; unknown members follow.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("projectRoot".to_owned(), self.project_root.as_str().into());
        members.insert("id".to_owned(), self.id.as_str().into());
        members.insert("scope".to_owned(), "project".into());
        members.insert("integrity".to_owned(), self.integrity.as_str().into());
        members.insert("disclosureSignature".to_owned(), self.disclosure_signature.as_str().into());
        members.insert("contentHash".to_owned(), self.content_hash.as_str().into());
        members.insert("consentedAt".to_owned(), self.consented_at.as_str().into());
        if let Some(host) = &self.reviewer_host {
            members.insert("reviewerHost".to_owned(), host.as_str().into());
        }
        members.extend(self.extra.clone());
        Value::Object(members)
    }

    /// The key of this record.
    #[must_use]
    pub fn key(&self) -> String {
        record_key(&self.project_root, self.id.as_str())
    }
}

const KNOWN: [&str; 8] = [
    "projectRoot",
    "id",
    "scope",
    "integrity",
    "disclosureSignature",
    "contentHash",
    "consentedAt",
    "reviewerHost",
];
