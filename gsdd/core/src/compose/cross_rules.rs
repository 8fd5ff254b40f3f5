//! The rules over a set of capabilities, examined for one member at a time.
//!
//! Source: ADR-1244 D2; overlay model, "First-party always wins" (cross-capability invariants).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::claims::{Claims, Spelling};
use super::flow_graph::{FlowGraph, Node};
use super::scope::Scope;
use super::supply::Supply;
use crate::manifest::{Manifest, Problem, RuleId};
use crate::registry::{CentralConfig, HostContract, LoopPoint};
use crate::text::shown_up_to;

/// The set so far, indexed for the questions that a new member raises.
pub(super) struct Merged<'a> {
    pub(super) claims: Claims<'a>,
    ids: HashMap<&'a str, Scope>,
    requires: HashMap<&'a str, &'a [String]>,
    required: HashSet<&'a str>,
    steps: [FlowGraph<'a>; 12],
    contributions: [FlowGraph<'a>; 12],
}

/// How many hooks each point had; to take an addition back.
type Mark = ([usize; 12], [usize; 12]);

impl<'a> Merged<'a> {
    pub(super) fn new(spelling: Spelling) -> Self {
        Self {
            claims: Claims::new(spelling),
            ids: HashMap::new(),
            requires: HashMap::new(),
            required: HashSet::new(),
            steps: std::array::from_fn(|_| FlowGraph::default()),
            contributions: std::array::from_fn(|_| FlowGraph::default()),
        }
    }

    /// Scope of the member with an id.
    pub(super) fn holder_of(&self, id: &str) -> Option<Scope> {
        self.ids.get(id).copied()
    }

    /// Adds a member.
    pub(super) fn insert(&mut self, manifest: &'a Manifest, scope: Scope) {
        self.push_hooks(manifest);
        self.insert_without_hooks(manifest, scope);
    }

    fn insert_without_hooks(&mut self, manifest: &'a Manifest, scope: Scope) {
        self.claims.insert(manifest, scope);
        self.ids.entry(manifest.id.as_str()).or_insert(scope);
        self.requires.entry(manifest.id.as_str()).or_insert(&manifest.requires);
        self.required.extend(manifest.requires.iter().map(String::as_str));
    }

    fn mark(&self) -> Mark {
        let lens =
            |graphs: &[FlowGraph<'a>; 12]| std::array::from_fn(|at| graphs.get(at).map_or(0, FlowGraph::len));
        (lens(&self.steps), lens(&self.contributions))
    }

    fn push_hooks(&mut self, manifest: &'a Manifest) {
        for (index, step) in manifest.steps.iter().enumerate() {
            if let Some(graph) = self.steps.get_mut(step.point.index()) {
                graph.push(Node { index, produces: &step.produces, consumes: &step.consumes });
            }
        }
        for (index, hook) in manifest.contributions.iter().enumerate() {
            if let Some(graph) = self.contributions.get_mut(hook.point.index()) {
                graph.push(Node { index, produces: &hook.produces, consumes: &hook.consumes });
            }
        }
    }

    fn take_hooks_back(&mut self, mark: &Mark) {
        for (graphs, lens) in [(&mut self.steps, &mark.0), (&mut self.contributions, &mark.1)] {
            for (graph, len) in graphs.iter_mut().zip(lens) {
                graph.truncate(*len);
            }
        }
    }

    /// Adds the member when `judge` has nothing against it. `judge` sees what the hooks do to the order.
    pub(super) fn try_insert(
        &mut self,
        manifest: &'a Manifest,
        scope: Scope,
        judge: impl FnOnce(&Self, &HookProblems) -> Vec<Problem>,
    ) -> Vec<Problem> {
        let mark = self.mark();
        self.push_hooks(manifest);
        let hooks = self.hook_problems(&mark);
        let problems = judge(self, &hooks);
        if problems.is_empty() {
            self.insert_without_hooks(manifest, scope);
        } else {
            self.take_hooks_back(&mark);
        }
        problems
    }

    /// What the hooks added after `mark` do to the set.
    fn hook_problems(&self, mark: &Mark) -> HookProblems {
        let mut found = HookProblems::default();
        for (point, (graph, first)) in LoopPoint::ALL.into_iter().zip(self.steps.iter().zip(&mark.0)) {
            if graph.len() == *first {
                continue;
            }
            for (index, name) in graph.second_producers(*first) {
                let message = format!("another step makes `{}` at `{point}`", shown_up_to(name, 60));
                let rule = RuleId::CrossArtifactSingleProducerPerPoint;
                found.producers.push(Problem::new(rule, format!("/steps/{index}/produces"), message));
            }
            if let Some(index) = graph.closed_circle(*first) {
                let message = format!("steps at `{point}` wait for each other");
                let pointer = format!("/steps/{index}/consumes");
                found.circles.push(Problem::new(RuleId::OrderStepsAcyclic, pointer, message));
            }
        }
        for (point, (graph, first)) in LoopPoint::ALL.into_iter().zip(self.contributions.iter().zip(&mark.1))
        {
            if graph.len() > *first
                && let Some(index) = graph.closed_circle(*first)
            {
                let message = format!("contributions at `{point}` wait for each other");
                let pointer = format!("/contributions/{index}/consumes");
                found.circles.push(Problem::new(RuleId::OrderContributionsAcyclic, pointer, message));
            }
        }
        found
    }

    /// The `requires` entry that closes a circle through `manifest`.
    pub(super) fn requires_circle(&self, manifest: &Manifest) -> Option<Problem> {
        let id = manifest.id.as_str();
        let own = manifest.requires.iter().any(|required| required == id);
        if !own && (!self.required.contains(id) || manifest.requires.is_empty()) {
            return None;
        }
        let mut open: Vec<&str> = manifest.requires.iter().map(String::as_str).collect();
        let mut seen = HashSet::new();
        while let Some(next) = open.pop() {
            if next == id {
                let message = format!("`{id}` requires itself, directly or through others");
                return Some(Problem::new(RuleId::CrossRequiresAcyclic, "/requires".to_owned(), message));
            }
            if seen.insert(next) {
                open.extend(self.requires.get(next).copied().into_iter().flatten().map(String::as_str));
            }
        }
        None
    }
}

/// What new hooks do to the set.
#[derive(Default)]
pub(super) struct HookProblems {
    /// Artifacts that two steps make at one point.
    pub(super) producers: Vec<Problem>,
    /// Hooks that wait for each other.
    pub(super) circles: Vec<Problem>,
}

/// The skills that an id with the name of a built-in cluster must own.
pub(super) fn cluster_mismatch(
    manifest: &Manifest,
    clusters: &BTreeMap<String, Vec<String>>,
) -> Option<Problem> {
    let expected: HashSet<&str> = clusters.get(manifest.id.as_str())?.iter().map(String::as_str).collect();
    let owned: HashSet<&str> = manifest.skills.iter().map(String::as_str).collect();
    if owned.is_empty() || owned == expected {
        return None;
    }
    let message = format!("`{}` is the name of a built-in skill cluster with other skills", manifest.id);
    Some(Problem::new(RuleId::ComposeClusterSetMatch, "/skills".to_owned(), message))
}

/// Every broken rule over a set of manifests, each with the manifest to blame; what the host ships is compared
/// exactly and may use the host's own config keys.
#[must_use]
pub fn check_shipped<'a>(
    manifests: &[&'a Manifest],
    contract: &HostContract,
    central: &CentralConfig,
) -> Vec<(&'a Manifest, Problem)> {
    let mut found = check(Spelling::Exact, manifests, contract, central);
    found.retain(|(_, problem)| problem.rule != RuleId::CrossConfigKeyCentralCollision);
    found
}

/// Every broken rule over a set of manifests, each with the manifest to blame.
#[must_use]
pub fn check_set<'a>(
    manifests: &[&'a Manifest],
    contract: &HostContract,
    central: &CentralConfig,
) -> Vec<(&'a Manifest, Problem)> {
    check(Spelling::Twins, manifests, contract, central)
}

fn check<'a>(
    spelling: Spelling,
    manifests: &[&'a Manifest],
    contract: &HostContract,
    central: &CentralConfig,
) -> Vec<(&'a Manifest, Problem)> {
    let mut merged = Merged::new(spelling);
    let mut found = Vec::new();
    for manifest in manifests.iter().copied() {
        let claims = &merged.claims;
        let mut problems = claims.taken_skills(manifest, RuleId::CrossSkillSingleOwner);
        problems.extend(claims.taken_agents(manifest, RuleId::CrossAgentSingleOwner));
        problems.extend(claims.taken_families(manifest, RuleId::CrossCommandFamilySingleOwner));
        problems.extend(claims.taken_keys(manifest, RuleId::CrossConfigKeySingleOwner));
        problems.extend(claims.own_duplicates(manifest));
        problems.extend(claims.central_keys(manifest, central));
        problems.extend(claims.taken_lane_words(manifest));
        problems.extend(merged.requires_circle(manifest));
        let mark = merged.mark();
        merged.insert(manifest, Scope::FirstParty);
        let hooks = merged.hook_problems(&mark);
        problems.extend(hooks.producers);
        problems.extend(hooks.circles);
        found.extend(problems.into_iter().map(|problem| (manifest, problem)));
    }
    let single = RuleId::CrossArtifactSingleProducerPerPoint;
    let clear_producers = found.iter().all(|(_, problem)| problem.rule != single);
    let supply = Supply::new(contract, manifests.to_vec());
    for (member, manifest) in manifests.iter().copied().enumerate() {
        let mut problems = if clear_producers { supply.unmet_inputs(member) } else { Vec::new() };
        problems.extend(supply.unknown_ids(member));
        problems.extend(supply.higher_tiers(member));
        found.extend(problems.into_iter().map(|problem| (manifest, problem)));
    }
    found
}
