//! The composed registry: every view of one set of capabilities, built by one function.
//!
//! Source: overlay model, "Why compose through one builder".

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::loop_order::{Flow, order};
use super::loop_point::LoopPoint;
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
#[derive(Clone, Debug)]
pub struct Wired<T> {
    /// The capability it belongs to.
    pub owner: Arc<Composed>,
    /// The declaration.
    pub hook: Arc<T>,
    /// Text of its fragment.
    pub body: Option<Arc<str>>,
}

impl<T> Wired<T> {
    /// Id of the owner.
    #[must_use]
    pub fn owner_id(&self) -> &CapabilityId {
        self.owner.id()
    }
}

/// The hooks at one loop point, in the order in which they run.
#[derive(Clone, Debug, Default)]
pub struct PointHooks {
    /// Steps.
    pub steps: Vec<Wired<Step>>,
    /// Contributions.
    pub contributions: Vec<Wired<Contribution>>,
    /// Gates.
    pub gates: Vec<Wired<Gate>>,
}

/// One command family.
#[derive(Clone, Debug)]
pub struct CommandFamily {
    /// The capability that answers it.
    pub owner: Arc<Composed>,
    /// The declaration.
    pub command: CommandDecl,
}

/// One federated config key.
#[derive(Clone, Debug)]
pub struct ConfigEntry {
    /// The key.
    pub key: String,
    /// The capability that declares it.
    pub owner: Arc<Composed>,
    /// The declaration.
    pub slice: ConfigSlice,
}

/// In which profiles the skills of a capability are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The tier of the capability.
    pub tier: Tier,
    /// The profiles: every tier from its own on.
    pub profiles: Vec<&'static str>,
}

/// Every view of one set of capabilities.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    capabilities: Vec<Arc<Composed>>,
    by_id: HashMap<CapabilityId, usize>,
    skills: Vec<(String, CapabilityId)>,
    skill_owner: HashMap<String, usize>,
    agents: Vec<(String, CapabilityId)>,
    agent_owner: HashMap<String, usize>,
    points: Vec<PointHooks>,
    config: Vec<ConfigEntry>,
    config_by_key: HashMap<String, usize>,
    families: Vec<CommandFamily>,
    family_by_word: HashMap<String, usize>,
}

/// Hooks of one kind at one point that wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct LoopCycle {
    pub(crate) point: LoopPoint,
    pub(crate) steps: bool,
    pub(crate) owners: Vec<Arc<Composed>>,
}

impl Registry {
    /// Builds the views; fails only when hooks wait for each other.
    pub(crate) fn build(capabilities: Vec<Arc<Composed>>) -> Result<Self, LoopCycle> {
        let mut registry = Self { points: loop_points(&capabilities)?, ..Self::default() };
        for (index, capability) in capabilities.iter().enumerate() {
            let manifest = &capability.manifest;
            registry.by_id.entry(manifest.id.clone()).or_insert(index);
            for skill in &manifest.skills {
                registry.skill_owner.entry(skill.clone()).or_insert(registry.skills.len());
                registry.skills.push((skill.clone(), manifest.id.clone()));
            }
            for agent in &manifest.agents {
                registry.agent_owner.entry(agent.clone()).or_insert(registry.agents.len());
                registry.agents.push((agent.clone(), manifest.id.clone()));
            }
            for (key, slice) in &manifest.config {
                registry.config_by_key.entry(key.clone()).or_insert(registry.config.len());
                let owner = Arc::clone(capability);
                registry.config.push(ConfigEntry { key: key.clone(), owner, slice: slice.clone() });
            }
            for command in &manifest.commands {
                registry.family_by_word.entry(command.family.clone()).or_insert(registry.families.len());
                let owner = Arc::clone(capability);
                registry.families.push(CommandFamily { owner, command: command.clone() });
            }
        }
        registry.capabilities = capabilities;
        Ok(registry)
    }

    /// Every capability: shipped ones by id, then installed ones in the order of their acceptance.
    #[must_use]
    pub fn capabilities(&self) -> &[Arc<Composed>] {
        &self.capabilities
    }

