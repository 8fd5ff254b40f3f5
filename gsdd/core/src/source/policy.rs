//! `strict_known_registries`: which hosts capabilities may come from.
//!
//! Upstream's key in the configuration of a project; [`crate::policy`] asks it beside its own rules. Anything of a wrong
//! type closes the door. The judgement is made over the spec, and again over every host that is really contacted.
//!
//! Source: ADR-1244 D5 rule 7, lifecycle formats section 16 (rule 11), decision D-18, threats T158 to T160.

use serde_json::Value;

use super::spec::SourceSpec;

/// The key, for messages.
pub const POLICY_KEY: &str = "capabilities.strict_known_registries";

/// One layer of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownRegistries {
    /// Nothing is said: every host.
    Open,
    /// An empty list: no source outside this machine.
    LocalOnly,
    /// Only these hosts and what is below them; trimmed, lower case. `npm` stands for npm packages.
    Listed(Vec<String>),
    /// The value, or what it lies in, has another type; the text names the key.
    Malformed(&'static str),
}

/// A configuration file as the shell found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigFile<'b> {
    /// There is none.
    Absent,
    /// There is something that is not a readable regular file of the allowed size.
    Unreadable,
    /// Its content.
    Bytes(&'b [u8]),
}

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyBlock {
    /// The list is empty.
    #[error("the policy allows local sources only")]
    LocalOnly,
    /// The host is not in the list.
    #[error("the host of this source is not in the list of known registries")]
    HostNotListed,
    /// `npm` is not in the list.
    #[error("npm packages are not in the list of known registries")]
    NpmNotListed,
    /// The policy can't be read.
    #[error("`{0}` has the wrong type, which blocks every source outside this machine")]
    Malformed(&'static str),
}

impl KnownRegistries {
    /// Reads the value of the key; absent and `null` say nothing.
    #[must_use]
    pub fn from_value(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Open,
            Some(Value::Array(items)) if items.is_empty() => Self::LocalOnly,
            // Items of another type match nothing; a list of nothing else allows nothing.
            Some(Value::Array(items)) => Self::Listed(
                items
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|entry| entry.trim().to_lowercase())
                    .filter(|entry| !entry.is_empty())
                    .collect(),
            ),
            Some(_) => Self::Malformed(POLICY_KEY),
        }
    }

    /// Reads the policy of a project out of its `.planning/config.json`. A file that can't be read allows local
    /// sources only.
    #[must_use]
    pub fn from_project_config(config: ConfigFile<'_>) -> Self {
        let bytes = match config {
            ConfigFile::Absent => return Self::Open,
            ConfigFile::Unreadable => return Self::LocalOnly,
            ConfigFile::Bytes(bytes) => bytes,
        };
        match serde_json::from_slice::<Value>(bytes) {
            Err(_) => Self::LocalOnly,
            Ok(Value::Object(root)) => match root.get("capabilities") {
                None | Some(Value::Null) => Self::Open,
                Some(Value::Object(members)) => Self::from_value(members.get("strict_known_registries")),
                Some(_) => Self::Malformed("capabilities"),
            },
            Ok(_) => Self::Malformed(".planning/config.json"),
        }
    }

    /// Judges a source. `resolved_host` is the host that is contacted when the spec itself names none, as for a
    /// named registry; without it such a source is not allowed by a list.
    ///
    /// # Errors
    /// [`PolicyBlock`].
    pub fn judge(&self, spec: &SourceSpec, resolved_host: Option<&str>) -> Result<(), PolicyBlock> {
        if matches!(spec, SourceSpec::Local { .. }) {
            return Ok(());
        }
        match self {
            Self::Open => Ok(()),
            Self::LocalOnly => Err(PolicyBlock::LocalOnly),
            Self::Malformed(key) => Err(PolicyBlock::Malformed(key)),
            Self::Listed(entries) if matches!(spec, SourceSpec::Npm { .. }) => {
                if entries.iter().any(|entry| entry == "npm") {
                    Ok(())
                } else {
                    Err(PolicyBlock::NpmNotListed)
                }
            }
            Self::Listed(entries) => match spec.host().or(resolved_host) {
                Some(host) if host_is_listed(entries, host) => Ok(()),
                _ => Err(PolicyBlock::HostNotListed),
            },
        }
    }

    /// Judges a host that is about to be contacted: a redirect, a registry, an archive behind a package.
    ///
    /// # Errors
    /// [`PolicyBlock`].
    pub fn judge_host(&self, host: &str) -> Result<(), PolicyBlock> {
        match self {
            Self::Open => Ok(()),
            Self::LocalOnly => Err(PolicyBlock::LocalOnly),
            Self::Malformed(key) => Err(PolicyBlock::Malformed(key)),
            Self::Listed(entries) if host_is_listed(entries, host) => Ok(()),
            Self::Listed(_) => Err(PolicyBlock::HostNotListed),
        }
    }
}

/// Whole host, or a suffix that starts at a label; addresses only as a whole.
fn host_is_listed(entries: &[String], host: &str) -> bool {
    let host = host.to_lowercase();
    // What ends in a number is an address in some spelling, never a name below another name.
    let last_label = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let is_address = host.starts_with('[')
        || last_label.starts_with("0x")
        || (!last_label.is_empty() && last_label.bytes().all(|b| b.is_ascii_digit()));
    entries.iter().any(|entry| {
        host == *entry
            || (!is_address
                && entry != "npm"
                && !entry.starts_with('.')
                && host.strip_suffix(entry.as_str()).is_some_and(|rest| rest.ends_with('.')))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(entries: &Value) -> KnownRegistries {
        KnownRegistries::from_value(Some(entries))
    }

    #[test]
    fn t159_hosts_match_whole_or_by_label() {
        let policy = listed(&json!(["forge.example", "203.0.113.9"]));
        for host in ["forge.example", "API.forge.example", "203.0.113.9"] {
            assert_eq!(policy.judge_host(host), Ok(()), "{host}");
        }
        for host in ["evilforge.example", "forge.example.evil", "forge.example.", "1.203.0.113.9", "npm"] {
            assert_eq!(policy.judge_host(host), Err(PolicyBlock::HostNotListed), "{host}");
        }
        for (entry, host) in [
            ("113.9", "203.0.113.9"),
            ("113.9", "203.0.113.9."),
            ("0x1", "127.0x1"),
            (".example", "forge.example"),
        ] {
            assert!(listed(&json!([entry])).judge_host(host).is_err(), "{entry} {host}");
        }
    }

    #[test]
    fn t158_wrong_types_close_the_door() {
        for config in ["[]", "5", "null", r#"{"capabilities":[]}"#, r#"{"capabilities":"x"}"#] {
            assert!(
                matches!(
                    KnownRegistries::from_project_config(ConfigFile::Bytes(config.as_bytes())),
                    KnownRegistries::Malformed(_)
                ),
                "{config}"
            );
        }
        assert_eq!(KnownRegistries::from_project_config(ConfigFile::Unreadable), KnownRegistries::LocalOnly);
        assert_eq!(KnownRegistries::from_project_config(ConfigFile::Absent), KnownRegistries::Open);
    }

    #[test]
    fn a_named_registry_is_judged_by_its_host() {
        let spec = SourceSpec::parse("cap@corp").unwrap();
        let policy = listed(&json!(["corp.example"]));
        assert_eq!(policy.judge(&spec, None), Err(PolicyBlock::HostNotListed));
        assert_eq!(policy.judge(&spec, Some("index.corp.example")), Ok(()));
    }
}
