//! The order of hooks at one loop point: data flow first, then the owner's id.
//!
//! The ready list is a queue, not a priority queue: what becomes ready late comes after everything that was
//! ready before, whatever its owner is called.

use std::collections::{HashMap, HashSet, VecDeque};

/// What the order depends on.
pub(crate) trait Flow {
    /// Id of the capability.
    fn owner(&self) -> &str;
    /// Artifacts it makes.
    fn produces(&self) -> &[String];
    /// Artifacts it needs.
    fn consumes(&self) -> &[String];
}

/// The entries that no order fits: each waits for another of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Positions in the input.
    pub(crate) entries: Vec<usize>,
}

#[derive(Default)]
struct Artifact {
    producers: Vec<usize>,
    consumers: Vec<usize>,
    /// Producers that are not in the output yet.
    remaining: usize,
}

/// Positions of `entries` in their order. Takes time in the number of entries and artifact names, not of edges.
pub(crate) fn order<T: Flow>(entries: &[T]) -> Result<Vec<usize>, Cycle> {
    let mut artifacts: HashMap<&str, Artifact> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        for name in distinct(entry.produces()) {
            let artifact = artifacts.entry(name).or_default();
            artifact.producers.push(index);
            artifact.remaining += 1;
        }
        for name in distinct(entry.consumes()) {
            artifacts.entry(name).or_default().consumers.push(index);
        }
    }
    // Per entry: consumed artifacts that another entry has still to make.
    let mut waiting = vec![0_usize; entries.len()];
    for artifact in artifacts.values() {
        for consumer in &artifact.consumers {
            if artifact.producers.iter().take(2).any(|producer| producer != consumer) {
                bump(&mut waiting, *consumer);
            }
        }
    }
    let by_owner = |list: &mut Vec<usize>| {
        list.sort_by(|a, b| owner(entries, *a).cmp(owner(entries, *b)).then(a.cmp(b)));
    };
    let mut ready: Vec<usize> = (0..entries.len()).filter(|index| waiting.get(*index) == Some(&0)).collect();
    by_owner(&mut ready);
    let mut queue: VecDeque<usize> = ready.into();
    let mut output = Vec::with_capacity(entries.len());
    let mut done = vec![false; entries.len()];
    while let Some(index) = queue.pop_front() {
        output.push(index);
        if let Some(flag) = done.get_mut(index) {
            *flag = true;
        }
        let mut freed = Vec::new();
        for name in distinct(entries.get(index).map_or(&[], Flow::produces)) {
            let Some(artifact) = artifacts.get_mut(name) else { continue };
            artifact.remaining = artifact.remaining.saturating_sub(1);
            release(artifact, &done, &mut waiting, &mut freed);
        }
        by_owner(&mut freed);
        queue.extend(freed);
    }
    if output.len() == entries.len() {
        return Ok(output);
    }
    let left = (0..entries.len()).filter(|index| done.get(*index) == Some(&false));
    Err(Cycle { entries: left.collect() })
}

/// Frees the consumers of an artifact that nobody else has to make any more.
fn release(artifact: &Artifact, done: &[bool], waiting: &mut [usize], freed: &mut Vec<usize>) {
    let mut free = |consumer: usize| {
        if let Some(count) = waiting.get_mut(consumer)
            && *count > 0
        {
            *count -= 1;
            if *count == 0 {
                freed.push(consumer);
            }
        }
    };
    match artifact.remaining {
        // An entry that makes what it needs waits for the others only.
        1 => {
            let last = artifact.producers.iter().find(|producer| done.get(**producer) == Some(&false));
            if let Some(last) = last.filter(|last| artifact.consumers.contains(last)) {
                free(*last);
            }
        }
        0 => {
            let producers: HashSet<usize> = artifact.producers.iter().copied().collect();
            for consumer in artifact.consumers.iter().filter(|consumer| !producers.contains(consumer)) {
                free(*consumer);
            }
        }
        _ => {}
    }
}

fn bump(counts: &mut [usize], index: usize) {
    if let Some(count) = counts.get_mut(index) {
        *count += 1;
    }
}

fn owner<T: Flow>(entries: &[T], index: usize) -> &str {
    entries.get(index).map_or("", Flow::owner)
}

fn distinct(names: &[String]) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    names.iter().map(String::as_str).filter(move |name| seen.insert(*name))
}
