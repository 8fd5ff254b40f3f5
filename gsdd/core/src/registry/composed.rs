//! The composed registry: every view of one set of capabilities, built by one function.
//!
//! Source: overlay model, "Why compose through one builder".

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::loop_point::LoopPoint;
use super::standing::{At, LoopCycle, Standing};
use crate::compose::Scope;
use crate::ids::CapabilityId;
use crate::manifest::{CommandDecl, ConfigSlice, Contribution, Gate, Manifest, Role, Step, Tier};

/// One capability of the set.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// Where it comes from.
    pub scope: Scope,
    /// Text of each step's fragment, by position in the manifest.
    pub step_bodies: Vec<Option<Arc<str>>>,
    /// Text of each contribution's fragment, by position in the manifest.
    pub contribution_bodies: Vec<Option<Arc<str>>>,
}

impl Composed {
    /// A capability with its fragments; `read` answers the text of a fragment file.
    #[must_use]
    pub fn new(manifest: Arc<Manifest>, scope: Scope, read: impl Fn(&str) -> Option<Arc<str>>) -> Self {
        let body = |fragment: &crate::manifest::Fragment| {
            fragment.inline.clone().or_else(|| fragment.path.as_deref().and_then(&read))
        };
        let step_bodies = manifest.steps.iter().map(|s| s.fragment.as_ref().and_then(body)).collect();
        let contribution_bodies = manifest.contributions.iter().map(|c| body(&c.fragment)).collect();
        Self { scope, step_bodies, contribution_bodies, manifest }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &CapabilityId {
        &self.manifest.id
    }
}

/// One hook at a loop point.
#[derive(Clone, Copy, Debug)]
pub struct Wired<'a, T> {
    /// The capability it belongs to.
    pub owner: &'a Arc<Composed>,
    /// The declaration.
    pub hook: &'a T,
    /// Text of its fragment.
    pub body: Option<&'a Arc<str>>,
}

impl<'a, T> Wired<'a, T> {
    /// Id of the owner.
    #[must_use]
    pub fn owner_id(&self) -> &'a CapabilityId {
        self.owner.id()
    }

    /// The declaration as its author wrote it, members that nothing here knows included: entry `index` of `list`.
    #[must_use]
    pub fn written(&self, list: &str, index: usize) -> Option<Map<String, Value>> {
        let mut document = self.owner.manifest.document.read();
        let entry = document.get_mut(list)?.get_mut(index)?;
        entry.as_object_mut().map(std::mem::take)
    }
}

/// The hooks at one loop point, in the order in which they run.
#[derive(Clone, Debug, Default)]
pub struct PointHooks<'a> {
    /// Steps.
    pub steps: Vec<Wired<'a, Step>>,
    /// Contributions.
    pub contributions: Vec<Wired<'a, Contribution>>,
    /// Gates.
    pub gates: Vec<Wired<'a, Gate>>,
}

/// One command family.
#[derive(Clone, Copy, Debug)]
pub struct CommandFamily<'a> {
    /// The capability that answers it.
    pub owner: &'a Arc<Composed>,
    /// The declaration.
    pub command: &'a CommandDecl,
}

/// One federated config key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigEntry<'a> {
    /// The key.
    pub key: &'a str,
    /// The capability that declares it.
    pub owner: &'a Arc<Composed>,
    /// The declaration.
    pub slice: &'a ConfigSlice,
}

/// In which profiles the skills of a capability are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The tier of the capability.
    pub tier: Tier,
    /// The profiles: every tier from its own on.
    pub profiles: Vec<&'static str>,
}

/// Every view of one set of capabilities. What is in it is read from the manifests; it adds positions only.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    capabilities: Vec<Arc<Composed>>,
    standing: Arc<Standing>,
}

impl Registry {
    /// Builds the views; fails only when hooks wait for each other.
    pub(crate) fn build(capabilities: Vec<Arc<Composed>>) -> Result<Self, LoopCycle> {
        Ok(Self { standing: Arc::new(Standing::of(&capabilities)?), capabilities })
    }

    /// The registry of other capabilities, each of which declares the same names, points and flows as the one in its
    /// position here.
    pub(crate) fn standing_alike(&self, capabilities: Vec<Arc<Composed>>) -> Self {
        Self { capabilities, standing: Arc::clone(&self.standing) }
    }

    /// Every capability: shipped ones by id, then installed ones in the order of their acceptance.
    #[must_use]
    pub fn capabilities(&self) -> &[Arc<Composed>] {
        &self.capabilities
    }

