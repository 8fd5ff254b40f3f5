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
    folders: HashMap<PathBuf, BTreeSet<PathBuf>>,
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

    /// Watches what decides a snapshot.
    pub(crate) fn arm(&self, project: &Path, snapshot: &Snapshot, places: &Places) {
        let wanted = folders(project, snapshot, places);
        let (fresh, stale) = {
            let mut watched = self.lock();
            let fresh: Vec<PathBuf> =
                wanted.iter().filter(|folder| !watched.folders.contains_key(*folder)).cloned().collect();
            for folder in &wanted {
                watched.folders.entry(folder.clone()).or_default().insert(project.to_owned());
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
    fn release(&mut self, project: &Path, keep: &HashSet<PathBuf>) -> Vec<PathBuf> {
        let mut stale = Vec::new();
        self.folders.retain(|folder, projects| {
            if !keep.contains(folder) {
                projects.remove(project);
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
            .cloned()
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

fn folders(project: &Path, snapshot: &Snapshot, places: &Places) -> HashSet<PathBuf> {
    let mut folders: HashSet<PathBuf> = HashSet::from([
        project.to_owned(),
        project.join(".planning"),
        project.join(".gsd"),
        project.join(".gsd").join("capabilities"),
        places.gsd_home.clone(),
        places.gsd_home.join(".gsd"),
        places.gsd_home.join(".gsd").join("capabilities"),
    ]);
    folders.retain(|folder| folder.is_dir());
    // These were seen a moment ago.
    folders.extend(snapshot.overlays.iter().map(|overlay| overlay.bundle.clone()));
    folders.extend(snapshot.followed.folders.iter().cloned());
    folders
}
