//! One rule: what one key of one file says.

use serde_json::{Value, json};

use super::key::{Door, Key};
use super::matcher::Matcher;
use super::place::Place;
use super::surface_class::SurfaceClass;
use crate::ids::CapabilityId;
use crate::source::network::PrivateHost;
use crate::source::policy::KnownRegistries;
use crate::trust::VerificationLevel;

/// A rule with its place.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The key.
    pub key: Key,
    /// Whose it is and where.
    pub place: Place,
    /// What it says.
    pub says: Says,
}

/// What a key says.
#[derive(Clone, Debug)]
pub enum Says {
    /// Only these sources.
    Allow(Vec<Matcher>),
    /// Not these sources.
    Deny(Vec<Matcher>),
    /// Whether a repository has to be named with a commit.
    RequireCommit(bool),
    /// At least this level.
    MinLevel(VerificationLevel),
    /// Whether an agreement without looking counts.
    Blanket(bool),
    /// Whether updates are made without a person.
    Unattended(bool),
    /// Classes that neither get in nor run.
    Forbid(Vec<SurfaceClass>),
    /// What has to be there.
    Required(Vec<CapabilityId>),
    /// Hosts that may be reached although they are not public.
    PrivateHosts(Vec<PrivateHost>),
    /// Upstream's list.
    KnownRegistries(KnownRegistries),
    /// Something that can't be honoured: what its key decides is closed.
    Unusable {
        /// What is wrong with it, naming the key; cleaned.
        what: String,
        /// What is closed.
        door: Door,
    },
}

impl Rule {
    /// Whether it is about where sources are.
    #[must_use]
    pub fn limits_sources(&self) -> bool {
        match &self.says {
            Says::Allow(_) | Says::Deny(_) => true,
            Says::KnownRegistries(known) => *known != KnownRegistries::Open,
            Says::Unusable { door, .. } => match door {
                Door::File | Door::External | Door::Sources => true,
                Door::Blanket | Door::Unattended | Door::Executable(_) | Door::Nothing => false,
            },
            Says::RequireCommit(_)
            | Says::MinLevel(_)
            | Says::Blanket(_)
            | Says::Unattended(_)
            | Says::Forbid(_)
            | Says::Required(_)
            | Says::PrivateHosts(_) => false,
        }
    }

    /// Whether what it decides is closed because it can't be honoured.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        matches!(&self.says, Says::Unusable { .. } | Says::KnownRegistries(KnownRegistries::Malformed(_)))
    }

    /// What it says, for programs; `null` when it can't be honoured.
    #[must_use]
    pub fn value(&self) -> Value {
        match &self.says {
            Says::Allow(entries) | Says::Deny(entries) => {
                entries.iter().map(|entry| Value::String(entry.to_string())).collect()
            }
            Says::RequireCommit(on) | Says::Blanket(on) | Says::Unattended(on) => json!(on),
            Says::MinLevel(level) => json!(level.name()),
            Says::Forbid(classes) => classes.iter().map(|class| json!(class.name())).collect(),
            Says::Required(ids) => ids.iter().map(|id| json!(id.as_str())).collect(),
            Says::PrivateHosts(hosts) => hosts.iter().map(|host| json!(host.to_string())).collect(),
            Says::KnownRegistries(KnownRegistries::LocalOnly) => json!([]),
            Says::KnownRegistries(KnownRegistries::Listed(hosts)) => json!(hosts),
            Says::KnownRegistries(KnownRegistries::Open | KnownRegistries::Malformed(_))
            | Says::Unusable { .. } => Value::Null,
        }
    }

    /// What can't be honoured, if so.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.says {
            Says::Unusable { what, .. } => Some(what.clone()),
            Says::KnownRegistries(KnownRegistries::Malformed(key)) => {
                Some(format!("`{key}` has the wrong type"))
            }
            _ => None,
        }
    }
}
