//! What lies in hosts without a record of ours: written on another machine and shared through a project, or by us
//! before our records were lost. Identity is what an entry does (D-04), so it is found again.

use std::path::Path;

use gsd_proto::Context;
use gsdd_core::compose::Scope;
use gsdd_core::ledger::Entry;
use gsdd_core::projection;
use gsdd_core::runtime::WiringScope;

use super::{produced, targets, wiring};
use crate::engine::{Engine, Snapshot};
use crate::fs::bundle_tree::BundleTree;
use crate::store::{OwnState, ScopeRoot, TargetKey, WiringTarget, shared_files};
use gsdd_core::bundle::budget::MOST_BYTES;

/// Adds to `state` what is found in hosts that it has no record of for `root`, for all capabilities installed there: a
/// registration that another one needs is then known to be needed.
pub(super) fn presume(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    state: &mut OwnState,
) {
    let scope = match root.scope {
        Scope::Project => WiringScope::Project,
        Scope::Global | Scope::FirstParty => WiringScope::Global,
    };
    let project_root = (scope == WiringScope::Project).then_some(root.dir.as_path());
    let recorded: Vec<Entry> = shared_files::read_ledger(&root.ledger())
        .ok()
        .flatten()
        .map(|ledger| ledger.iter().collect())
        .unwrap_or_default();
    for descriptor in engine.shipped().descriptors.values() {
        let key = TargetKey { runtime: descriptor.id.clone(), scope, root: root.dir.clone() };
        if descriptor.surfaces.is_none() || state.targets.contains_key(&key.text()) {
            continue;
        }
        let Some(places) = targets::host_places(descriptor, ctx, engine.places(), project_root) else {
            continue;
        };
        let mut target =
            WiringTarget { runtime: key.runtime.clone(), root: root.dir.clone(), ..WiringTarget::default() };
        let of_root = snapshot.overlays.iter().filter(|overlay| *overlay.root == *root.dir);
        for overlay in of_root.filter(|overlay| recorded.iter().any(|entry| is(entry, &overlay.dir_name))) {
            let Some(manifest) = &overlay.manifest else { continue };
            let Ok(tree) = BundleTree::read(Path::new(&overlay.bundle), MOST_BYTES) else { continue };
            let Ok(produced) = produced(manifest, &tree) else { continue };
            let placement = projection::place(descriptor, scope, &places, &produced);
            let found = wiring::found(&placement, &overlay.dir_name, descriptor);
            if !found.is_empty() {
                // A folder with the mark of a capability is that capability's alone.
                let marked = found.files.iter().filter(|file| file.path.ends_with(projection::SKILL_MARKER));
                let folders = marked.filter_map(|file| file.path.parent()).map(ToOwned::to_owned);
                state.folders.entry(key.text()).or_default().extend(folders);
                target.documents.extend(
                    placement.entries.iter().map(|entry| (entry.document.clone(), Default::default())),
                );
                target.capabilities.insert(overlay.dir_name.clone(), found);
            }
        }
        if !target.capabilities.is_empty() {
            state.targets.insert(key.text(), target);
        }
    }
}

fn is(entry: &Entry, id: &str) -> bool {
    entry.id.as_str() == id
}
