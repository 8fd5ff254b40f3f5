//! Stored contents that nothing refers to any more.
//!
//! The store stays bounded: per capability and root the present content and the last that updates replaced. The
//! caller keeps other processes of this home out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::apply;
use crate::engine::Engine;
use crate::store::{OwnState, shared_files};

/// Deletes what nothing refers to; one line per content. Nothing at all while our records or the consent store can't
/// be read: then it is not known what is needed.
pub(super) fn collect(engine: &Engine) -> Vec<String> {
    let Some(needed) = needed(engine) else { return Vec::new() };
    let mut done = Vec::new();
    for entry in fs::read_dir(engine.places().objects()).into_iter().flatten().flatten() {
        let path = entry.path();
        // What begins with a dot is being written, or was; the sweep of abandoned folders sees to it.
        let is_content = entry.file_name().to_str().is_some_and(|name| !name.starts_with('.'));
        if is_content && !needed.contains(&path) {
            match apply::drop_tree(&path) {
                Ok(()) => {
                    done.push(format!("{} was stored for nothing any more and is deleted", path.display()));
                }
                Err(error) => tracing::warn!(path = %path.display(), %error, "a stored content stays"),
            }
        }
    }
    done
}

fn needed(engine: &Engine) -> Option<BTreeSet<PathBuf>> {
    let places = engine.places();
    let (state, _) = OwnState::read(&places.own_state()).ok()?;
    let (consents, refused) = shared_files::read_consent(&places.consent_store());
    if refused.is_some() {
        return None;
    }
    let agreed: Vec<String> = consents
        .iter()
        .filter(|record| !is_gone(Path::new(&record.project_root)))
        .map(|record| record.content_hash.clone())
        .collect();
    let ours = state.contents(|root| !is_gone(root));
    Some(ours.chain(agreed.iter().map(String::as_str)).map(|hash| engine.objects().path(hash)).collect())
}

/// A root that was deleted. One on a disk that is not there now has no parent either, and keeps what it has; should
/// a deleted one come back, its contents are stored again when they are needed.
fn is_gone(root: &Path) -> bool {
    !root.exists() && root.parent().is_some_and(Path::is_dir)
}
