//! The person's own configuration file, `config.toml`: which keys there are, what they say, and how one of them is
//! changed without touching a byte of the rest.
//!
//! Nothing here comes from a project: what a repository may say is read elsewhere, and is less (decision D-18).
//!
//! Source: interface sections 8 and 11.

mod edit;
mod key;

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item};

use crate::bundle::budget::MAX_BYTES;
use crate::source::index::RegistryPlace;
use crate::text::{shown, shown_up_to};
use crate::trust::PublisherKey;

pub use edit::{EditRefusal, set, unset};
pub use key::{ConfigKey, KeyProblem};

/// Largest file that is read, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserConfig {
    /// Named registries.
    pub registries: BTreeMap<String, RegistryPlace>,
    /// The registry of names that name none.
    pub default_registry: Option<String>,
    /// Publishers whose keys the person knows.
    pub publishers: BTreeMap<String, PublisherKey>,
    /// Most content of a bundle that is installed, in bytes.
    pub bundle_bytes: Option<u64>,
    /// Every known key that is set, with its value, in the order of the keys.
    pub set: Vec<(ConfigKey, String)>,
    /// What can't be used, and why; cleaned.
    pub objections: Vec<String>,
}

impl UserConfig {
    /// Most content of a bundle that is installed, in bytes: what the person allows, else the limit of the shared
    /// format.
    #[must_use]
    pub fn max_bundle_bytes(&self) -> u64 {
        self.bundle_bytes.unwrap_or(MAX_BYTES)
    }
}

/// Reads the file. A file that is no TOML says nothing, and that is an objection.
#[must_use]
pub fn read(bytes: &[u8]) -> UserConfig {
    let mut config = UserConfig::default();
    let document = match parse(bytes) {
        Ok(document) => document,
        Err(why) => {
            config.objections.push(why);
            return config;
        }
    };
    let mut found = Vec::new();
    leaves(document.as_item(), &mut Vec::new(), &mut found);
    for (path, value) in found {
        let name = path.join(".");
        let key = match ConfigKey::parse(&name) {
            Ok(key) => key,
            Err(problem) => {
                config.objections.push(format!("{}: {problem}", shown_up_to(&name, 100)));
                continue;
            }
        };
        let Some(value) = value else {
            config.objections.push(format!("{key}: neither a text nor a number"));
            continue;
        };
        match key.check(&value) {
            Err(why) => config.objections.push(format!("{key}: {why}")),
            Ok(()) => {
                match &key {
                    ConfigKey::Registry(name) => {
                        if let Ok(place) = RegistryPlace::parse(&value) {
                            config.registries.insert(name.clone(), place);
                        }
                    }
                    ConfigKey::Publisher(name) => {
                        if let Ok(publisher) = PublisherKey::parse(&value) {
                            config.publishers.insert(name.clone(), publisher);
                        }
                    }
                    ConfigKey::DefaultRegistry => config.default_registry = Some(value.clone()),
                    ConfigKey::BundleBytes => config.bundle_bytes = key::bundle_bytes(&value),
                    ConfigKey::WhenUnavailable => {}
                }
                config.set.push((key, value));
            }
        }
    }
    config.set.sort_by_key(|(key, _)| key.to_string());
    config
}

/// Reads the text, without a byte order mark.
fn parse(bytes: &[u8]) -> Result<DocumentMut, String> {
    if bytes.len() as u64 > MAX_CONFIG_BYTES {
        return Err(format!("the file has more than {MAX_CONFIG_BYTES} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.parse::<DocumentMut>().map_err(|error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line} is no TOML: {}", shown(error.message()))
    })
}

/// Every value that is no table, with the path that leads to it; `None` for one that is neither a
/// text nor a whole number.
fn leaves(item: &Item, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Option<String>)>) {
    match item.as_table_like() {
        Some(table) => {
            for (name, inner) in table.iter() {
                path.push(name.to_owned());
                leaves(inner, path, found);
                path.pop();
            }
        }
        None if item.is_none() => {}
        None => {
            let number = || item.as_integer().map(|number| number.to_string());
            found.push((path.clone(), item.as_str().map(str::to_owned).or_else(number)));
        }
    }
}

#[cfg(test)]
mod tests;
