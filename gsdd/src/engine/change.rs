//! What a subscriber would see differently after a composition.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use gsdd_core::compose::Scope;

use super::snapshot::Snapshot;

/// A change of the registry of one project.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) project: PathBuf,
    pub(crate) generation: u64,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
}

/// Everything is new.
pub(super) fn first(snapshot: &Snapshot) -> Change {
    Change {
        project: snapshot.project_root.clone(),
        generation: snapshot.generation,
        added: snapshot.composition.accepted.iter().map(ToString::to_string).collect(),
        removed: Vec::new(),
        changed: Vec::new(),
    }
}

/// What a subscriber would see differently; `None` when nothing.
pub(super) fn difference(before: &Snapshot, after: &Snapshot) -> Option<Change> {
    let ids = |snapshot: &Snapshot| -> BTreeSet<String> {
        snapshot.composition.accepted.iter().map(ToString::to_string).collect()
    };
    let by_place = |snapshot: &'_ Snapshot| -> HashMap<(String, Scope), usize> {
        let overlays = snapshot.overlays.iter().enumerate();
        overlays.map(|(at, overlay)| ((overlay.dir_name.clone(), overlay.scope), at)).collect()
    };
    let (old_places, new_places) = (by_place(before), by_place(after));
    let (old, new) = (ids(before), ids(after));
    let added: Vec<String> = new.difference(&old).cloned().collect();
    let removed: Vec<String> = old.difference(&new).cloned().collect();
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for overlay in &after.overlays {
        let place = (overlay.dir_name.clone(), overlay.scope);
        let other = old_places.get(&place).and_then(|at| before.overlays.get(*at));
        let same = other.is_some_and(|other| overlay.same_state(other));
        if !same && !added.contains(&overlay.dir_name) {
            changed.insert(overlay.dir_name.clone());
        }
    }
    for overlay in &before.overlays {
        let stays = new_places.contains_key(&(overlay.dir_name.clone(), overlay.scope));
        if !stays && !removed.contains(&overlay.dir_name) {
            changed.insert(overlay.dir_name.clone());
        }
    }
    let configuration = before.config_differs(after);
    if added.is_empty() && removed.is_empty() && changed.is_empty() && !configuration {
        return None;
    }
    Some(Change {
        project: after.project_root.clone(),
        generation: after.generation,
        added,
        removed,
        changed: changed.into_iter().collect(),
    })
}
