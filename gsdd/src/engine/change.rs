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
    let configuration = before.config_differs(after);
    if added.is_empty() && removed.is_empty() && changed.is_empty() && !configuration {
        return None;
    }
    Some(Change {
        project: after.project_root.clone(),
        generation: after.generation,
        added,
        removed,
        changed: changed.into_iter().map(ToOwned::to_owned).collect(),
    })
}

fn ids(snapshot: &Snapshot) -> BTreeSet<&str> {
    snapshot.composition.accepted.iter().map(CapabilityId::as_str).collect()
}

fn by_place(snapshot: &Snapshot) -> HashMap<(&str, Scope), &Overlay> {
    snapshot.overlays.iter().map(|overlay| ((overlay.dir_name.as_str(), overlay.scope), overlay)).collect()
}
