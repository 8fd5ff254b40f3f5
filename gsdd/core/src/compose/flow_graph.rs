//! Data flow between the hooks of one kind at one loop point, as a set that grows.
//!
//! Adding the hooks of one capability and asking whether they close a circle costs what is reachable from them,
//! not the whole set.

use std::collections::{HashMap, HashSet};

use crate::registry::{Flow, order};

/// Most hooks of one capability from which the graph is walked.
const MAX_WALKS: usize = 8;

/// A hook.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    /// Position in the manifest's list.
    pub(super) index: usize,
    /// Artifacts it makes.
    pub(super) produces: &'a [String],
    /// Artifacts it needs.
    pub(super) consumes: &'a [String],
}

impl Flow for Node<'_> {
    fn owner(&self) -> &str {
        ""
    }
    fn produces(&self) -> &[String] {
        self.produces
    }
    fn consumes(&self) -> &[String] {
        self.consumes
    }
}

/// The hooks of one kind at one point.
#[derive(Default)]
pub(super) struct FlowGraph<'a> {
    nodes: Vec<Node<'a>>,
    producers: HashMap<&'a str, Vec<usize>>,
    consumers: HashMap<&'a str, Vec<usize>>,
}

impl<'a> FlowGraph<'a> {
    /// Number of hooks.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a hook.
    pub(super) fn push(&mut self, node: Node<'a>) {
        let id = self.nodes.len();
        for name in node.produces {
            self.producers.entry(name).or_default().push(id);
        }
        for name in node.consumes {
            self.consumers.entry(name).or_default().push(id);
        }
        self.nodes.push(node);
    }

    /// Takes back the hooks that were added after there were `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for node in self.nodes.drain(len.min(self.nodes.len())..) {
            for (names, users) in [(node.produces, &mut self.producers), (node.consumes, &mut self.consumers)]
            {
                for name in names {
                    if let Some(list) = users.get_mut(name.as_str()) {
                        while list.last().is_some_and(|id| *id >= len) {
                            list.pop();
                        }
                    }
                }
            }
        }
    }

    /// Of the hooks from `first` on, those that make an artifact which another hook here makes too; with the
    /// artifact.
    pub(super) fn second_producers(&self, first: usize) -> Vec<(usize, &'a str)> {
        let mut found = Vec::new();
        for (id, node) in self.nodes.iter().enumerate().skip(first) {
            let mut seen = HashSet::new();
            for name in node.produces.iter().filter(|name| seen.insert(name.as_str())) {
                let earlier = self.producers.get(name.as_str()).and_then(|list| list.first());
                if earlier.is_some_and(|earlier| *earlier < id) {
                    found.push((node.index, name.as_str()));
                }
            }
        }
        found
    }

    /// Of the hooks from `first` on, one that is on a circle, or behind one.
    pub(super) fn closed_circle(&self, first: usize) -> Option<usize> {
        let suspects: Vec<usize> = (first..self.nodes.len()).filter(|id| self.is_between(*id)).collect();
        let id = if suspects.len() <= MAX_WALKS {
            suspects.into_iter().find(|id| self.is_on_circle(*id))
        } else {
            // Many at once: one pass over the whole point is cheaper than a walk from each.
            let stuck = order(&self.nodes).err()?.entries;
            stuck.into_iter().find(|id| *id >= first)
        };
        self.nodes.get(id?).map(|node| node.index)
    }

    /// Whether another hook feeds this one and another is fed by it.
    fn is_between(&self, id: usize) -> bool {
        let Some(node) = self.nodes.get(id) else { return false };
        let other = |users: &HashMap<&str, Vec<usize>>, names: &[String]| {
            names
                .iter()
                .any(|name| users.get(name.as_str()).is_some_and(|list| list.iter().any(|o| *o != id)))
        };
        other(&self.producers, node.consumes) && other(&self.consumers, node.produces)
    }

    fn is_on_circle(&self, start: usize) -> bool {
        let Some(node) = self.nodes.get(start) else { return false };
        let needed: HashSet<&str> = node.consumes.iter().map(String::as_str).collect();
        let mut open = vec![start];
        let mut seen_nodes = HashSet::from([start]);
        let mut seen_artifacts = HashSet::new();
        while let Some(id) = open.pop() {
            let produces = self.nodes.get(id).map_or(&[][..], |node| node.produces);
            if id != start && produces.iter().any(|name| needed.contains(name.as_str())) {
                return true;
            }
            for name in produces.iter().map(String::as_str).filter(|name| seen_artifacts.insert(*name)) {
                let next = self.consumers.get(name).into_iter().flatten().copied();
                open.extend(next.filter(|id| seen_nodes.insert(*id)));
            }
        }
        false
    }
}
