//! The ledger file as a whole: strict and lenient reading, rewriting.

use serde_json::{Map, Value};

use super::entry::Entry;
use super::{MAX_ENTRIES, MAX_LEDGER_BYTES};
use crate::trust::canonical_json::pretty;

/// The only schema version that is understood.
pub const SCHEMA_VERSION: &str = "1";

/// Why a ledger is not read. The file stays as it is, so that every later change is refused too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerProblem {
    /// Not JSON, or one rule of the format is broken; one bad entry condemns the file.
    #[error("the ledger is damaged: {detail}")]
    Corrupt {
        /// What is wrong, without text from the file except ids.
        detail: String,
    },
    /// Written by something newer; the version it names.
    #[error("the ledger has the schema version `{}`, this program knows `1`", crate::text::shown_up_to(.0, 40))]
    UnsupportedVersion(String),
}

/// A ledger that passed the strict reading, or a fresh one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// All top-level members in their order; `entries` is only a place holder.
    envelope: Map<String, Value>,
    /// The entries as they are in the file, each of which [`Entry::read`] accepts.
    entries: Map<String, Value>,
}

/// Reads a ledger before a change: anything unexpected is a problem.
///
/// # Errors
/// [`LedgerProblem`]; the caller leaves the file alone.
pub fn parse_strict(bytes: &[u8]) -> Result<Ledger, LedgerProblem> {
    if bytes.len() > MAX_LEDGER_BYTES {
        return Err(corrupt("it is larger than 8 MiB"));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| corrupt(&error.to_string()))?;
    let Value::Object(mut envelope) = value else {
        return Err(corrupt("the document is not an object"));
    };
    match envelope.get("version") {
        Some(Value::String(version)) if version == SCHEMA_VERSION => {}
        Some(Value::String(version)) => return Err(LedgerProblem::UnsupportedVersion(version.clone())),
        _ => return Err(corrupt("`version` is not the text `1`")),
    }
    if envelope.get("updatedAt").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(corrupt("`updatedAt` is not text"));
    }
    let Some(Value::Object(entries)) = envelope.get_mut("entries").map(Value::take) else {
        return Err(corrupt("`entries` is not an object"));
    };
    if entries.len() > MAX_ENTRIES {
        return Err(corrupt("it has more than 4096 entries"));
    }
    for (key, value) in &entries {
        if let Err(objection) = Entry::read(key, value) {
            return Err(corrupt(&format!("entry `{}`: {objection}", crate::text::shown_up_to(key, 80))));
        }
    }
    Ok(Ledger { envelope, entries })
}

/// Reads a ledger for a report: any problem is "no ledger".
#[must_use]
pub fn parse_lenient(bytes: &[u8]) -> Option<Ledger> {
    parse_strict(bytes).ok()
}

fn corrupt(detail: &str) -> LedgerProblem {
    LedgerProblem::Corrupt { detail: detail.to_owned() }
}

impl Ledger {
    /// A ledger without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a ledger; the same as [`parse_strict`].
    ///
    /// # Errors
    /// [`LedgerProblem`].
    pub fn parse_strict(bytes: &[u8]) -> Result<Self, LedgerProblem> {
        parse_strict(bytes)
    }

