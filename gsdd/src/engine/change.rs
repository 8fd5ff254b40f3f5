//! What a subscriber would see differently after a composition.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;

use super::snapshot::{Overlay, Snapshot};

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
    let Names { added, removed, changed } =
        if same_places(before, after) { changed_in_place(before, after) } else { names(before, after) };
    let configuration = before.config_differs(after);
    if added.is_empty() && removed.is_empty() && changed.is_empty() && !configuration {
        return None;
    }
    Some(Change {
        project: after.project_root.clone(),
        generation: after.generation,
        added,
        removed,
        changed,
    })
}

/// Ids that differ, each list in byte order.
#[derive(PartialEq, Eq)]
pub(super) struct Names {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

/// Whether the same bundles were found and the same were accepted: what is left are changes of single bundles.
pub(super) fn same_places(before: &Snapshot, after: &Snapshot) -> bool {
    let same = |(a, b): (&Overlay, &Overlay)| a.scope == b.scope && a.dir_name == b.dir_name;
    before.overlays.len() == after.overlays.len()
        && before.overlays.iter().zip(&after.overlays).all(same)
        && before.composition.accepted == after.composition.accepted
}

pub(super) fn changed_in_place(before: &Snapshot, after: &Snapshot) -> Names {
    let pairs = before.overlays.iter().zip(&after.overlays);
    let differing = pairs.filter(|(before, after)| !after.same_state(before));
    let changed: BTreeSet<String> = differing.map(|(_, after)| after.dir_name.clone()).collect();
    Names { added: Vec::new(), removed: Vec::new(), changed: changed.into_iter().collect() }
}

pub(super) fn names(before: &Snapshot, after: &Snapshot) -> Names {
    let (old, new) = (ids(before), ids(after));
    let (old_places, new_places) = (by_place(before), by_place(after));
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    for overlay in &after.overlays {
        let name = overlay.dir_name.as_str();
        let same = old_places.get(&(name, overlay.scope)).is_some_and(|other| overlay.same_state(other));
        let added = new.contains(name) && !old.contains(name);
        if !same && !added {
            changed.insert(name);
        }
    }
    for overlay in &before.overlays {
        let name = overlay.dir_name.as_str();
        let removed = old.contains(name) && !new.contains(name);
        if !new_places.contains_key(&(name, overlay.scope)) && !removed {
            changed.insert(name);
        }
    }
    let added: Vec<String> = new.difference(&old).map(ToString::to_string).collect();
    let removed: Vec<String> = old.difference(&new).map(ToString::to_string).collect();
    Names { added, removed, changed: changed.into_iter().map(ToOwned::to_owned).collect() }
}

fn ids(snapshot: &Snapshot) -> BTreeSet<&str> {
    snapshot.composition.accepted.iter().map(CapabilityId::as_str).collect()
}

fn by_place(snapshot: &Snapshot) -> HashMap<(&str, Scope), &Overlay> {
    snapshot.overlays.iter().map(|overlay| ((overlay.dir_name.as_str(), overlay.scope), overlay)).collect()
}
