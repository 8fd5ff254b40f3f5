//! From the registry to nodes and edges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Edge, EdgeKind, Graph, Node, NodeKind};
use crate::compose::{Candidate, Composition, Scope, Skip};
use crate::manifest::Manifest;
use crate::registry::LoopPoint;

/// Most edges of a drawing; beyond this nobody sees anything.
const MAX_EDGES: usize = 5_000;

impl Graph {
    /// Collects the graph. `candidates` are the installed bundles, for what left-out ones would have required.
    pub fn of<'c>(composition: &Composition, candidates: impl Iterator<Item = &'c Candidate>) -> Self {
        let mut collector = Collector::default();
        for composed in composition.registry.capabilities() {
            let node = collector.add(composed.id().as_str(), NodeKind::Capability(composed.scope));
            collector.by_id.insert(composed.id().to_string(), node);
        }
        let candidates: Vec<&Candidate> = candidates.collect();
        let skipped: Vec<(usize, &Skip)> = composition
            .skips
            .iter()
            .map(|skip| (collector.add(&skip.id, NodeKind::Skipped(skip.scope)), skip))
            .collect();
        for composed in composition.registry.capabilities() {
            if let Some(&node) = collector.by_id.get(composed.id().as_str()) {
                collector.requires(node, &composed.manifest, false);
            }
        }
        // What a bundle without an agreement says is not repeated.
        for (node, skip) in skipped.iter().filter(|(_, skip)| !skip.unconsented) {
            let manifest = candidates
                .iter()
                .find(|candidate| candidate.dir_name == skip.id && candidate.scope == skip.scope)
                .and_then(|candidate| candidate.assessed()?.manifest.as_deref());
            if let Some(manifest) = manifest {
                collector.requires(*node, manifest, true);
            }
        }
        collector.artifacts(composition);
        collector.gates(composition, &skipped);
        collector.finish()
    }
}

#[derive(Default)]
struct Collector {
    nodes: Vec<Node>,
    edges: BTreeSet<Edge>,
    by_id: HashMap<String, usize>,
    missing: BTreeMap<String, usize>,
    points: BTreeMap<String, usize>,
}

impl Collector {
    fn add(&mut self, name: &str, kind: NodeKind) -> usize {
        self.nodes.push(Node { name: name.to_owned(), kind });
        self.nodes.len() - 1
    }

    fn connect(&mut self, from: usize, to: usize, kind: EdgeKind, label: &str, skipped: bool) {
        if from != to && self.edges.len() < MAX_EDGES {
            self.edges.insert(Edge { from, to, kind, label: label.to_owned(), skipped });
        }
    }

    fn requires(&mut self, node: usize, manifest: &Manifest, skipped: bool) {
        for id in &manifest.requires {
            let known = self.by_id.get(id).or_else(|| self.missing.get(id)).copied();
            let target = known.unwrap_or_else(|| {
                let node = self.add(id, NodeKind::Missing);
                self.missing.insert(id.clone(), node);
                node
            });
            self.connect(node, target, EdgeKind::Requires, "", skipped);
        }
    }

    /// From whoever makes an artifact to whoever needs it at the same or a later point.
    fn artifacts(&mut self, composition: &Composition) {
        let mut makers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for point in LoopPoint::ALL {
            let hooks = composition.registry.hooks_at(point);
            let steps =
                hooks.steps.iter().map(|w| (w.owner_id().as_str(), &w.hook.consumes, &w.hook.produces));
            let contributions = hooks
                .contributions
                .iter()
                .map(|w| (w.owner_id().as_str(), &w.hook.consumes, &w.hook.produces));
            let entries: Vec<_> = steps.chain(contributions).collect();
            for (owner, _, produces) in &entries {
                let Some(&node) = self.by_id.get(*owner) else { continue };
                for artifact in *produces {
                    makers.entry(artifact).or_default().insert(node);
                }
            }
            for (owner, consumes, _) in entries {
                let Some(&node) = self.by_id.get(owner) else { continue };
                for artifact in consumes {
                    for maker in makers.get(artifact.as_str()).cloned().unwrap_or_default() {
                        let label = format!("{artifact} at {point}");
                        self.connect(maker, node, EdgeKind::Artifact, &label, false);
                    }
                }
            }
        }
    }

    fn gates(&mut self, composition: &Composition, skipped: &[(usize, &Skip)]) {
        let mut guards: Vec<(usize, String, String, bool)> = Vec::new();
        for point in LoopPoint::ALL {
            for gate in &composition.registry.hooks_at(point).gates {
                let Some(&node) = self.by_id.get(gate.owner_id().as_str()) else { continue };
                let label = if gate.hook.blocking { "blocking gate" } else { "advisory gate" };
                guards.push((node, point.as_str().to_owned(), label.to_owned(), false));
            }
        }
        for blocked in &composition.blocked_gates {
            let owner = skipped.iter().find(|(_, skip)| skip.id == blocked.id && skip.scope == blocked.scope);
            if let Some((node, _)) = owner {
                guards.push((*node, blocked.point.clone(), "missing gate".to_owned(), true));
            }
        }
        // Points come last, in the order of the loop; what is no point comes behind them.
        let order = |name: &str| LoopPoint::parse(name).map_or(usize::MAX, LoopPoint::index);
        let mut names: Vec<String> = guards.iter().map(|(_, point, _, _)| point.clone()).collect();
        names.sort_by(|one, other| order(one).cmp(&order(other)).then_with(|| one.cmp(other)));
        names.dedup();
        for name in names {
            let node = self.add(&name, NodeKind::Point);
            self.points.insert(name, node);
        }
        for (owner, point, label, skipped) in guards {
            if let Some(&node) = self.points.get(&point) {
                self.connect(owner, node, EdgeKind::Gate, &label, skipped);
            }
        }
    }

    fn finish(self) -> Graph {
        Graph { nodes: self.nodes, edges: self.edges.into_iter().collect() }
    }
}

/// The order of scopes in a legend.
pub(super) const SCOPES: [Scope; 3] = [Scope::FirstParty, Scope::Global, Scope::Project];
