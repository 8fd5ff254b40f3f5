//! What a start finds lying around: interrupted operations, staging folders, a launcher that leads nowhere.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gsd_proto::Context;

use super::garbage;
use crate::apply::{self, Tools};
use crate::engine::Engine;
use crate::fs::staging::UNFINISHED;
use crate::store::{Objects, OwnState, UpstreamLock, clock};

/// Age from which a staging folder belongs to nobody any more: longer than one waits for its commit.
const ABANDONED: Duration = Duration::from_secs(30 * 60);

/// Mask of files that are put back when nobody asks.
const DEFAULT_UMASK: u32 = 0o022;

/// Settles what an interrupted run left behind; one line per thing that was done. A second sweep does nothing.
pub(crate) fn sweep(engine: &Engine) -> Vec<String> {
    // Another process of this home may be at work right now: what it has begun is not ours to settle.
    let Ok(_own) = engine.exclusive() else { return Vec::new() };
    let mut done: Vec<String> = recover(engine).into_iter().map(|(_, text)| text).collect();
    let global = engine.places().global_root();
    UpstreamLock::clear_dead(&UpstreamLock::mutation_file(&global.bundles()));
    UpstreamLock::clear_dead(&UpstreamLock::consent_file(&global.gsd()));
    // Upstream may be at work: what it has begun is not ours to settle either.
    if let Ok(_upstream) = engine.lock(&global) {
        let home = engine.places().user_home.clone();
        let ctx = Context { cwd: home.clone(), ..Context::default() };
        done.extend(engine.bring_in_order(&home, &global, &ctx));
    }
    done.extend(tidy(engine));
    done
}

/// What belongs to no root: folders of dead fetches, contents that nothing needs, a launcher that leads nowhere.
pub(crate) fn tidy(engine: &Engine) -> Vec<String> {
    let mut done = Vec::new();
    for folder in [engine.places().objects(), engine.places().state.join("fetch")] {
        done.extend(sweep_abandoned(&folder, |name| {
            name.starts_with(UNFINISHED) || name.starts_with("git-")
        }));
    }
    done.extend(garbage::collect(engine));
    done.extend(repoint_launcher(engine));
    done
}

/// Settles what another process of this home left behind, before something is changed. The caller keeps such processes
/// out.
pub(crate) fn settle(engine: &Engine) {
    for (_, line) in recover(engine) {
        tracing::warn!("{line}");
    }
}

/// Whether an operation of this home is written down that was not finished.
pub(crate) fn is_unsettled(engine: &Engine) -> bool {
    fs::read_dir(engine.places().journal())
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
}

/// Finishes or takes back what our journal says was under way; id and what was done.
pub(crate) fn recover(engine: &Engine) -> Vec<(String, String)> {
    let now = clock::now();
    let journal = engine.places().journal();
    let tools = Tools { objects: engine.objects(), journal: &journal, now: &now, umask: DEFAULT_UMASK };
    apply::recover(&tools)
        .into_iter()
        .map(|recovered| {
            let what = if recovered.finished { "finished" } else { "taken back" };
            let left = if recovered.left.is_empty() {
                String::new()
            } else {
                format!("; left: {}", recovered.left.join(", "))
            };
            let text = format!("an interrupted operation on {} was {what}{left}", recovered.id);
            (recovered.id, text)
        })
        .collect()
}

/// What [`recover`] would do.
pub(crate) fn interrupted(engine: &Engine) -> Vec<(String, String)> {
    let told = |(id, finish): (String, bool)| {
        let what = if finish { "finish" } else { "take back" };
        let text = format!("{what} the interrupted operation on {id}");
        (id, text)
    };
    apply::interrupted(&engine.places().journal()).into_iter().map(told).collect()
}

fn sweep_abandoned(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
    let mut done = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_ours(name)) else { continue };
        let old = || entry.metadata().is_ok_and(|metadata| age(&metadata).is_some_and(|age| age > ABANDONED));
        if (Objects::is_left_behind(name) || old()) && apply::drop_tree(&entry.path()).is_ok() {
            done.push(format!("{} was abandoned and is deleted", entry.path().display()));
        }
    }
    done
}

/// Since the folder was last written.
fn age(metadata: &fs::Metadata) -> Option<Duration> {
    SystemTime::now().duration_since(metadata.modified().ok()?).ok()
}

/// Keeps the launcher pointing at the installed client, so that registrations survive an upgrade of ours (FR-016), and
/// puts it back while registrations name it.
fn repoint_launcher(engine: &Engine) -> Option<String> {
    let client = engine.client()?;
    let launcher = engine.places().launcher();
    match fs::read_link(&launcher) {
        Ok(target) if target == client || target.exists() => return None,
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (state, _) = OwnState::read(&engine.places().own_state()).ok()?;
            if !state.anything_wired() {
                return None;
            }
            fs::create_dir_all(launcher.parent()?).ok()?;
        }
        Err(_) => return None,
    }
    apply::point_launcher(&launcher, Some(client)).ok()?;
    Some(format!("{} leads to {} now", launcher.display(), client.display()))
}