    /// The entry of `id`.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.entries.get(id).and_then(|value| Entry::read(id, value).ok())
    }

    /// All entries in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().filter_map(|(key, value)| Entry::read(key, value).ok())
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry or replaces the one with its id in place. An unchanged entry keeps the order of its members.
    pub fn insert(&mut self, entry: &Entry) {
        if self.get(entry.id.as_str()).as_ref() != Some(entry) {
            self.entries.insert(entry.id.as_str().to_owned(), entry.to_value());
        }
    }

    /// Removes the entry of `id` and returns it; the others keep their order.
    pub fn remove(&mut self, id: &str) -> Option<Entry> {
        let entry = self.get(id);
        self.entries.shift_remove(id);
        entry
    }

    /// The file: two-space JSON with a final newline, members that we do not know included.
    #[must_use]
    pub fn to_bytes(&self, updated_at: &str) -> Vec<u8> {
        let mut envelope = self.envelope.clone();
        envelope.insert("version".to_owned(), SCHEMA_VERSION.into());
        envelope.insert("updatedAt".to_owned(), updated_at.into());
        envelope.insert("entries".to_owned(), Value::Object(self.entries.clone()));
        let mut text = pretty(&Value::Object(envelope));
        text.push('\n');
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::CapabilityId;
    use crate::ledger::{Pending, PendingKind, SharedEdit};

    fn entry() -> Entry {
        Entry {
            id: CapabilityId::parse("acme").unwrap(),
            version: "1.0.0".to_owned(),
            source: " ./acme".to_owned(),
            integrity: String::new(),
            files: vec![".gsd/capabilities/acme".to_owned()],
            shared_edits: vec![SharedEdit {
                file: "settings.json".to_owned(),
                marker: "acme".to_owned(),
                extra: Map::new(),
            }],
            pending: Some(Pending {
                kind: PendingKind::Install,
                backup_name: None,
                shared_files: vec![],
                extra: Map::new(),
            }),
            extra: Map::new(),
        }
    }

    #[test]
    fn a_fresh_ledger_has_the_upstream_bytes() {
        let mut ledger = Ledger::new();
        ledger.insert(&entry());
        let expected = r#"{
  "version": "1",
  "updatedAt": "2026-01-01T00:00:00.000Z",
  "entries": {
    "acme": {
      "id": "acme",
      "version": "1.0.0",
      "source": " ./acme",
      "integrity": "",
      "files": [
        ".gsd/capabilities/acme"
      ],
      "sharedEdits": [
        {
          "file": "settings.json",
          "marker": "acme"
        }
      ],
      "_pending": {
        "kind": "install",
        "backupName": null,
        "sharedFiles": []
      }
    }
  }
}
"#;
        let bytes = ledger.to_bytes("2026-01-01T00:00:00.000Z");
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
        let mut again = parse_strict(&bytes).unwrap();
        assert_eq!(again.get("acme"), Some(entry()));
        assert_eq!(again.remove("acme"), Some(entry()));
        assert!(again.is_empty());
    }

    #[test]
    fn members_of_others_survive_a_rewrite() {
        let text = r#"{
  "later": {
    "n": 12345678901234567890
  },
  "version": "1",
  "entries": {
    "acme": {
      "note": [],
      "id": "acme",
      "version": "1",
      "source": "s",
      "integrity": "",
      "files": [],
      "sharedEdits": []
    }
  },
  "updatedAt": "t"
}
"#;
        let mut ledger = parse_strict(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(ledger.to_bytes("t")).unwrap(), text);
        let mut changed = ledger.get("acme").unwrap();
        ledger.insert(&changed);
        assert_eq!(
            String::from_utf8(ledger.to_bytes("t")).unwrap(),
            text,
            "an unchanged entry keeps its order"
        );
        changed.version = "2".to_owned();
        ledger.insert(&changed);
        assert_eq!(ledger.get("acme").unwrap().extra.get("note"), Some(&Value::Array(vec![])));
    }

    #[test]
    fn t136_a_newer_ledger_is_told_apart_from_a_damaged_one() {
        assert_eq!(
            parse_strict(br#"{"version":"2","entries":5}"#),
            Err(LedgerProblem::UnsupportedVersion("2".to_owned()))
        );
        assert!(matches!(parse_strict(b"{"), Err(LedgerProblem::Corrupt { .. })));
    }

    proptest! {
        /// Any bytes are answered, and what was read is written without loss.
        #[test]
        fn reading_is_total_and_stable(text in r#"\{"version":"1","updatedAt":"t","entries":\{("a":(\{|\[)?"?[a-z0-9:,"]{0,12}\}?)?\}.{0,3}\}|.{0,20}"#) {
            if let Ok(ledger) = parse_strict(text.as_bytes()) {
                let again = parse_strict(&ledger.to_bytes("u")).unwrap();
                prop_assert_eq!(ledger.to_bytes("u"), again.to_bytes("u"));
            }
            let classified = crate::ledger::classify(text.as_bytes());
            prop_assert!(classified.len() <= 1);
        }
    }
}
