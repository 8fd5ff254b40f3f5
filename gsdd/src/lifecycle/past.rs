//! Contents that were replaced: how many are kept, which one a rollback means, and what nothing needs any more.
//!
//! Source: ADR-1244 D6 (a failed or unwanted update can be taken back).

use std::path::Path;

use gsd_proto::{Code, WireError};
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::text::shown;
use serde_json::Map;

use crate::store::{OwnState, Past, Taken};

/// Replaced contents that are kept of each capability in each root.
pub(crate) const KEPT: usize = 5;

/// Records that `new` takes the place of what `entry` describes. Returns the content hashes that nothing needs any
/// more.
pub(super) fn supersede(
    state: &mut OwnState,
    root: &Path,
    id: &CapabilityId,
    entry: Option<&Entry>,
    mut new: Taken,
) -> Vec<String> {
    let key = OwnState::taken_key(root, id.as_str());
    let current = new.content_hash.clone();
    let linked =
        state.taken.get(&key).and_then(|taken| Some((taken.content_hash.clone(), taken.linked.clone()?)));
    if let (Some(new), Some((content, old))) = (&mut new.linked, &linked) {
        new.before = if *content == current { old.before.clone() } else { Some(content.clone()) };
    }
    let replaced = state.taken.insert(key.clone(), new);
    let mut past = state.past.remove(&key).unwrap_or_default();
    let mut gone: Vec<String> = Vec::new();
    if let (Some(entry), Some(taken)) = (entry, replaced) {
        gone.extend(taken.linked.as_ref().and_then(|linked| linked.before.clone()));
        gone.push(taken.content_hash.clone());
        past.retain(|past| past.taken.content_hash != taken.content_hash);
        // Saving a file is no release: only what was installed as a copy can come back.
        if taken.linked.is_none() {
            past.push(Past {
                version: entry.version.clone(),
                source: entry.source.clone(),
                integrity: entry.integrity.clone(),
                taken,
                unknown: Map::new(),
            });
        }
    }
    past.retain(|past| past.taken.content_hash != current);
    let surplus = past.len().saturating_sub(KEPT);
    gone.extend(past.drain(..surplus).map(|past| past.taken.content_hash));
    if !past.is_empty() {
        state.past.insert(key, past);
    }
    unneeded(state, gone)
}

/// Forgets everything about a capability in a root. Returns the content hashes that nothing needs any more.
pub(super) fn forget(state: &mut OwnState, root: &Path, id: &CapabilityId) -> Vec<String> {
    let key = OwnState::taken_key(root, id.as_str());
    let taken = state.taken.remove(&key);
    let past = state.past.remove(&key).unwrap_or_default();
    let gone = taken.into_iter().chain(past.into_iter().map(|past| past.taken));
    let gone = gone.flat_map(|taken| {
        let before = taken.linked.and_then(|linked| linked.before);
        std::iter::once(taken.content_hash).chain(before)
    });
    let gone = gone.collect();
    unneeded(state, gone)
}

fn unneeded(state: &OwnState, mut hashes: Vec<String>) -> Vec<String> {
    hashes.retain(|hash| !state.contents(|_| true).any(|needed| needed == hash));
    hashes.sort();
    hashes.dedup();
    hashes
}

