//! Which folders are watched for which projects.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::debounce::{self, Mark};
use crate::engine::Snapshot;
use crate::store::Places;

/// How well a project is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchState {
    pub(crate) project: PathBuf,
    /// Why it is polled instead; `None` = it is watched.
    pub(crate) polled_because: Option<String>,
}

/// Watches folders and marks projects.
pub(crate) struct Watcher {
    shared: Arc<Mutex<Watched>>,
    notify: Mutex<Option<RecommendedWatcher>>,
    marks: Sender<Mark>,
    /// Why nothing can be watched at all.
    unavailable: Option<String>,
}

#[derive(Default)]
struct Watched {
    /// Folder → projects that depend on it.
    folders: HashMap<PathBuf, Vec<Arc<Path>>>,
    dirty: BTreeSet<PathBuf>,
    states: BTreeMap<PathBuf, Option<String>>,
}

impl Watcher {
    /// Starts watching nothing; `pass_on` gets each project that changed, once things are quiet.
    pub(crate) fn start(pass_on: impl Fn(PathBuf) + Send + 'static) -> Self {
        let (marks, received) = mpsc::channel();
        let spawned = std::thread::Builder::new()
            .name("gsdd-debounce".to_owned())
            .spawn(move || debounce::run(&received, &pass_on));
        let shared = Arc::new(Mutex::new(Watched::default()));
        let handler = {
            let shared = Arc::clone(&shared);
            let marks = marks.clone();
            move |event: notify::Result<Event>| on_event(&shared, &marks, &event)
        };
        // Links are not followed: they lead out of the root and into anything.
        let notify = RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false));
        let unavailable = match (&notify, &spawned) {
            (Err(error), _) => Some(error.to_string()),
            (_, Err(error)) => Some(error.to_string()),
            _ => None,
        };
        Self { shared, notify: Mutex::new(notify.ok()), marks, unavailable }
    }

    /// Whether something changed since the last [`Watcher::clean`].
    pub(crate) fn is_dirty(&self, project: &Path) -> bool {
        self.lock().dirty.contains(project)
    }

    /// Forgets the mark; the project is about to be rescanned.
    pub(crate) fn clean(&self, project: &Path) {
        self.lock().dirty.remove(project);
    }

    /// Watches what decides a snapshot; `before` is the one that was watched last.
    pub(crate) fn arm(
        &self,
        project: &Path,
        snapshot: &Snapshot,
        before: Option<&Snapshot>,
        places: &Places,
    ) {
        let fixed = fixed_folders(project, places);
        if before.is_some_and(|before| same_folders(before, snapshot)) && self.is_armed(project, &fixed) {
            return;
        }
        let wanted = folders(&fixed, snapshot);
        let (fresh, stale) = {
            let mut watched = self.lock();
            let mut fresh: Vec<PathBuf> = Vec::new();
            let name: Arc<Path> = project.into();
            for folder in &wanted {
                match watched.folders.get_mut(*folder) {
                    Some(projects) if projects.contains(&name) => {}
                    Some(projects) => projects.push(Arc::clone(&name)),
                    None => {
                        watched.folders.insert((*folder).to_owned(), vec![Arc::clone(&name)]);
                        fresh.push((*folder).to_owned());
                    }
                }
            }
            (fresh, watched.release(project, &wanted))
        };
        let mut problem = self.unavailable.clone();
        {
            let mut notify = self.notify.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(notify) = notify.as_mut() {
                for folder in &stale {
                    let _ = notify.unwatch(folder);
                }
                for folder in &fresh {
                    if let Err(error) = notify.watch(folder, RecursiveMode::NonRecursive)
                        && folder.exists()
                    {
                        problem = Some(format!("{}: {error}", folder.display()));
                        self.lock().folders.remove(folder);
                    }
                }
            }
        }
        let _ = self.marks.send(Mark::Polled(project.to_owned(), problem.is_some()));
        self.lock().states.insert(project.to_owned(), problem);
        // What changed between the scan and the watch produced no event.
        if !fresh.is_empty() && !snapshot.is_fresh() {
            self.lock().dirty.insert(project.to_owned());
            let _ = self.marks.send(Mark::Changed(project.to_owned()));
        }
    }

    /// Whether the project is watched without a problem, and of `fixed` what is there.
    fn is_armed(&self, project: &Path, fixed: &[(PathBuf, bool)]) -> bool {
        let watched = self.lock();
        let is_watched = |folder: &Path| {
            let projects = watched.folders.get(folder);
            projects.is_some_and(|projects| projects.iter().any(|one| **one == *project))
        };
        watched.states.get(project).is_some_and(Option::is_none)
            && fixed.iter().all(|(folder, is_there)| *is_there == is_watched(folder))
    }

    /// Stops watching for a project.
    pub(crate) fn disarm(&self, project: &Path) {
        let stale = {
            let mut watched = self.lock();
            watched.states.remove(project);
            watched.dirty.remove(project);
            watched.release(project, &HashSet::new())
        };
        let _ = self.marks.send(Mark::Polled(project.to_owned(), false));
        let mut notify = self.notify.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = notify.as_mut() {
            for folder in &stale {
                let _ = notify.unwatch(folder);
            }
        }
    }

    /// How well each project is watched.
    pub(crate) fn states(&self) -> Vec<WatchState> {
        let watched = self.lock();
        let state = |(project, problem): (&PathBuf, &Option<String>)| WatchState {
            project: project.clone(),
            polled_because: problem.clone(),
        };
        watched.states.iter().map(state).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Takes `project` off every folder that is not in `keep`; returns the folders that nobody needs any more.
    fn release(&mut self, project: &Path, keep: &HashSet<&Path>) -> Vec<PathBuf> {
        let mut stale = Vec::new();
        self.folders.retain(|folder, projects| {
            if !keep.contains(folder.as_path()) {
                projects.retain(|one| **one != *project);
            }
            if projects.is_empty() {
                stale.push(folder.clone());
            }
            !projects.is_empty()
        });
        stale
    }
}

