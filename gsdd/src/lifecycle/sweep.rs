//! What a start finds lying around: interrupted operations, staging folders, a launcher that leads nowhere.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gsdd_core::ids::CapabilityId;

use crate::apply::{self, Tools};
use crate::engine::Engine;
use crate::store::{Objects, ScopeRoot, UpstreamLock, clock};

/// Age from which a staging folder belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(10 * 60);

/// Mask of files that are put back when nobody asks.
const DEFAULT_UMASK: u32 = 0o022;

/// Settles what an interrupted run left behind; one line per thing that was done. A second sweep does nothing.
pub(crate) fn sweep(engine: &Engine) -> Vec<String> {
    // Another process of this home may be at work right now: what it has begun is not ours to settle.
    let Ok(_own) = engine.exclusive() else { return Vec::new() };
    let mut done = recover(engine);
    let global = engine.places().global_root();
    UpstreamLock::clear_dead(&UpstreamLock::mutation_file(&global.bundles()));
    UpstreamLock::clear_dead(&UpstreamLock::consent_file(&global.gsd()));
    done.extend(sweep_root(&global));
    for folder in [engine.places().objects(), engine.places().state.join("fetch")] {
        done.extend(sweep_abandoned(&folder, |name| name.starts_with(".new-") || name.starts_with("git-")));
    }
    done.extend(repoint_launcher(engine));
    done
}

/// Settles what another process of this home left behind, before `root` is changed. The caller keeps such processes
/// out.
pub(crate) fn settle(engine: &Engine, root: &ScopeRoot) {
    for line in recover(engine).into_iter().chain(sweep_root(root)) {
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

fn recover(engine: &Engine) -> Vec<String> {
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
            format!("an interrupted operation on {} was {what}{left}", recovered.id)
        })
        .collect()
}

/// Abandoned staging folders of one root.
pub(crate) fn sweep_root(root: &ScopeRoot) -> Vec<String> {
    if root.planted_link().is_some() {
        return Vec::new();
    }
    let mut done = sweep_abandoned(&root.staging(), |_| true);
    let _ = fs::remove_dir(root.staging());
    done.extend(sweep_abandoned(&root.bundles(), is_discarded));
    done
}

/// `<id>.discard-<pid>-<time>`: no id has a dot in it. The backup of an upgrade is left for whoever has to put it back.
fn is_discarded(name: &str) -> bool {
    name.split_once(".discard-").is_some_and(|(id, stamp)| {
        CapabilityId::parse(id).is_ok()
            && stamp.split('-').count() == 2
            && stamp.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
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

/// Since the folder was last touched; a folder that was moved keeps the time of its content, so the change of its own
/// entry counts.
#[cfg(unix)]
fn age(metadata: &fs::Metadata) -> Option<Duration> {
    use std::os::unix::fs::MetadataExt as _;
    let changed = u64::try_from(metadata.ctime()).ok()?;
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(changed)).ok()
}

/// Since the folder was last touched.
#[cfg(not(unix))]
fn age(metadata: &fs::Metadata) -> Option<Duration> {
    SystemTime::now().duration_since(metadata.modified().ok()?).ok()
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
