//! Where the nodes of a picture are: columns by longest path, order inside a column by the middle of the neighbours.

use std::collections::BTreeMap;

use super::{EdgeKind, Graph, NodeKind};

/// Rounds of ordering; more changes little.
const ROUNDS: usize = 8;

/// Most places that are kept free for long edges; beyond them edges run straight.
const MAX_FREE: usize = 2_000;

/// The columns of a picture, each from top to bottom, and the nodes that nothing is connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Positions of nodes; a number beyond them is a place that is kept free for an edge to pass.
    pub(super) columns: Vec<Vec<usize>>,
    pub(super) alone: Vec<usize>,
    /// The free places that an arrow passes, by its ends, from left to right.
    pub(super) routes: BTreeMap<(usize, usize), Vec<usize>>,
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let count = graph.nodes.len();
    // In a picture, what must be there first stands left.
    let arrows: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .map(|edge| match edge.kind {
            EdgeKind::Requires => (edge.to, edge.from),
            EdgeKind::Artifact | EdgeKind::Gate => (edge.from, edge.to),
        })
        .filter(|(from, to)| *from < count && *to < count)
        .collect();
    let mut neighbours = vec![Vec::new(); count];
    for &(from, to) in &arrows {
        if let Some(list) = neighbours.get_mut(from) {
            list.push(to);
        }
        if let Some(list) = neighbours.get_mut(to) {
            list.push(from);
        }
    }
    let mut column_of = columns(count, &arrows);
    // Points stand in one column, to the right of everything.
    let last = column_of.iter().copied().max().unwrap_or(0);
    let is_point = |node: usize| graph.nodes.get(node).is_some_and(|node| node.kind == NodeKind::Point);
    let right = (0..count).filter(|node| !is_point(*node)).filter_map(|node| column_of.get(node)).max();
    let right = right.map_or(0, |right| right + 1).max(usize::from(last > 0));
    for node in (0..count).filter(|node| is_point(*node)) {
        if let Some(column) = column_of.get_mut(node) {
            *column = right;
        }
    }
    let mut layout = Layout::default();
    let mut by_column: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for node in 0..count {
        if neighbours.get(node).is_some_and(Vec::is_empty) {
            layout.alone.push(node);
        } else {
            by_column.entry(column_of.get(node).copied().unwrap_or(0)).or_default().push(node);
        }
    }
    keep_free(&mut layout, &mut by_column, &mut neighbours, &arrows, &column_of);
    layout.columns = by_column.into_values().collect();
    order(&mut layout.columns, &neighbours, &is_point);
    layout
}

/// Long arrows pass the columns between their ends at places of their own, not behind nodes.
fn keep_free(
    layout: &mut Layout,
    by_column: &mut BTreeMap<usize, Vec<usize>>,
    neighbours: &mut Vec<Vec<usize>>,
    arrows: &[(usize, usize)],
    column_of: &[usize],
) {
    let mut made = 0;
    for &(from, to) in arrows {
        let (Some(&left), Some(&right)) = (column_of.get(from), column_of.get(to)) else { continue };
        if right <= left + 1 || layout.routes.contains_key(&(from, to)) {
            continue;
        }
        let between: Vec<usize> =
            by_column.keys().copied().filter(|column| *column > left && *column < right).collect();
        made += between.len();
        if made > MAX_FREE {
            return;
        }
        let mut before = from;
        let mut route = Vec::with_capacity(between.len());
        for column in between {
            let place = neighbours.len();
            neighbours.push(vec![before]);
            if let Some(list) = neighbours.get_mut(before).filter(|_| before != from) {
                list.push(place);
            }
            by_column.entry(column).or_default().push(place);
            route.push(place);
            before = place;
        }
        if let Some(list) = neighbours.get_mut(before).filter(|_| before != from) {
            list.push(to);
        }
        layout.routes.insert((from, to), route);
    }
}

/// The column of each node: one more than that of any node before it. Arrows that close a circle do not count.
fn columns(count: usize, arrows: &[(usize, usize)]) -> Vec<usize> {
    let mut before: Vec<usize> = vec![0; count];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in arrows {
        if let (Some(list), Some(waiting)) = (after.get_mut(from), before.get_mut(to)) {
            list.push(to);
            *waiting += 1;
        }
    }
    let mut column = vec![0; count];
    let mut placed = vec![false; count];
    for _ in 0..count {
        let free = |node: &usize| placed.get(*node) == Some(&false);
        let ready = (0..count).filter(free).find(|node| before.get(*node) == Some(&0));
        // On a circle the one that waits for the least goes first.
        let next = ready.or_else(|| (0..count).filter(free).min_by_key(|node| before.get(*node).copied()));
        let Some(node) = next else { break };
        if let Some(done) = placed.get_mut(node) {
            *done = true;
        }
        let mine = column.get(node).copied().unwrap_or(0);
        for &to in after.get(node).into_iter().flatten() {
            if placed.get(to) == Some(&false) {
                if let Some(waiting) = before.get_mut(to) {
                    *waiting = waiting.saturating_sub(1);
                }
                if let Some(theirs) = column.get_mut(to) {
                    *theirs = (*theirs).max(mine + 1);
                }
            }
        }
    }
    column
}

/// Sorts each column by the mean place of the neighbours; points keep the order of the loop.
fn order(columns: &mut [Vec<usize>], neighbours: &[Vec<usize>], is_point: &dyn Fn(usize) -> bool) {
    for _ in 0..ROUNDS {
        let mut place: BTreeMap<usize, f64> = BTreeMap::new();
        for column in columns.iter() {
            let height = column.len().max(1);
            for (index, node) in column.iter().enumerate() {
                // Columns of different height are compared by relative place.
                place.insert(*node, ratio(index, height));
            }
        }
        for column in columns.iter_mut() {
            if column.iter().copied().all(is_point) {
                continue;
            }
            let mut keyed: Vec<(f64, usize)> = column
                .iter()
                .map(|node| {
                    let own = place.get(node).copied().unwrap_or(0.0);
                    let around: Vec<f64> = neighbours
                        .get(*node)
                        .into_iter()
                        .flatten()
                        .filter_map(|n| place.get(n).copied())
                        .collect();
                    let sum: f64 = around.iter().sum();
                    let mean = if around.is_empty() { own } else { sum / ratio(around.len(), 1) };
                    (mean, *node)
                })
                .collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            *column = keyed.into_iter().map(|(_, node)| node).collect();
        }
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    let small = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    small(part) / small(whole)
}