    /// The capability with an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Composed>> {
        self.capabilities.get(*self.by_id.get(id)?)
    }

    /// Every skill with its owner.
    #[must_use]
    pub fn skills(&self) -> &[(String, CapabilityId)] {
        &self.skills
    }

    /// Owner of a skill.
    #[must_use]
    pub fn skill_owner(&self, skill: &str) -> Option<&CapabilityId> {
        self.skills.get(*self.skill_owner.get(skill)?).map(|(_, owner)| owner)
    }

    /// Every agent with its owner.
    #[must_use]
    pub fn agents(&self) -> &[(String, CapabilityId)] {
        &self.agents
    }

    /// Owner of an agent.
    #[must_use]
    pub fn agent_owner(&self, agent: &str) -> Option<&CapabilityId> {
        self.agents.get(*self.agent_owner.get(agent)?).map(|(_, owner)| owner)
    }

    /// The hooks at a loop point.
    #[must_use]
    pub fn hooks_at(&self, point: LoopPoint) -> &PointHooks {
        const NONE: &PointHooks =
            &PointHooks { steps: Vec::new(), contributions: Vec::new(), gates: Vec::new() };
        self.points.get(point.index()).unwrap_or(NONE)
    }

    /// Every federated config key.
    #[must_use]
    pub fn config(&self) -> &[ConfigEntry] {
        &self.config
    }

    /// The declaration of a federated config key.
    #[must_use]
    pub fn config_entry(&self, key: &str) -> Option<&ConfigEntry> {
        self.config.get(*self.config_by_key.get(key)?)
    }

    /// Every command family.
    #[must_use]
    pub fn families(&self) -> &[CommandFamily] {
        &self.families
    }

    /// The family with a command word.
    #[must_use]
    pub fn family(&self, word: &str) -> Option<&CommandFamily> {
        self.families.get(*self.family_by_word.get(word)?)
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

struct Entry<'a, T> {
    owner: &'a Arc<Composed>,
    hook: &'a Arc<T>,
    body: Option<&'a Arc<str>>,
}

impl Flow for Entry<'_, Step> {
    fn owner(&self) -> &str {
        self.owner.id().as_str()
    }
    fn produces(&self) -> &[String] {
        &self.hook.produces
    }
    fn consumes(&self) -> &[String] {
        &self.hook.consumes
    }
}

impl Flow for Entry<'_, Contribution> {
    fn owner(&self) -> &str {
        self.owner.id().as_str()
    }
    fn produces(&self) -> &[String] {
        &self.hook.produces
    }
    fn consumes(&self) -> &[String] {
        &self.hook.consumes
    }
}

fn loop_points(capabilities: &[Arc<Composed>]) -> Result<Vec<PointHooks>, LoopCycle> {
    let mut steps: [Vec<Entry<'_, Step>>; 12] = std::array::from_fn(|_| Vec::new());
    let mut contributions: [Vec<Entry<'_, Contribution>>; 12] = std::array::from_fn(|_| Vec::new());
    let mut gates: [Vec<Wired<Gate>>; 12] = std::array::from_fn(|_| Vec::new());
    for owner in capabilities {
        for (hook, body) in owner.manifest.steps.iter().zip(&owner.step_bodies) {
            if let Some(list) = steps.get_mut(hook.point.index()) {
                list.push(Entry { owner, hook, body: body.as_ref() });
            }
        }
        for (hook, body) in owner.manifest.contributions.iter().zip(&owner.contribution_bodies) {
            if let Some(list) = contributions.get_mut(hook.point.index()) {
                list.push(Entry { owner, hook, body: body.as_ref() });
            }
        }
        for hook in &owner.manifest.gates {
            if let Some(list) = gates.get_mut(hook.point.index()) {
                list.push(Wired { owner: Arc::clone(owner), hook: Arc::clone(hook), body: None });
            }
        }
    }
    let mut points = Vec::with_capacity(LoopPoint::ALL.len());
    for (((point, steps), contributions), mut gates) in
        LoopPoint::ALL.into_iter().zip(steps).zip(contributions).zip(gates)
    {
        gates.sort_by(|a, b| a.owner_id().cmp(b.owner_id()));
        points.push(PointHooks {
            steps: in_order(point, true, &steps)?,
            contributions: in_order(point, false, &contributions)?,
            gates,
        });
    }
    Ok(points)
}

fn in_order<'a, T>(
    point: LoopPoint,
    steps: bool,
    entries: &[Entry<'a, T>],
) -> Result<Vec<Wired<T>>, LoopCycle>
where
    Entry<'a, T>: Flow,
{
    match order(entries) {
        Ok(positions) => Ok(positions
            .into_iter()
            .filter_map(|position| entries.get(position))
            .map(|entry| Wired {
                owner: Arc::clone(entry.owner),
                hook: Arc::clone(entry.hook),
                body: entry.body.cloned(),
            })
            .collect()),
        Err(cycle) => {
            let owners = cycle.entries.into_iter().filter_map(|position| entries.get(position));
            Err(LoopCycle { point, steps, owners: owners.map(|entry| Arc::clone(entry.owner)).collect() })
        }
    }
}