/// The content that a rollback goes to: the one of `version`, the latest of it when there are several; without a
/// version the one that was agreed to last before the present one.
///
/// # Errors
/// When there is none, with those that there are.
pub(crate) fn to_go_back_to(
    state: &OwnState,
    root: &Path,
    id: &CapabilityId,
    version: Option<&str>,
) -> Result<Past, WireError> {
    let past = state.past(root, id.as_str());
    let present = state.taken(root, id.as_str()).map(|taken| taken.at.as_str());
    let fits = |past: &&Past| match version {
        Some(version) => past.version == version,
        None => present.is_none_or(|present| past.taken.at.as_str() < present),
    };
    if let Some(found) = past.iter().filter(fits).max_by(|left, right| left.taken.at.cmp(&right.taken.at)) {
        return Ok(found.clone());
    }
    let what = match version {
        Some(version) => format!("no content of {id} {} is kept", shown(version)),
        None => format!("no earlier content of {id} is kept"),
    };
    let mut error = WireError::new(Code::NotFound, what);
    for past in past.iter().rev() {
        error = error.with_fix(
            format!("go to {}, agreed to at {}", shown(&past.version), shown(&past.taken.at)),
            &["gsdctl", "rollback", id.as_str(), "--to", &past.version],
        );
    }
    if past.is_empty() {
        error = error.caused_by(format!("the last {KEPT} contents that updates replaced are kept"));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Linked;

    fn taken(content: &str, at: &str) -> Taken {
        serde_json::from_value(serde_json::json!({"contentHash": content, "how": "installed", "at": at}))
            .unwrap()
    }

    fn entry(version: &str) -> Entry {
        Entry {
            id: CapabilityId::parse("acme").unwrap(),
            version: version.to_owned(),
            source: "./x".to_owned(),
            integrity: String::new(),
            files: Vec::new(),
            shared_edits: Vec::new(),
            pending: None,
            extra: Map::new(),
        }
    }

    fn versions(state: &OwnState) -> Vec<&str> {
        state.past(Path::new("/r"), "acme").iter().map(|past| past.version.as_str()).collect()
    }

    #[test]
    fn the_last_contents_are_kept_and_the_oldest_gives_way() {
        let (root, id) = (Path::new("/r"), CapabilityId::parse("acme").unwrap());
        let mut state = OwnState::default();
        assert!(supersede(&mut state, root, &id, None, taken("c0", "0")).is_empty());
        for version in 1..=KEPT + 1 {
            let old = entry(&(version - 1).to_string());
            let new = taken(&format!("c{version}"), &version.to_string());
            let gone = supersede(&mut state, root, &id, Some(&old), new);
            assert_eq!(gone, if version > KEPT { vec!["c0"] } else { vec![] }, "{version}");
        }
        assert_eq!(versions(&state), ["1", "2", "3", "4", "5"]);
        let back = to_go_back_to(&state, root, &id, None).unwrap();
        assert_eq!(back.version, "5");
        assert_eq!(to_go_back_to(&state, root, &id, Some("2")).unwrap().taken.content_hash, "c2");
        assert!(to_go_back_to(&state, root, &id, Some("0")).is_err());

        // Going back keeps the one that was left, and one step further back is one step further back.
        assert!(supersede(&mut state, root, &id, Some(&entry("6")), back.taken).is_empty());
        assert_eq!(versions(&state), ["1", "2", "3", "4", "6"]);
        assert_eq!(to_go_back_to(&state, root, &id, None).unwrap().version, "4");
        assert_eq!(to_go_back_to(&state, root, &id, Some("6")).unwrap().taken.content_hash, "c6");
        assert_eq!(forget(&mut state, root, &id), ["c1", "c2", "c3", "c4", "c5", "c6"]);
        assert_eq!(state, OwnState::default());
    }

    #[test]
    fn a_linked_content_is_dropped_when_the_one_after_it_is_replaced() {
        let (root, id) = (Path::new("/r"), CapabilityId::parse("acme").unwrap());
        let linked = |content: &str| Taken { linked: Some(Linked::default()), ..taken(content, content) };
        let mut state = OwnState::default();
        supersede(&mut state, root, &id, None, taken("copy", "0"));
        assert!(supersede(&mut state, root, &id, Some(&entry("1")), linked("l1")).is_empty());
        assert_eq!(versions(&state), ["1"]);
        // What was started from it may still run.
        assert!(supersede(&mut state, root, &id, Some(&entry("2")), linked("l2")).is_empty());
        assert!(supersede(&mut state, root, &id, Some(&entry("2")), linked("l2")).is_empty());
        assert_eq!(supersede(&mut state, root, &id, Some(&entry("2")), linked("l3")), ["l1"]);
        assert_eq!(versions(&state), ["1"], "only copies come back");
        assert_eq!(supersede(&mut state, root, &id, Some(&entry("2")), taken("end", "9")), ["l2", "l3"]);
        assert_eq!(versions(&state), ["1"]);
        assert_eq!(forget(&mut state, root, &id), ["copy", "end"]);
    }

    #[test]
    fn a_content_that_another_root_has_is_needed() {
        let id = CapabilityId::parse("acme").unwrap();
        let mut state = OwnState::default();
        supersede(&mut state, Path::new("/r"), &id, None, taken("same", "0"));
        supersede(&mut state, Path::new("/other"), &id, None, taken("same", "0"));
        assert!(forget(&mut state, Path::new("/r"), &id).is_empty());
        assert_eq!(forget(&mut state, Path::new("/other"), &id), ["same"]);
    }
}