fn on_event(shared: &Mutex<Watched>, marks: &Sender<Mark>, event: &notify::Result<Event>) {
    let mut watched = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let projects: BTreeSet<PathBuf> = match event {
        // Reading is not a change; our own rescan would cause the next one.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
        Ok(event) if !event.need_rescan() && !event.paths.is_empty() => event
            .paths
            .iter()
            .filter(|path| matters(path))
            .flat_map(|path| [Some(path.as_path()), path.parent()])
            .flatten()
            .filter_map(|folder| watched.folders.get(folder))
            .flatten()
            .map(|project| project.to_path_buf())
            .collect(),
        // Events were lost, or the watch is broken: everything is looked at again.
        Ok(_) | Err(_) => watched.states.keys().cloned().collect(),
    };
    for project in projects {
        watched.dirty.insert(project.clone());
        let _ = marks.send(Mark::Changed(project));
    }
}

/// A home directory sees much traffic that is none of ours.
fn matters(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let temporary = name.contains(".tmp.") || name.starts_with(".lock") || name.starts_with(".consent.lock");
    let beside_gsd = path.parent().is_some_and(|folder| folder.join(".gsd").exists());
    let ours = matches!(name.as_ref(), ".gsd" | ".gsd-capabilities.json" | ".planning" | ".git");
    !temporary && (ours || !beside_gsd)
}

/// Folders that every project depends on, and whether they are there.
fn fixed_folders(project: &Path, places: &Places) -> [(PathBuf, bool); 7] {
    let folders = [
        project.to_owned(),
        project.join(".planning"),
        project.join(".gsd"),
        project.join(".gsd").join("capabilities"),
        places.gsd_home.clone(),
        places.gsd_home.join(".gsd"),
        places.gsd_home.join(".gsd").join("capabilities"),
    ];
    folders.map(|folder| {
        let is_there = folder.is_dir();
        (folder, is_there)
    })
}

fn folders<'a>(fixed: &'a [(PathBuf, bool)], snapshot: &'a Snapshot) -> HashSet<&'a Path> {
    let fixed = fixed.iter().filter(|(_, is_there)| *is_there).map(|(folder, _)| folder.as_path());
    // These were seen a moment ago.
    let bundles = snapshot.overlays.iter().map(|overlay| overlay.bundle.as_path());
    fixed.chain(bundles).chain(snapshot.followed.folders.iter().map(PathBuf::as_path)).collect()
}

fn same_folders(before: &Snapshot, after: &Snapshot) -> bool {
    let same = before.overlays.len() == after.overlays.len()
        && before
            .overlays
            .iter()
            .zip(&after.overlays)
            .all(|(a, b)| a.bundle.as_os_str() == b.bundle.as_os_str());
    same && before.followed.folders == after.followed.folders
}
