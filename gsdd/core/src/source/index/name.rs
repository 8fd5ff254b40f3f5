//! What an entry is called, and where it lies.

use std::fmt;

use crate::ids::{CapabilityId, has_id_shape};
use crate::trust::sha256;

/// Name of an entry: the id of a capability, with or without the scope of its publisher in front.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexName {
    scope: Option<Box<str>>,
    id: CapabilityId,
}

impl IndexName {
    /// Reads `id` or `@scope/id`; `None` for any other shape.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let (scope, id) = match raw.strip_prefix('@') {
            Some(scoped) => {
                let (scope, id) = scoped.split_once('/')?;
                (Some(scope), id)
            }
            None => (None, raw),
        };
        let fits = raw.len() <= 200 && scope.is_none_or(has_id_shape);
        let id = CapabilityId::parse(id).ok().filter(|_| fits)?;
        Some(Self { scope: scope.map(Into::into), id })
    }

    /// The capability that the entry is about.
    #[must_use]
    pub fn id(&self) -> &CapabilityId {
        &self.id
    }

    /// Where its file lies in the index: `entries/<two digits>/<name>.json`. The digits are the first byte of the name's
    /// SHA-256, so that the folders fill alike whatever the capabilities are called: 100,000 make about 400 files each.
    #[must_use]
    pub fn path(&self) -> String {
        let name = self.to_string();
        let digest = sha256(name.as_bytes());
        let shard: String = digest.chars().skip("sha256:".len()).take(2).collect();
        format!("entries/{shard}/{name}.json")
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Some(scope) => write!(f, "@{scope}/{}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_one_file_each() {
        let path = |raw: &str| IndexName::parse(raw).map(|name| name.path());
        assert_eq!(path("acme-lint").as_deref(), Some("entries/05/acme-lint.json"));
        assert_eq!(path("@acme/lint").as_deref(), Some("entries/b8/@acme/lint.json"));
        for raw in
            ["", "Acme", "a/b", "@/a", "@a", "@A/b", "../a", "a.b", "__proto__", "@acme/constructor", "-a"]
        {
            assert_eq!(path(raw), None, "{raw}");
        }
        let longest = "n".repeat(200);
        assert!(path(&longest).is_some() && path(&format!("{longest}n")).is_none());
    }

    #[test]
    fn a_hundred_thousand_names_fill_the_folders_alike() {
        let mut counts = std::collections::BTreeMap::<String, u32>::new();
        for at in 0..100_000 {
            let path = IndexName::parse(&format!("acme-tool-{at}")).unwrap().path();
            *counts.entry(path[..10].to_owned()).or_default() += 1;
        }
        assert_eq!(counts.len(), 256);
        assert!(counts.values().all(|count| (250..550).contains(count)), "{counts:?}");
    }
}
