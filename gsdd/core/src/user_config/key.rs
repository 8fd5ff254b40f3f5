//! The keys.

use std::fmt;

use crate::bundle::budget::MOST_BYTES;
use crate::explain::{MAX_COMPARED, distance};
use crate::source::index::{RegistryPlace, is_registry_name};
use crate::trust::PublisherKey;

/// A key of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigKey {
    /// `hooks.when_unavailable`: what a hook answers when nobody can be asked.
    WhenUnavailable,
    /// `limits.bundle_bytes`: most content of a bundle that is installed.
    BundleBytes,
    /// `default_registry`: the registry of names that name none.
    DefaultRegistry,
    /// `registries.<name>`: where a named registry is.
    Registry(String),
    /// `publishers.<name>`: the public key of a publisher that the person knows.
    Publisher(String),
}

/// Why a text is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// There is no such key.
    #[error("there is no such key")]
    Unknown {
        /// What was probably meant.
        near: Vec<&'static str>,
    },
    /// The part after `registries.` can't be a name.
    #[error("the name of a registry starts with a letter and has only letters, digits, - and _")]
    RegistryName,
    /// The part after `publishers.` can't be a name.
    #[error("the name of a publisher starts with a letter and has only letters, digits, - and _")]
    PublisherName,
}

/// How the keys are written, for messages; `<name>` is the person's.
const KEYS: [&str; 5] = [
    "default_registry",
    "hooks.when_unavailable",
    "limits.bundle_bytes",
    "publishers.<name>",
    "registries.<name>",
];
/// Least value of `limits.bundle_bytes`.
const LEAST_BYTES: u64 = 1024 * 1024;

impl ConfigKey {
    /// Reads a key as it is typed, with dots.
    ///
    /// # Errors
    /// [`KeyProblem`], with what was probably meant.
    pub fn parse(raw: &str) -> Result<Self, KeyProblem> {
        match raw {
            "hooks.when_unavailable" => return Ok(Self::WhenUnavailable),
            "limits.bundle_bytes" => return Ok(Self::BundleBytes),
            "default_registry" => return Ok(Self::DefaultRegistry),
            _ => {}
        }
        if let Some(name) = raw.strip_prefix("publishers.") {
            let is_name = is_registry_name(name);
            return if is_name {
                Ok(Self::Publisher(name.to_owned()))
            } else {
                Err(KeyProblem::PublisherName)
            };
        }
        match raw.strip_prefix("registries.") {
            Some(name) if is_registry_name(name) => Ok(Self::Registry(name.to_owned())),
            Some(_) => Err(KeyProblem::RegistryName),
            None => Err(KeyProblem::Unknown { near: near(raw) }),
        }
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What is wrong with it, without text of the value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        match self {
            Self::WhenUnavailable if matches!(value, "pass" | "ask" | "deny") => Ok(()),
            Self::WhenUnavailable => Err("the value is pass, ask or deny".to_owned()),
            Self::BundleBytes => bundle_bytes(value).map(drop).ok_or_else(|| {
                format!("the value is a number of bytes from {LEAST_BYTES} (1 MiB) to {MOST_BYTES} (1 GiB)")
            }),
            Self::DefaultRegistry if is_registry_name(value) => Ok(()),
            Self::DefaultRegistry => Err(KeyProblem::RegistryName.to_string()),
            Self::Registry(_) => RegistryPlace::parse(value).map(drop).map_err(|problem| problem.to_string()),
            Self::Publisher(_) => PublisherKey::parse(value).map(drop).map_err(|problem| problem.to_string()),
        }
    }

    /// Table and name in the file.
    #[must_use]
    pub(super) fn path(&self) -> (Option<&'static str>, &str) {
        match self {
            Self::WhenUnavailable => (Some("hooks"), "when_unavailable"),
            Self::BundleBytes => (Some("limits"), "bundle_bytes"),
            Self::DefaultRegistry => (None, "default_registry"),
            Self::Registry(name) => (Some("registries"), name),
            Self::Publisher(name) => (Some("publishers"), name),
        }
    }

    /// A checked value as the file has it.
    pub(super) fn value(&self, text: &str) -> toml_edit::Value {
        match self {
            Self::BundleBytes => match text.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => text.into(),
            },
            Self::WhenUnavailable | Self::DefaultRegistry | Self::Registry(_) | Self::Publisher(_) => {
                text.into()
            }
        }
    }

    /// How all keys are written.
    #[must_use]
    pub fn all() -> &'static [&'static str] {
        &KEYS
    }
}

/// The value of `limits.bundle_bytes`.
pub(super) fn bundle_bytes(value: &str) -> Option<u64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|bytes| plain && (LEAST_BYTES..=MOST_BYTES).contains(bytes))
}

impl fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            (Some(table), name) => write!(f, "{table}.{name}"),
            (None, name) => f.write_str(name),
        }
    }
}

fn near(raw: &str) -> Vec<&'static str> {
    let wanted: Vec<char> = raw.to_lowercase().chars().take(MAX_COMPARED + 1).collect();
    if wanted.is_empty() || wanted.len() > MAX_COMPARED {
        return Vec::new();
    }
    // What the person chose themselves is no slip of the hand.
    let table: Vec<char> = wanted.iter().copied().take_while(|c| *c != '.').collect();
    let allowed = |name: &[char]| (name.len() / 3).max(1);
    KEYS.into_iter()
        .filter(|key| match key.strip_suffix(".<name>") {
            Some(key) => distance(&table, &key.chars().collect::<Vec<_>>()) <= (table.len() / 2).max(1),
            None => {
                let last = key.rsplit('.').next().unwrap_or_default();
                [*key, last]
                    .iter()
                    .any(|key| distance(&wanted, &key.chars().collect::<Vec<_>>()) <= allowed(&wanted))
            }
        })
        .collect()
}
