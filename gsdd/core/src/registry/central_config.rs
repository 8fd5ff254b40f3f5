//! Config keys that belong to the host.
//!
//! Source: overlay model, "First-party always wins" (federated config key).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::key_pattern::KeyPattern;

/// The keys of the host's own config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CentralConfig {
    exact: HashSet<String>,
    /// Dotted prefixes of the exact keys, each with one key below it.
    ancestors: HashMap<String, String>,
    patterns: Vec<KeyPattern>,
    runtime_state: HashSet<String>,
}

/// Why a document is no central config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the central config is unusable: {0}")]
pub struct InvalidCentralConfig(&'static str);

impl CentralConfig {
    /// The keys of the embedded base.
    #[must_use]
    pub fn builtin() -> Self {
        let text = include_str!("central-config-keys.json");
        let document = crate::json::parse_lenient(text.as_bytes()).unwrap_or(Value::Null);
        // A test reads the embedded file, so the default is never used.
        Self::from_json(&document).unwrap_or_default()
    }

    /// Reads `exact_keys` or `validKeys`, `patterns` or `dynamicKeyPatterns` (texts, or objects with `source`),
    /// and `runtime_state_keys` or `runtimeStateKeys`; each may be absent.
    ///
    /// # Errors
    /// [`InvalidCentralConfig`] when a list has another shape or a pattern is not known here.
    pub fn from_json(document: &Value) -> Result<Self, InvalidCentralConfig> {
        let list = |names: [&str; 2]| -> Result<Vec<String>, InvalidCentralConfig> {
            let Some(list) = names.iter().find_map(|name| document.get(*name)) else { return Ok(Vec::new()) };
            let items = list.as_array().ok_or(InvalidCentralConfig("a member is no list"))?;
            let text = |item: &Value| Some(item.get("source").unwrap_or(item).as_str()?.to_owned());
            items.iter().map(text).collect::<Option<_>>().ok_or(InvalidCentralConfig("an entry is no text"))
        };
        if !document.is_object() {
            return Err(InvalidCentralConfig("it is no object"));
        }
        let exact: HashSet<String> = list(["exact_keys", "validKeys"])?.into_iter().collect();
        let patterns = list(["patterns", "dynamicKeyPatterns"])?;
        let mut ancestors = HashMap::new();
        for key in &exact {
            for prefix in dotted_prefixes(key) {
                ancestors.entry(prefix.to_owned()).or_insert_with(|| key.clone());
            }
        }
        Ok(Self {
            ancestors,
            exact,
            patterns: patterns
                .iter()
                .map(|pattern| KeyPattern::parse(pattern))
                .collect::<Result<_, _>>()
                .map_err(|_| InvalidCentralConfig("a pattern uses a form that is not known here"))?,
            runtime_state: list(["runtime_state_keys", "runtimeStateKeys"])?.into_iter().collect(),
        })
    }

    /// Whether `key` is one of the exact keys.
    #[must_use]
    pub fn is_exact(&self, key: &str) -> bool {
        self.exact.contains(key)
    }

    /// Whether `key` matches one of the patterns.
    #[must_use]
    pub fn matches_pattern(&self, key: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(key))
    }

    /// Whether `key` keeps state of the host.
    #[must_use]
    pub fn is_runtime_state(&self, key: &str) -> bool {
        self.runtime_state.contains(key)
    }

    /// The exact keys, in no order.
    pub fn exact_keys(&self) -> impl Iterator<Item = &str> {
        self.exact.iter().map(String::as_str)
    }

    /// An exact key that contains `key`, or that `key` contains, by dotted segments.
    #[must_use]
    pub fn nested(&self, key: &str) -> Option<&str> {
        let above = dotted_prefixes(key).find_map(|prefix| self.exact.get(prefix));
        above.or_else(|| self.ancestors.get(key)).map(String::as_str)
    }
}

/// The proper dotted prefixes of a key: `a.b.c` has `a` and `a.b`.
fn dotted_prefixes(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('.').filter_map(|(at, _)| key.get(..at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_keys_are_read() {
        let central = CentralConfig::builtin();
        assert_eq!((central.exact.len(), central.patterns.len(), central.runtime_state.len()), (106, 14, 1));
        assert!(central.is_exact("mode") && central.matches_pattern("features.x"));
        assert!(central.is_runtime_state("workflow._auto_chain_active"));
        assert_eq!(central.nested("mode.x"), Some("mode"));
        assert!(central.nested("workflow").is_some() && central.nested("workflowx").is_none());
    }
}