    /// The capability with an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Composed>> {
        self.owner(self.standing.ids.find(&self.capabilities, id)?)
    }

    /// Every skill with its owner.
    pub fn skills(&self) -> impl Iterator<Item = (&str, &CapabilityId)> {
        self.standing.skills.declared.iter().filter_map(|at| {
            let owner = self.owner(*at)?;
            Some((owner.manifest.skills.get(at.index)?.as_str(), owner.id()))
        })
    }

    /// Owner of a skill.
    #[must_use]
    pub fn skill_owner(&self, skill: &str) -> Option<&CapabilityId> {
        Some(self.owner(self.standing.skills.find(&self.capabilities, skill)?)?.id())
    }

    /// Every agent with its owner.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &CapabilityId)> {
        self.standing.agents.declared.iter().filter_map(|at| {
            let owner = self.owner(*at)?;
            Some((owner.manifest.agents.get(at.index)?.as_str(), owner.id()))
        })
    }

    /// Owner of an agent.
    #[must_use]
    pub fn agent_owner(&self, agent: &str) -> Option<&CapabilityId> {
        Some(self.owner(self.standing.agents.find(&self.capabilities, agent)?)?.id())
    }

    /// The hooks at a loop point.
    #[must_use]
    pub fn hooks_at(&self, point: LoopPoint) -> PointHooks<'_> {
        let Some(order) = self.standing.at(point) else { return PointHooks::default() };
        let step = |at: &At| {
            let owner = self.owner(*at)?;
            let body = owner.step_bodies.get(at.index)?.as_ref();
            Some(Wired { owner, hook: owner.manifest.steps.get(at.index)?, body })
        };
        let contribution = |at: &At| {
            let owner = self.owner(*at)?;
            let body = owner.contribution_bodies.get(at.index)?.as_ref();
            Some(Wired { owner, hook: owner.manifest.contributions.get(at.index)?, body })
        };
        let gate = |at: &At| {
            let owner = self.owner(*at)?;
            Some(Wired { owner, hook: owner.manifest.gates.get(at.index)?, body: None })
        };
        PointHooks {
            steps: order.steps.iter().filter_map(step).collect(),
            contributions: order.contributions.iter().filter_map(contribution).collect(),
            gates: order.gates.iter().filter_map(gate).collect(),
        }
    }

    /// Every federated config key.
    pub fn config(&self) -> impl Iterator<Item = ConfigEntry<'_>> {
        self.standing.keys.declared.iter().filter_map(|at| self.config_at(*at))
    }

    /// The declaration of a federated config key.
    #[must_use]
    pub fn config_entry(&self, key: &str) -> Option<ConfigEntry<'_>> {
        self.config_at(self.standing.keys.find(&self.capabilities, key)?)
    }

    /// Every command family.
    pub fn families(&self) -> impl Iterator<Item = CommandFamily<'_>> {
        self.standing.families.declared.iter().filter_map(|at| self.family_at(*at))
    }

    /// The family with a command word.
    #[must_use]
    pub fn family(&self, word: &str) -> Option<CommandFamily<'_>> {
        self.family_at(self.standing.families.find(&self.capabilities, word)?)
    }

    fn owner(&self, at: At) -> Option<&Arc<Composed>> {
        self.capabilities.get(at.capability)
    }

    fn config_at(&self, at: At) -> Option<ConfigEntry<'_>> {
        let owner = self.owner(at)?;
        owner.manifest.config.get(at.index).map(|(key, slice)| ConfigEntry { key, owner, slice })
    }

    fn family_at(&self, at: At) -> Option<CommandFamily<'_>> {
        let owner = self.owner(at)?;
        Some(CommandFamily { owner, command: owner.manifest.commands.get(at.index)? })
    }

    /// The runtimes.
    pub fn runtimes(&self) -> impl Iterator<Item = &Arc<Composed>> {
        self.capabilities.iter().filter(|capability| capability.manifest.role == Role::Runtime)
    }

    /// Capabilities with skills, each with its skills sorted by code unit.
    pub fn clusters(&self) -> impl Iterator<Item = (&CapabilityId, Vec<&str>)> {
        self.capabilities.iter().filter(|capability| !capability.manifest.skills.is_empty()).map(
            |capability| {
                let mut skills: Vec<&str> = capability.manifest.skills.iter().map(String::as_str).collect();
                skills.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
                (capability.id(), skills)
            },
        )
    }

    /// Capabilities with skills, each with its profiles.
    pub fn profile_membership(&self) -> impl Iterator<Item = (&CapabilityId, Profile)> {
        self.capabilities.iter().filter(|capability| !capability.manifest.skills.is_empty()).map(
            |capability| {
                let tier = capability.manifest.tier;
                let profiles =
                    Tier::ALL.into_iter().filter(|profile| *profile >= tier).map(Tier::as_str).collect();
                (capability.id(), Profile { tier, profiles })
            },
        )
    }

    /// Every id that `id` needs, directly or not; itself only when it is on a circle; empty for an unknown id.
    #[must_use]
    pub fn requires_closure(&self, id: &str) -> BTreeSet<CapabilityId> {
        let mut closure = BTreeSet::new();
        let mut open: Vec<&Arc<Composed>> = self.get(id).into_iter().collect();
        while let Some(capability) = open.pop() {
            for required in capability.manifest.requires.iter().filter_map(|required| self.get(required)) {
                if closure.insert(required.id().clone()) {
                    open.push(required);
                }
            }
        }
        closure
    }

    /// Ids of the capabilities that require `id` directly.
    #[must_use]
    pub fn dependents(&self, id: &str) -> Vec<&CapabilityId> {
        let requires =
            |capability: &&Arc<Composed>| capability.manifest.requires.iter().any(|other| other == id);
        self.capabilities.iter().filter(requires).map(|capability| capability.id()).collect()
    }
}
