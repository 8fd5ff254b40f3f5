//! The store as a whole.

use serde_json::{Map, Value};

use super::record::{ConsentRecord, record_key};
use super::{MAX_RECORDS, MAX_STORE_BYTES};
use crate::ids::is_reserved_property_name;
use crate::trust::canonical_json::{javascript_order, pretty};

/// All approvals of a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsentStore {
    /// All top-level members in their order; `records` is only a place holder.
    envelope: Map<String, Value>,
    /// Valid records by the key made from their own content.
    records: Map<String, Value>,
    /// Members of `records` that are not records we understand; they grant nothing and are written back.
    foreign: Map<String, Value>,
    damage: Option<StoreDamage>,
}

/// Why a store that exists was read as empty. Writing it anew loses what it held, so a caller keeps a copy first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreDamage {
    /// More than 8 MiB.
    #[error("the consent store is larger than 8 MiB")]
    TooLarge,
    /// Not JSON, or no `records` object.
    #[error("the consent store is not a JSON object with `records`")]
    Malformed,
    /// More than 4096 records.
    #[error("the consent store has more than 4096 records")]
    TooManyRecords,
}

/// There is no room for another record; both implementations would read such a store as empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the consent store is full: it holds at most 4096 records")]
pub struct StoreFull;

impl ConsentStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a store; what can't be read grants nothing. [`ConsentStore::damage`] says whether anything was lost.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        Self::read(bytes).unwrap_or_else(|damage| Self { damage: Some(damage), ..Self::default() })
    }

    fn read(bytes: &[u8]) -> Result<Self, StoreDamage> {
        if bytes.len() > MAX_STORE_BYTES {
            return Err(StoreDamage::TooLarge);
        }
        let Ok(Value::Object(mut envelope)) = serde_json::from_slice(bytes) else {
            return Err(StoreDamage::Malformed);
        };
        let Some(Value::Object(on_disk)) = envelope.get_mut("records").map(Value::take) else {
            return Err(StoreDamage::Malformed);
        };
        if on_disk.len() > MAX_RECORDS {
            return Err(StoreDamage::TooManyRecords);
        }
        let mut store = Self { envelope, ..Self::default() };
        // The last record of a project and id wins, so the order decides.
        for (key, value) in javascript_order(on_disk) {
            match ConsentRecord::read(&value) {
                Some(record) if !is_reserved_property_name(&key) => {
                    store.records.insert(record.key(), value);
                }
                _ => {
                    store.foreign.insert(key, value);
                }
            }
        }
        Ok(store)
    }

    /// Why the store was read as empty, if it was.
    #[must_use]
    pub fn damage(&self) -> Option<StoreDamage> {
        self.damage
    }

    /// Whether a version has written it that may mean something else by its members: it is read, and not written.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.envelope.get("version").is_some_and(|version| version != "1")
    }

    /// Whether exactly this content was approved for this project: `root` is its real path.
    #[must_use]
    pub fn granted(&self, root: &str, id: &str, content_hash: &str) -> bool {
        self.find(root, id).is_some_and(|record| record.content_hash == content_hash)
    }

    /// The approval of any content of `id` for this project. With another content hash it means "approved, but
    /// changed since", which is another answer than "never approved" (decision D-06).
    #[must_use]
    pub fn find(&self, root: &str, id: &str) -> Option<ConsentRecord> {
        self.records.get(&record_key(root, id)).and_then(ConsentRecord::read)
    }

    /// All records.
    pub fn iter(&self) -> impl Iterator<Item = ConsentRecord> + '_ {
        self.records.values().filter_map(ConsentRecord::read)
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds an approval, replacing an earlier one of the same project and id.
    ///
    /// # Errors
    /// [`StoreFull`].
    pub fn insert(&mut self, record: &ConsentRecord) -> Result<(), StoreFull> {
        let key = record.key();
        if !self.records.contains_key(&key) && self.records.len() + self.foreign.len() >= MAX_RECORDS {
            return Err(StoreFull);
        }
        self.foreign.shift_remove(&key);
        self.records.insert(key, record.to_value());
        Ok(())
    }

    /// Removes an approval and returns it.
    pub fn revoke(&mut self, root: &str, id: &str) -> Option<ConsentRecord> {
        self.records.shift_remove(&record_key(root, id)).as_ref().and_then(ConsentRecord::read)
    }

    /// The file: two-space JSON with a final newline, members that we do not know included.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut records = self.foreign.clone();
        records.extend(self.records.clone());
        let mut envelope = self.envelope.clone();
        envelope.entry("version").or_insert_with(|| "1".into());
        envelope.insert("records".to_owned(), Value::Object(records));
        let mut text = pretty(&Value::Object(envelope));
        text.push('\n');
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CapabilityId;

    fn record(root: &str, hash: &str) -> ConsentRecord {
        ConsentRecord {
            project_root: root.to_owned(),
            id: CapabilityId::parse("acme").unwrap(),
            integrity: String::new(),
            disclosure_signature: "[[],[],[]]".to_owned(),
            content_hash: hash.to_owned(),
            consented_at: "2026-01-01T00:00:00.000Z".to_owned(),
            reviewer_host: None,
            extra: Map::new(),
        }
    }

    #[test]
    fn a_fresh_store_has_the_upstream_bytes() {
        let mut store = ConsentStore::new();
        store.insert(&record("/p \"q\"", "sha512-a")).unwrap();
        let expected = r#"{
  "version": "1",
  "records": {
    "{\"r\":\"/p \\\"q\\\"\",\"i\":\"acme\"}": {
      "projectRoot": "/p \"q\"",
      "id": "acme",
      "scope": "project",
      "integrity": "",
      "disclosureSignature": "[[],[],[]]",
      "contentHash": "sha512-a",
      "consentedAt": "2026-01-01T00:00:00.000Z"
    }
  }
}
"#;
        assert_eq!(String::from_utf8(store.to_bytes()).unwrap(), expected);
    }

    #[test]
    fn t144_changed_content_is_told_apart_from_never_approved() {
        let mut store = ConsentStore::new();
        store.insert(&record("/p", "sha512-a")).unwrap();
        assert!(store.granted("/p", "acme", "sha512-a"));
        assert!(!store.granted("/p", "acme", "sha512-b"));
        assert_eq!(store.find("/p", "acme").unwrap().content_hash, "sha512-a");
        assert_eq!(store.find("/q", "acme"), None);
        assert_eq!(store.revoke("/p", "acme"), Some(record("/p", "sha512-a")));
        assert_eq!(store.find("/p", "acme"), None);
    }

    #[test]
    fn what_we_do_not_know_survives_a_rewrite() {
        let text = r#"{
  "records": {
    "x": {
      "scope": "machine"
    }
  },
  "later": 1.5,
  "version": "2"
}
"#;
        let store = ConsentStore::parse(text.as_bytes());
        assert!(store.is_empty());
        assert_eq!(store.damage(), None);
        assert!(store.is_newer() && !ConsentStore::new().is_newer());
        assert_eq!(String::from_utf8(store.to_bytes()).unwrap(), text);
        assert_eq!(ConsentStore::parse(b"{").damage(), Some(StoreDamage::Malformed));
    }

    #[test]
    fn a_full_store_takes_no_more() {
        let mut store = ConsentStore::new();
        for index in 0..MAX_RECORDS {
            store.insert(&record(&format!("/{index}"), "h")).unwrap();
        }
        assert_eq!(store.insert(&record("/one-more", "h")), Err(StoreFull));
        store.insert(&record("/5", "other")).unwrap();
        assert_eq!(ConsentStore::parse(&store.to_bytes()).len(), MAX_RECORDS);
    }
}
