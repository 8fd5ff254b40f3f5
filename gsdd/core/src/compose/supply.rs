//! What a set of capabilities offers to each other: ids, runtimes, artifacts. And who goes without.
//!
//! Members can be taken out again; what then lacks something is found through the edges, not by looking at
//! everyone.

use std::collections::{HashMap, HashSet};

use crate::manifest::{Manifest, Problem, Role, RuleId};
use crate::registry::{HostContract, LoopPoint};
use crate::text::shown_up_to;

/// A set of capabilities and what they offer.
pub(super) struct Supply<'a> {
    contract: &'a HostContract,
    members: Vec<&'a Manifest>,
    alive: Vec<bool>,
    by_id: HashMap<&'a str, Vec<usize>>,
    /// Per artifact: point, member and step that makes it.
    producers: HashMap<&'a str, Vec<(LoopPoint, usize, usize)>>,
    /// Per id: members that name it.
    dependents: HashMap<&'a str, Vec<usize>>,
    /// Per artifact: members with a step that needs it.
    consumers: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Supply<'a> {
    /// The set of `members`.
    pub(super) fn new(contract: &'a HostContract, members: Vec<&'a Manifest>) -> Self {
        let mut supply = Self {
            contract,
            alive: vec![true; members.len()],
            members: Vec::new(),
            by_id: HashMap::new(),
            producers: HashMap::new(),
            dependents: HashMap::new(),
            consumers: HashMap::new(),
        };
        for (member, manifest) in members.iter().enumerate() {
            supply.by_id.entry(manifest.id.as_str()).or_default().push(member);
            let compat =
                manifest.runtime_compat.iter().flat_map(|c| [&c.supported, &c.unsupported, &c.noted]);
            for id in manifest.requires.iter().chain(compat.flatten()) {
                push_once(supply.dependents.entry(id).or_default(), member);
            }
            for (index, step) in manifest.steps.iter().enumerate() {
                for name in &step.produces {
                    let makers = supply.producers.entry(name).or_default();
                    // Two of one member at one point answer every question that more would answer.
                    let own = makers.iter().rev().take_while(|(_, other, _)| *other == member);
                    if own.filter(|(at, _, _)| *at == step.point).count() < 2 {
                        makers.push((step.point, member, index));
                    }
                }
                for name in &step.consumes {
                    push_once(supply.consumers.entry(name).or_default(), member);
                }
            }
        }
        supply.members = members;
        supply
    }

    fn is_alive(&self, member: usize) -> bool {
        self.alive.get(member) == Some(&true)
    }

    fn find(&self, id: &str) -> Option<&'a Manifest> {
        let member = self.by_id.get(id)?.iter().find(|member| self.is_alive(**member))?;
        self.members.get(*member).copied()
    }

    /// Takes out the members from `first` on that lack something, and then those that lack them, until the rest
    /// is complete. Answers the members taken out.
    pub(super) fn settle(&mut self, first: usize) -> Vec<usize> {
        let mut open: Vec<usize> = (first..self.members.len()).rev().collect();
        let mut gone = Vec::new();
        while let Some(member) = open.pop() {
            if member < first || !self.is_alive(member) || self.is_complete(member) {
                continue;
            }
            if let Some(flag) = self.alive.get_mut(member) {
                *flag = false;
            }
            gone.push(member);
            let Some(manifest) = self.members.get(member) else { continue };
            open.extend(self.dependents.get(manifest.id.as_str()).into_iter().flatten());
            let mut seen = HashSet::new();
            let made = manifest.steps.iter().flat_map(|step| &step.produces);
            for name in made.filter(|name| seen.insert(name.as_str())) {
                open.extend(self.consumers.get(name.as_str()).into_iter().flatten());
            }
        }
        gone.sort_unstable();
        gone
    }

    /// Whether a member lacks nothing.
    pub(super) fn is_complete(&self, member: usize) -> bool {
        self.unmet_inputs(member).is_empty()
            && self.unknown_ids(member).is_empty()
            && self.higher_tiers(member).is_empty()
    }

    /// Artifacts that steps of a member need and do not get.
    pub(super) fn unmet_inputs(&self, member: usize) -> Vec<Problem> {
        let Some(manifest) = self.members.get(member) else { return Vec::new() };
        let mut problems = Vec::new();
        for (index, step) in manifest.steps.iter().enumerate() {
            for (position, name) in step.consumes.iter().enumerate() {
                if let Some((rule, fact)) = self.unmet_input(member, index, step.point, name) {
                    let message = format!("`{}` {fact} at or before `{}`", shown_up_to(name, 60), step.point);
                    problems.push(Problem::new(rule, format!("/steps/{index}/consumes/{position}"), message));
                }
            }
        }
        problems
    }

    fn unmet_input(
        &self,
        member: usize,
        index: usize,
        point: LoopPoint,
        name: &str,
    ) -> Option<(RuleId, &'static str)> {
        if self.contract.available_from(name).is_some_and(|from| from <= point) {
            return None;
        }
        let (mut own, mut later) = (false, false);
        for (at, producer, step) in self.producers.get(name).into_iter().flatten() {
            if (*producer, *step) == (member, index) {
                own = true;
            } else if !self.is_alive(*producer) {
                continue;
            } else if *at <= point {
                return None;
            } else {
                later = true;
            }
        }
        Some(match (later, own) {
            (true, _) => (RuleId::CrossConsumesTooLate, "is made by no other step"),
            (false, true) => (RuleId::CrossConsumesSelfOnly, "is made by this step only, not by another"),
            (false, false) => (RuleId::CrossConsumesNeverProduced, "is made by no step"),
        })
    }

    /// Ids that a member names and that are not there, or are no runtimes.
    pub(super) fn unknown_ids(&self, member: usize) -> Vec<Problem> {
        let Some(manifest) = self.members.get(member) else { return Vec::new() };
        let mut problems = Vec::new();
        for (index, id) in manifest.requires.iter().enumerate() {
            if self.find(id).is_none() {
                let message = format!("the required capability `{}` is not there", shown_up_to(id, 60));
                problems.push(Problem::new(
                    RuleId::CrossRequiresExists,
                    format!("/requires/{index}"),
                    message,
                ));
            }
        }
        let Some(compat) = &manifest.runtime_compat else { return problems };
        let unknown = |id: &str| id != "*" && self.find(id).is_none_or(|other| other.role != Role::Runtime);
        let known = RuleId::CrossRuntimeCompatKnownRuntime;
        for (rule, list, ids) in [
            (known, "supported", &compat.supported),
            (known, "unsupported", &compat.unsupported),
            (RuleId::CrossRuntimeCompatNotesKnownRuntime, "notes", &compat.noted),
        ] {
            for id in ids.iter().filter(|id| unknown(id)) {
                let message = format!("`{}` is no runtime here", shown_up_to(id, 60));
                problems.push(Problem::new(rule, format!("/runtimeCompat/{list}"), message));
            }
        }
        problems
    }

    /// Required capabilities of a higher tier.
    pub(super) fn higher_tiers(&self, member: usize) -> Vec<Problem> {
        let Some(manifest) = self.members.get(member) else { return Vec::new() };
        let mut problems = Vec::new();
        for (index, id) in manifest.requires.iter().enumerate() {
            if let Some(other) = self.find(id).filter(|other| other.tier > manifest.tier) {
                let (own, higher) = (manifest.tier.as_str(), other.tier.as_str());
                let message = format!("tier `{own}` cannot require `{}` of tier `{higher}`", other.id);
                let rule = RuleId::CrossRequiresTierMonotone;
                problems.push(Problem::new(rule, format!("/requires/{index}"), message));
            }
        }
        problems
    }
}

/// Adds a member to a list that is filled member by member.
fn push_once(list: &mut Vec<usize>, member: usize) {
    if list.last() != Some(&member) {
        list.push(member);
    }
}
