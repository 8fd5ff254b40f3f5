//! What the host ships: the frozen first-party set with its contract and config keys.
//!
//! Source: overlay model, "The central idea" (frozen and generated first-party registry).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::central_config::CentralConfig;
use super::composed::{Composed, Registry};
use super::host_contract::HostContract;
use crate::compose::{Scope, check_shipped};
use crate::ids::CapabilityId;
use crate::manifest::{Manifest, Problem, RuleId, Strictness, assess_as};
use crate::version::HostVersion;

/// One shipped capability as read.
#[derive(Clone, Debug, Default)]
pub struct BaseManifest {
    /// Name of its folder.
    pub dir_name: String,
    /// Bytes of `capability.json`.
    pub bytes: Vec<u8>,
    /// Fragment files by the path that the manifest names.
    pub fragments: BTreeMap<String, String>,
}

/// Everything a base is made of.
#[derive(Clone, Debug)]
pub struct BaseParts {
    /// The capabilities.
    pub manifests: Vec<BaseManifest>,
    /// The loop's contract.
    pub contract: HostContract,
    /// The host's own config keys.
    pub central: CentralConfig,
    /// Built-in skill clusters: name to skills. An id with such a name must own exactly those.
    pub clusters: BTreeMap<String, Vec<String>>,
    /// Hand-authored install profiles: name to skills, `None` for all.
    pub profiles: BTreeMap<String, Option<Vec<String>>>,
    /// The level that `engines.gsd` is compared with.
    pub gsd_version: HostVersion,
}

impl Default for BaseParts {
    /// An empty base with the embedded contract and keys.
    fn default() -> Self {
        Self {
            manifests: Vec::new(),
            contract: HostContract::builtin(),
            central: CentralConfig::builtin(),
            clusters: BTreeMap::new(),
            profiles: BTreeMap::new(),
            gsd_version: HostVersion::default(),
        }
    }
}

/// What is wrong with a shipped capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseProblem {
    /// Name of its folder.
    pub dir_name: String,
    /// The broken rule.
    pub problem: Problem,
}

/// The frozen first-party set.
#[derive(Clone, Debug)]
pub struct Base {
    registry: Arc<Registry>,
    contract: HostContract,
    central: CentralConfig,
    clusters: BTreeMap<String, Vec<String>>,
    profiles: BTreeMap<String, Option<Vec<String>>>,
    gsd_version: HostVersion,
}

impl Base {
    /// Builds the base. Shipped capabilities are held to upstream's rules, not to the ones we added, so that
    /// another base than the embedded one can be used.
    ///
    /// # Errors
    /// Every [`BaseProblem`], when there is one.
    pub fn build(parts: BaseParts) -> Result<Self, Vec<BaseProblem>> {
        let mut problems = Vec::new();
        let mut composed = Vec::new();
        for shipped in parts.manifests {
            let assessed = assess_as(Strictness::Shipped, &shipped.dir_name, &shipped.bytes, &parts.contract);
            let blame = |problem| BaseProblem { dir_name: shipped.dir_name.clone(), problem };
            let Some(manifest) = assessed.manifest else {
                problems.extend(assessed.problems.into_iter().map(blame));
                continue;
            };
            for path in assessed.fragment_paths.iter().filter(|path| !shipped.fragments.contains_key(*path)) {
                let message = format!("the fragment file `{}` cannot be read", crate::text::shown(path));
                problems.push(blame(Problem::new(RuleId::OverlayFragmentUnreadable, String::new(), message)));
            }
            let read = |path: &str| shipped.fragments.get(path).map(|text| Arc::from(text.as_str()));
            composed.push(Arc::new(Composed::new(manifest, Scope::FirstParty, read)));
        }
        composed.sort_by(|a, b| a.id().cmp(b.id()));
        let manifests: Vec<&Manifest> =
            composed.iter().map(|capability| capability.manifest.as_ref()).collect();
        for (manifest, problem) in check_shipped(&manifests, &parts.contract, &parts.central) {
            problems.push(BaseProblem { dir_name: manifest.id.as_str().to_owned(), problem });
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let registry = Registry::build(composed).map_err(|cycle| {
            let rule =
                if cycle.steps { RuleId::OrderStepsAcyclic } else { RuleId::OrderContributionsAcyclic };
            let message = format!("hooks at {} wait for each other", cycle.point);
            let blame = |owner: &Arc<Composed>| BaseProblem {
                dir_name: owner.id().as_str().to_owned(),
                problem: Problem::new(rule, String::new(), message.clone()),
            };
            cycle.owners.iter().map(blame).collect::<Vec<_>>()
        })?;
        Ok(Self {
            registry: Arc::new(registry),
            contract: parts.contract,
            central: parts.central,
            clusters: parts.clusters,
            profiles: parts.profiles,
            gsd_version: parts.gsd_version,
        })
    }

    /// The registry without any installed capability.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Ids of the shipped capabilities, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &CapabilityId> {
        self.registry.capabilities().iter().map(|capability| capability.id())
    }

    /// The loop's contract.
    #[must_use]
    pub fn contract(&self) -> &HostContract {
        &self.contract
    }

    /// The host's own config keys.
    #[must_use]
    pub fn central(&self) -> &CentralConfig {
        &self.central
    }

    /// Built-in skill clusters.
    #[must_use]
    pub fn clusters(&self) -> &BTreeMap<String, Vec<String>> {
        &self.clusters
    }

    /// Hand-authored install profiles; `None` stands for every skill.
    #[must_use]
    pub fn profiles(&self) -> &BTreeMap<String, Option<Vec<String>>> {
        &self.profiles
    }

    /// The level that `engines.gsd` is compared with.
    #[must_use]
    pub fn gsd_version(&self) -> HostVersion {
        self.gsd_version
    }
}
