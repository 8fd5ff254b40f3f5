//! Where in an archive the bundle lies.
//!
//! At its root; in `package/`, as npm packs; in the one folder that a forge packs everything into; or in
//! `capabilities/<id>/`, the published layout of upstream, at the root or in that one folder. The outermost one counts:
//! what lies below a bundle is part of it.

use std::collections::BTreeSet;

use super::Refusal;
use crate::fs::staging::Staging;

const MANIFEST: &str = "capability.json";

/// The folder that the bundle lies in; empty when that is the whole archive.
pub(super) fn place_of_bundle(archive: &Staging) -> Result<String, Refusal> {
    let mut places: Vec<String> = candidates(archive)
        .into_iter()
        .filter(|place| archive.files.contains(&format!("{place}{MANIFEST}")))
        .collect();
    // The outermost first; two of one depth are a choice that nobody made.
    places.sort_by_key(|place| (place.matches('/').count(), place.clone()));
    let depth = |place: &String| place.matches('/').count();
    let is_package = |place: &str| place == "package/";
    match places.as_slice() {
        [] => Err(Refusal::whole(
            "no-manifest",
            "there is no capability.json at its root, in package/, in its only folder, or in capabilities/ID/",
        )),
        // Tools that unpack npm packages would take the inner one.
        [root, rest @ ..] if root.is_empty() && rest.iter().any(|place| is_package(place)) => {
            Err(Refusal::whole("ambiguous", "there is a capability.json at its root and one in package/"))
        }
        [first, second, ..] if depth(first) == depth(second) => {
            Err(Refusal::whole("ambiguous", format!("it holds more than one bundle: {}", places.join(", "))))
        }
        [place, ..] => Ok(place.trim_end_matches('/').to_owned()),
    }
}

/// Folders, each with a slash at its end, that may hold the bundle.
fn candidates(archive: &Staging) -> BTreeSet<String> {
    let names = || archive.files.iter().chain(&archive.folders);
    let mut places = BTreeSet::from([String::new(), "package/".to_owned()]);
    let tops: BTreeSet<&str> = names().filter_map(|name| name.split('/').next()).collect();
    let only = tops.first().filter(|_| tops.len() == 1).map(|top| format!("{top}/"));
    for outer in [Some(String::new()), only.clone()].into_iter().flatten() {
        let published = format!("{outer}capabilities/");
        places.extend(
            names()
                .filter_map(|name| name.strip_prefix(published.as_str())?.split_once('/'))
                .map(|(id, _)| format!("{published}{id}/")),
        );
    }
    places.extend(only);
    places
}
