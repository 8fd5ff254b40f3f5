//! What a start finds lying around: interrupted operations, staging folders, a launcher that leads nowhere.

use std::fs;
use std::time::Duration;

use crate::apply::{self, Tools};
use crate::engine::Engine;
use crate::store::{ScopeRoot, clock};

/// Age from which a staging folder belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(10 * 60);

/// Mask of files that are put back when nobody asks.
const DEFAULT_UMASK: u32 = 0o022;

/// Settles what an interrupted run left behind; one line per thing that was done. A second sweep does nothing.
pub(crate) fn sweep(engine: &Engine) -> Vec<String> {
    // Another process of this home may be at work right now: what it has begun is not ours to settle.
    let Ok(_own) = engine.exclusive() else { return Vec::new() };
    let now = clock::now();
    let journal = engine.places().journal();
    let tools = Tools { objects: engine.objects(), journal: &journal, now: &now, umask: DEFAULT_UMASK };
    let mut done: Vec<String> = apply::recover(&tools)
        .into_iter()
        .map(|recovered| {
            let what = if recovered.finished { "finished" } else { "taken back" };
            let left = if recovered.left.is_empty() {
                String::new()
            } else {
                format!("; left: {}", recovered.left.join(", "))
            };
            format!("an interrupted operation on {} was {what}{left}", recovered.id)
        })
        .collect();
    done.extend(sweep_root(&engine.places().global_root()));
    done.extend(repoint_launcher(engine));
    done
}

/// Abandoned staging folders of one root.
pub(crate) fn sweep_root(root: &ScopeRoot) -> Vec<String> {
    if root.planted_link().is_some() {
        return Vec::new();
    }
    let mut done = Vec::new();
    for entry in fs::read_dir(root.staging()).into_iter().flatten().flatten() {
        let old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED));
        if old && fs::remove_dir_all(entry.path()).is_ok() {
            done.push(format!("{} was abandoned and is deleted", entry.path().display()));
        }
    }
    let _ = fs::remove_dir(root.staging());
    done
}

/// Keeps the launcher pointing at the installed client, so that registrations survive an upgrade of ours (FR-016).
fn repoint_launcher(engine: &Engine) -> Option<String> {
    let client = engine.client()?;
    let launcher = engine.places().launcher();
    let target = fs::read_link(&launcher).ok()?;
    if target == client || target.exists() {
        return None;
    }
    apply::point_launcher(&launcher, Some(client)).ok()?;
    Some(format!("{} leads to {} now", launcher.display(), client.display()))
}
