//! What stands where in a set of capabilities: positions, no texts.
//!
//! Names, points and flows decide it. A set that differs in texts only stands in the same way, so it shares this with
//! the set before it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::composed::Composed;
use super::loop_order::{Flow, order};
use super::loop_point::LoopPoint;
use crate::manifest::Manifest;

/// One of several things of the same kind that a capability declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Position of the capability in the set.
    pub(super) capability: usize,
    /// Position in the list of its manifest.
    pub(super) index: usize,
}

/// Positions of everything that is looked for or comes in an order.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub(super) ids: Names,
    pub(super) skills: Names,
    pub(super) agents: Names,
    pub(super) keys: Names,
    pub(super) families: Names,
    /// By [`LoopPoint::index`].
    points: Vec<PointOrder>,
}

/// The order at one loop point.
#[derive(Debug, Default)]
pub(super) struct PointOrder {
    pub(super) steps: Vec<At>,
    pub(super) contributions: Vec<At>,
    pub(super) gates: Vec<At>,
}

/// Hooks of one kind at one point that wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct LoopCycle {
    pub(crate) point: LoopPoint,
    pub(crate) steps: bool,
    pub(crate) owners: Vec<Arc<Composed>>,
}

impl Standing {
    /// Fails only when hooks wait for each other.
    pub(super) fn of(capabilities: &[Arc<Composed>]) -> Result<Self, LoopCycle> {
        Ok(Self {
            ids: Names::of(capabilities, id),
            skills: Names::of(capabilities, skill),
            agents: Names::of(capabilities, agent),
            keys: Names::of(capabilities, key),
            families: Names::of(capabilities, family),
            points: LoopPoint::ALL
                .into_iter()
                .map(|point| PointOrder::of(capabilities, point))
                .collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn at(&self, point: LoopPoint) -> Option<&PointOrder> {
        self.points.get(point.index())
    }
}

/// A name that a manifest declares, by its position in the list.
type NameOf = fn(&Manifest, usize) -> Option<&str>;

fn id(manifest: &Manifest, index: usize) -> Option<&str> {
    (index == 0).then_some(manifest.id.as_str())
}

fn skill(manifest: &Manifest, index: usize) -> Option<&str> {
    manifest.skills.get(index).map(String::as_str)
}

fn agent(manifest: &Manifest, index: usize) -> Option<&str> {
    manifest.agents.get(index).map(String::as_str)
}

fn key(manifest: &Manifest, index: usize) -> Option<&str> {
    manifest.config.get(index).map(|(key, _)| key.as_str())
}

fn family(manifest: &Manifest, index: usize) -> Option<&str> {
    manifest.commands.get(index).map(|command| command.family.as_str())
}

/// Names of one kind.
#[derive(Debug)]
pub(super) struct Names {
    name_of: NameOf,
    /// In the order of the set.
    pub(super) declared: Vec<At>,
    /// Positions in `declared`, by name; of equal names the one that was declared first comes first.
    by_name: Vec<usize>,
}

impl Default for Names {
    fn default() -> Self {
        Self { name_of: id, declared: Vec::new(), by_name: Vec::new() }
    }
}

impl Names {
    fn of(capabilities: &[Arc<Composed>], name_of: NameOf) -> Self {
        let mut declared = Vec::new();
        for (capability, composed) in capabilities.iter().enumerate() {
            let named = |index: &usize| name_of(&composed.manifest, *index).is_some();
            declared.extend((0..).take_while(named).map(|index| At { capability, index }));
        }
        declared.shrink_to_fit();
        let mut names = Self { name_of, by_name: (0..declared.len()).collect(), declared };
        let mut by_name = std::mem::take(&mut names.by_name);
        by_name.sort_by(|a, b| names.name(capabilities, *a).cmp(&names.name(capabilities, *b)));
        names.by_name = by_name;
        names
    }

    fn name<'c>(&self, capabilities: &'c [Arc<Composed>], position: usize) -> Option<&'c str> {
        let at = self.declared.get(position)?;
        (self.name_of)(&capabilities.get(at.capability)?.manifest, at.index)
    }

    /// The first that is declared under a name.
    pub(super) fn find(&self, capabilities: &[Arc<Composed>], name: &str) -> Option<At> {
        let compared =
            |position: &usize| self.name(capabilities, *position).map_or(Ordering::Less, |at| at.cmp(name));
        let first = self.by_name.partition_point(|position| compared(position).is_lt());
        let position = self.by_name.get(first).filter(|position| compared(position).is_eq())?;
        self.declared.get(*position).copied()
    }
}

impl PointOrder {
    fn of(capabilities: &[Arc<Composed>], point: LoopPoint) -> Result<Self, LoopCycle> {
        let (mut steps, mut contributions, mut gates) = (Vec::new(), Vec::new(), Vec::new());
        for (capability, owner) in capabilities.iter().enumerate() {
            let at = |index| At { capability, index };
            let here = owner.manifest.steps.iter().enumerate().filter(|(_, hook)| hook.point == point);
            steps.extend(here.map(|(index, hook)| Entry {
                at: at(index),
                owner,
                produces: &hook.produces,
                consumes: &hook.consumes,
            }));
            let here =
                owner.manifest.contributions.iter().enumerate().filter(|(_, hook)| hook.point == point);
            contributions.extend(here.map(|(index, hook)| Entry {
                at: at(index),
                owner,
                produces: &hook.produces,
                consumes: &hook.consumes,
            }));
            let here = owner.manifest.gates.iter().enumerate().filter(|(_, hook)| hook.point == point);
            gates.extend(here.map(|(index, _)| (owner.id(), at(index))));
        }
        gates.sort_by_key(|(owner, _)| *owner);
        Ok(Self {
            steps: in_order(point, true, &steps)?,
            contributions: in_order(point, false, &contributions)?,
            gates: gates.into_iter().map(|(_, at)| at).collect(),
        })
    }
}

/// A hook with a place in the data flow.
struct Entry<'a> {
    at: At,
    owner: &'a Arc<Composed>,
    produces: &'a [String],
    consumes: &'a [String],
}

impl Flow for Entry<'_> {
    fn owner(&self) -> &str {
        self.owner.id().as_str()
    }
    fn produces(&self) -> &[String] {
        self.produces
    }
    fn consumes(&self) -> &[String] {
        self.consumes
    }
}

fn in_order(point: LoopPoint, steps: bool, entries: &[Entry<'_>]) -> Result<Vec<At>, LoopCycle> {
    match order(entries) {
        Ok(positions) => {
            Ok(positions.into_iter().filter_map(|position| Some(entries.get(position)?.at)).collect())
        }
        Err(cycle) => {
            let owners = cycle.entries.into_iter().filter_map(|position| entries.get(position));
            Err(LoopCycle { point, steps, owners: owners.map(|entry| Arc::clone(entry.owner)).collect() })
        }
    }
}
