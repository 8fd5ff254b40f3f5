//! The one writer: everything that changes state goes through one thread, one closed list of work.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use gsd_proto::api::capability::Consent;
use gsd_proto::{Code, Context, WireError};
use gsdd_core::activation::SwitchWish;
use gsdd_core::bundle::budget::MAX_BYTES;
use gsdd_core::compose::{LedgerState, Scope};
use gsdd_core::lifecycle::{FileBytes, OUR_RECORDS, Plan, Step, Verb};
use gsdd_core::policy::Policy;
use gsdd_core::registry::Base;
use tokio::sync::{broadcast, oneshot};

use gsdd_core::audit::{Event, Happening};

use super::audited::event_of;
use super::bundles::Bundles;
use super::change::{Change, difference, first};
use super::first_party::Shipped;
use super::links::Looks;
use super::looks::Seen;
use super::reconcile::{ReconcileWish, Reconciled};
use super::snapshot::Snapshot;
use super::turns::{Queued, held, next, unless_put_off};
use crate::apply::{self, Tools};
use crate::audit::AuditLog;
use crate::fs::atomic;
use crate::lifecycle::{self, Accepted, Prepared, Removal, Staged, Switching};
use crate::patience::{Patience, holder_words};
use crate::policy::Policies;
use crate::store::{Objects, OwnState, Places, ScopeRoot, Taken, clock};
use crate::watch::Watcher;

/// Projects whose snapshots are kept; the least recently used one gives way.
const MAX_PROJECTS: usize = 32;
/// Change notices that a slow subscriber may fall behind before it is told to read everything again.
const NOTICES: usize = 256;

/// How often work in the queue is looked after.
const LOOK: Duration = Duration::from_millis(100);
/// Mask of new files when the caller does not say.
const DEFAULT_UMASK: u32 = 0o022;

/// The engine has ended; the daemon is shutting down.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the daemon is shutting down")]
pub(crate) struct EngineStopped;

impl From<EngineStopped> for WireError {
    fn from(stopped: EngineStopped) -> Self {
        Self::new(Code::DaemonStopping, stopped.to_string())
    }
}

/// What a piece of work did.
pub(crate) struct WorkOutcome<T> {
    pub(crate) value: T,
    pub(crate) snapshot: Arc<Snapshot>,
}

type Reply<T> = oneshot::Sender<Result<WorkOutcome<T>, WireError>>;

/// Everything that can change state.
enum Work {
    Recompose { project: PathBuf, seen: Option<Seen>, reply: oneshot::Sender<Arc<Snapshot>> },
    Refresh { project: PathBuf },
    Commit { staged: Arc<Staged>, consent: Option<Consent>, accepted: Accepted, reply: Reply<Prepared> },
    Remove { project: PathBuf, removal: RemoveWish, reply: Reply<Vec<Removal>> },
    Revoke { project: PathBuf, root: ScopeRoot, id: String, reply: Reply<bool> },
    Switch { project: PathBuf, wish: SwitchRequest, reply: Reply<Switching> },
    Reconcile { project: PathBuf, wish: ReconcileWish, reply: Reply<Reconciled> },
    Sweep { reply: oneshot::Sender<Vec<String>> },
}

impl Work {
    fn name(&self) -> &'static str {
        match self {
            Self::Recompose { .. } => "recompose",
            Self::Refresh { .. } => "refresh",
            Self::Commit { .. } => "commit",
            Self::Remove { .. } => "remove",
            Self::Revoke { .. } => "revoke",
            Self::Switch { .. } => "switch",
            Self::Reconcile { .. } => "reconcile",
            Self::Sweep { .. } => "sweep",
        }
    }
}

/// Whether the caller has [`Engine::exclusive`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    Held,
    Free,
}

/// What to remove.
pub(crate) struct RemoveWish {
    pub(crate) ctx: Context,
    pub(crate) id: String,
    pub(crate) scope: Option<Scope>,
    pub(crate) purge_data: bool,
    pub(crate) cascade: bool,
}

/// What to switch.
pub(crate) struct SwitchRequest {
    pub(crate) id: String,
    pub(crate) wish: SwitchWish,
    /// The folder of the host whose surface it is.
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) umask: Option<u32>,
}

/// The engine as its callers hold it; cheap to clone.
#[derive(Clone)]
pub(crate) struct Engine(Arc<Inner>);

struct Inner {
    shipped: Shipped,
    places: Places,
    objects: Objects,
    bundles: Bundles,
    looks: Looks,
    policies: Policies,
    client: Option<PathBuf>,
    audit: Arc<AuditLog>,
    generation: AtomicU64,
    projects: Mutex<HashMap<PathBuf, Kept>>,
    work: mpsc::Sender<Queued<Work>>,
    changes: broadcast::Sender<Change>,
    watcher: Watcher,
}

struct Kept {
    snapshot: Arc<Snapshot>,
    used: Instant,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("places", &self.0.places).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the writer. `client` is the installed `gsdctl`, which the launcher leads to.
    pub(crate) fn start(shipped: Shipped, places: Places, client: Option<PathBuf>) -> std::io::Result<Self> {
        let (work, queue) = mpsc::channel();
        let refresh = work.clone();
        let watcher = Watcher::start(move |project| {
            let _ = refresh.send(Queued::own(Work::Refresh { project }));
        });
        let engine = Self(Arc::new(Inner {
            shipped,
            objects: Objects::new(places.objects()),
            audit: Arc::new(AuditLog::new(&places.state)),
            places,
            bundles: Bundles::default(),
            looks: Looks::default(),
            policies: Policies::default(),
            client,
            generation: AtomicU64::new(0),
            projects: Mutex::default(),
            work,
            changes: broadcast::channel(NOTICES).0,
            watcher,
        }));
        // The thread must not keep the engine alive: it ends when the last caller is gone.
        let weak = Arc::downgrade(&engine.0);
        std::thread::Builder::new().name("gsdd-writer".to_owned()).spawn(move || {
            let mut put_off = VecDeque::new();
            while let Some(Queued { work, patience }) = next(&queue, &mut put_off) {
                let Some(inner) = weak.upgrade() else { return };
                let again = patience.clone().spend(|| Self(inner).perform(work)).flatten();
                put_off.extend(again.map(|work| Queued { work, patience }));
            }
        })?;
        Ok(engine)
    }

    pub(crate) fn base(&self) -> &Base {
        &self.0.shipped.base
    }

    pub(crate) fn shipped(&self) -> &Shipped {
        &self.0.shipped
    }

    pub(crate) fn places(&self) -> &Places {
        &self.0.places
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.0.objects
    }

    pub(crate) fn bundles(&self) -> &Bundles {
        &self.0.bundles
    }

    /// The record of what changed what can run.
    pub(crate) fn audit(&self) -> &Arc<AuditLog> {
        &self.0.audit
    }

    /// What may be fetched, agreed to and run for this caller in this project, as the policy files are now.
    pub(crate) fn policy(&self, ctx: &Context, project: &Path) -> Arc<Policy> {
        self.0.policies.of(ctx, &self.0.places.user_home, project)
    }

    pub(super) fn looks(&self) -> &Looks {
        &self.0.looks
    }

    /// What of linked folders is not taken over, as far as it was looked at.
    pub(crate) fn not_taken_over(&self) -> Vec<String> {
        self.0.looks.refused()
    }

    pub(crate) fn client(&self) -> Option<&Path> {
        self.0.client.as_deref()
    }

    pub(crate) fn watcher(&self) -> &Watcher {
        &self.0.watcher
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.changes.subscribe()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }

    /// The project root of a caller's working directory.
    pub(crate) fn project_of(&self, ctx: &Context) -> PathBuf {
        let cwd = if ctx.cwd.as_os_str().is_empty() {
            self.0.places.user_home.as_path()
        } else {
            ctx.cwd.as_path()
        };
        // A project has one name, whatever links a caller came through: records are kept by it, and a guard that is
        // looked up by another name would not be found.
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (user_home, gsd_home) = (&self.0.places.user_home, &self.0.places.gsd_home);
        let (real_cwd, real_home) = (real(cwd), real(user_home));
        if real_cwd == real_home {
            return crate::project::discover(user_home, user_home, gsd_home);
        }
        crate::project::discover(&real_cwd, &real_home, &real(gsd_home))
    }

    /// Projects with capabilities of their own that `project` lies in, innermost first. Their guards watch over what is
    /// inside: a session that changes into a nested repository is still theirs.
    pub(crate) fn projects_around(&self, project: &Path) -> Vec<PathBuf> {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (user_home, gsd_home) = (real(&self.0.places.user_home), real(&self.0.places.gsd_home));
        crate::project::enclosing(project, &user_home, &gsd_home)
    }

    /// The present snapshot of a project: never older than what lies on the disk.
    pub(crate) async fn snapshot(&self, project: &Path) -> Result<Arc<Snapshot>, EngineStopped> {
        match self.looked_at(project) {
            Ok(snapshot) => Ok(snapshot),
            Err(seen) => self.recomposed(project, seen).await,
        }
    }

    /// [`Engine::snapshot`] for the hot path, which compares the content of a bundle itself before it runs.
    pub(crate) async fn snapshot_for_hooks(&self, project: &Path) -> Result<Arc<Snapshot>, EngineStopped> {
        match self.kept(project).filter(|snapshot| snapshot.is_fresh_for_verified_use()) {
            Some(snapshot) => Ok(snapshot),
            None => self.recomposed(project, None).await,
        }
    }

    /// `seen` is what this caller saw.
    async fn recomposed(&self, project: &Path, seen: Option<Seen>) -> Result<Arc<Snapshot>, EngineStopped> {
        let (reply, answer) = oneshot::channel();
        let work = Work::Recompose { project: project.to_owned(), seen, reply };
        self.0.work.send(Queued::own(work)).map_err(|_| EngineStopped)?;
        answer.await.map_err(|_| EngineStopped)
    }

    /// Carries out the plan of a staged bundle.
    pub(crate) async fn commit(
        &self,
        staged: Arc<Staged>,
        consent: Option<Consent>,
        accepted: Accepted,
    ) -> Result<WorkOutcome<Prepared>, WireError> {
        self.ask(|reply| Work::Commit { staged, consent, accepted, reply }).await
    }

    /// Removes a capability, and with `cascade` what requires it.
    pub(crate) async fn remove(
        &self,
        project: PathBuf,
        removal: RemoveWish,
    ) -> Result<WorkOutcome<Vec<Removal>>, WireError> {
        self.ask(|reply| Work::Remove { project, removal, reply }).await
    }

    /// Takes an agreement back.
    pub(crate) async fn revoke(
        &self,
        project: PathBuf,
        root: ScopeRoot,
        id: String,
    ) -> Result<WorkOutcome<bool>, WireError> {
        self.ask(|reply| Work::Revoke { project, root, id, reply }).await
    }

    /// Switches a capability on or off, and its switches.
    pub(crate) async fn switch(
        &self,
        project: PathBuf,
        wish: SwitchRequest,
    ) -> Result<WorkOutcome<Switching>, WireError> {
        self.ask(|reply| Work::Switch { project, wish, reply }).await
    }

    /// Brings the roots of a project in order, or says what that would take.
    pub(crate) async fn reconcile(
        &self,
        project: PathBuf,
        wish: ReconcileWish,
    ) -> Result<WorkOutcome<Reconciled>, WireError> {
        self.ask(|reply| Work::Reconcile { project, wish, reply }).await
    }

    /// Settles what an interrupted run left behind.
    pub(crate) fn sweep(&self) -> oneshot::Receiver<Vec<String>> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.work.send(Queued { work: Work::Sweep { reply }, patience: Patience::of_call() });
        answer
    }

    async fn ask<T>(&self, work: impl FnOnce(Reply<T>) -> Work) -> Result<WorkOutcome<T>, WireError> {
        let (reply, mut answer) = oneshot::channel();
        let patience = Patience::of_call();
        let queued = Queued { work: work(reply), patience: patience.clone() };
        self.0.work.send(queued).map_err(|_| EngineStopped)?;
        loop {
            match tokio::time::timeout(LOOK, &mut answer).await {
                Ok(answer) => return answer.map_err(|_| EngineStopped)?,
                Err(_) if !patience.is_queued() => {}
                Err(_) if patience.is_over() && patience.give_up() => {
                    let this = holder_words(Some(std::process::id()));
                    return Err(held("another change of this home", &this, patience.limit()));
                }
                Err(_) => patience.tell("another change of this home", Some(std::process::id())),
            }
        }
    }

    /// The snapshot at hand, unless a watcher saw a change that makes a difference to it. The event of a change often
    /// arrives after a query has noticed the change itself.
    fn kept(&self, project: &Path) -> Option<Arc<Snapshot>> {
        let snapshot = self.used(project)?;
        if self.0.watcher.is_dirty(project) {
            // The mark goes first: what changes while the files are looked at sets it again.
            self.0.watcher.clean(project);
            return Some(snapshot).filter(|snapshot| snapshot.is_fresh());
        }
        Some(snapshot)
    }

    /// The snapshot at hand if nothing that decides it looks otherwise now, or else what was seen of it.
    fn looked_at(&self, project: &Path) -> Result<Arc<Snapshot>, Option<Seen>> {
        let Some(snapshot) = self.used(project) else { return Err(None) };
        // The mark goes first: what changes while the files are looked at sets it again.
        self.0.watcher.clean(project);
        Seen::look(snapshot).map_err(Some)
    }

    fn used(&self, project: &Path) -> Option<Arc<Snapshot>> {
        let mut projects = self.0.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = projects.get_mut(project)?;
        kept.used = Instant::now();
        Some(Arc::clone(&kept.snapshot))
    }

    // From here on: the writer's thread only.

    /// Does a piece of work, or gives it back when it has to be done later.
    fn perform(&self, work: Work) -> Option<Work> {
        let begun = Instant::now();
        let name = work.name();
        match work {
            Work::Recompose { project, seen, reply } => {
                // What was seen of an older one says nothing about the one at hand.
                let seen = seen
                    .filter(|seen| self.used(&project).is_some_and(|now| Arc::ptr_eq(&now, seen.snapshot())));
                let looked = seen.map_or_else(|| self.looked_at(&project), |seen| Err(Some(seen)));
                match looked {
                    Ok(fresh) => drop(reply.send(fresh)),
                    Err(seen) => {
                        let _ = reply.send(self.recompose_after(&project, Writer::Free, seen.as_ref()));
                        // The old snapshot goes with it, when nobody waits any more.
                        drop(seen);
                    }
                }
            }
            Work::Refresh { project } => {
                if let Err(Some(seen)) = self.looked_at(&project) {
                    self.recompose_after(&project, Writer::Free, Some(&seen));
                }
            }
            Work::Commit { staged, consent, accepted, reply } => {
                match unless_put_off(|| self.do_commit(&staged, consent.as_ref(), &accepted)) {
                    Some(result) => drop(reply.send(result)),
                    None => return Some(Work::Commit { staged, consent, accepted, reply }),
                }
            }
            Work::Remove { project, removal, reply } => {
                match unless_put_off(|| self.do_remove(&project, &removal)) {
                    Some(result) => drop(reply.send(result)),
                    None => return Some(Work::Remove { project, removal, reply }),
                }
            }
            Work::Revoke { project, root, id, reply } => {
                match unless_put_off(|| self.do_revoke(&project, &root, &id)) {
                    Some(result) => drop(reply.send(result)),
                    None => return Some(Work::Revoke { project, root, id, reply }),
                }
            }
            Work::Switch { project, wish, reply } => {
                match unless_put_off(|| self.do_switch(&project, &wish)) {
                    Some(result) => drop(reply.send(result)),
                    None => return Some(Work::Switch { project, wish, reply }),
                }
            }
            Work::Reconcile { project, wish, reply } => {
                match unless_put_off(|| self.do_reconcile(&project, &wish)) {
                    Some(result) => drop(reply.send(result)),
                    None => return Some(Work::Reconcile { project, wish, reply }),
                }
            }
            Work::Sweep { reply } => {
                let Some(done) = unless_put_off(|| lifecycle::sweep(self)) else {
                    return Some(Work::Sweep { reply });
                };
                for line in &done {
                    tracing::warn!("{line}");
                    self.audit().record(&Event { detail: line.clone(), ..Event::new(Happening::Repaired) });
                }
                let _ = reply.send(done);
            }
        }
        tracing::debug!(
            work = name,
            elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            "done"
        );
        None
    }

    pub(super) fn recompose(&self, project: &Path, writer: Writer) -> Arc<Snapshot> {
        self.recompose_after(project, writer, None)
    }

    /// [`Engine::recompose`] with what was `seen` since the question arrived that this is the answer to.
    fn recompose_after(&self, project: &Path, writer: Writer, seen: Option<&Seen>) -> Arc<Snapshot> {
        self.0.watcher.clean(project);
        let before = self
            .0
            .projects
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(project)
            .map(|kept| Arc::clone(&kept.snapshot));
        let next = self.0.generation.load(Ordering::Relaxed) + 1;
        let take_after =
            |seen| Snapshot::take(&self.0.shipped.base, &self.0.places, project, &self.0.bundles, next, seen);
        // What we write ourselves comes after what was seen.
        let take = || take_after(None);
        let mut snapshot = take_after(seen);
        if self.record_first_seen(&snapshot, writer) {
            snapshot = take();
        }
        self.follow_links(&mut snapshot, &take, writer);
        let change =
            before.as_ref().map_or_else(|| Some(first(&snapshot)), |before| difference(before, &snapshot));
        match &change {
            Some(_) => self.0.generation.store(next, Ordering::Relaxed),
            None => snapshot.generation = before.as_ref().map_or(next, |before| before.generation),
        }
        self.tell_changed_contents(before.as_deref(), &snapshot);
        let snapshot = Arc::new(snapshot);
        self.keep(project, &snapshot);
        self.0.watcher.arm(project, &snapshot, before.as_deref(), &self.0.places);
        if let (Some(change), Some(_)) = (change, before) {
            let _ = self.0.changes.send(change);
        }
        snapshot
    }

    fn keep(&self, project: &Path, snapshot: &Arc<Snapshot>) {
        let mut projects = self.0.projects.lock().unwrap_or_else(PoisonError::into_inner);
        projects.insert(project.to_owned(), Kept { snapshot: Arc::clone(snapshot), used: Instant::now() });
        if projects.len() > MAX_PROJECTS
            && let Some(oldest) =
                projects.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone())
        {
            projects.remove(&oldest);
            self.0.watcher.disarm(&oldest);
            let in_use: BTreeSet<PathBuf> = projects
                .values()
                .flat_map(|kept| kept.snapshot.overlays.iter().map(|overlay| overlay.bundle.clone()))
                .collect();
            self.0.bundles.retain(&|path| in_use.contains(path) || path.starts_with(self.0.places.objects()));
        }
    }

    /// A global capability that upstream recorded counts as agreed to with the content it has when we first see it; a
    /// later difference deactivates it (D-06).
    fn record_first_seen(&self, snapshot: &Snapshot, writer: Writer) -> bool {
        let unseen: Vec<_> = snapshot
            .overlays
            .iter()
            .filter(|overlay| overlay.scope == Scope::Global && overlay.ledger == LedgerState::Committed)
            .filter(|overlay| !overlay.recorded)
            .collect();
        if unseen.is_empty() {
            return false;
        }
        // What an interrupted operation of ours has put there was not installed by upstream.
        if lifecycle::is_unsettled(self) {
            return false;
        }
        let path = self.0.places.own_state();
        if let Err(error) = atomic::private_folder(&self.0.places.state) {
            tracing::warn!(%error, "what upstream installed could not be recorded");
            return false;
        }
        // Another process of this home is at work: what it is about to record is looked at when it is done.
        let lock = self.writer_lock().and_then(|file| file.try_lock().map(|()| file).map_err(Into::into));
        if writer == Writer::Free && lock.is_err() {
            return false;
        }
        let Ok((mut state, before)) = OwnState::read(&path) else { return false };
        let mut seen = Vec::new();
        for overlay in unseen {
            let Ok(content_hash) = self.0.bundles.content_hash(&overlay.bundle, || MAX_BYTES) else {
                continue;
            };
            let content_digest =
                self.0.bundles.digest(&overlay.bundle, &content_hash, MAX_BYTES).unwrap_or_default();
            let taken = Taken {
                content_hash,
                consent_digest: String::new(),
                content_digest,
                destination: None,
                how: "first-seen".to_owned(),
                from: None,
                blanket: false,
                linked: None,
                at: clock::now(),
                revoked_at: None,
                unknown: serde_json::Map::new(),
            };
            seen.push(Event {
                content_hash: taken.content_hash.clone(),
                ..event_of(Happening::FirstSeen, &overlay.dir_name, overlay.scope, &overlay.root)
            });
            state.taken.insert(OwnState::taken_key(&overlay.root, &overlay.dir_name), taken);
        }
        let step = Step::WriteFile {
            path: path.clone(),
            before: before.map(FileBytes),
            after: FileBytes(state.to_bytes()),
            mode: Some(0o600),
            why: OUR_RECORDS.to_owned(),
        };
        let plan =
            Plan { verb: Verb::Project, id: "first-seen".to_owned(), roots: vec![path], steps: vec![step] };
        match self.apply(&plan, None) {
            Ok(done) => {
                done.close();
                seen.iter().for_each(|event| self.audit().record(event));
                true
            }
            Err(error) => {
                tracing::warn!(%error, "what upstream installed could not be recorded");
                false
            }
        }
    }

    pub(super) fn apply(&self, plan: &Plan, umask: Option<u32>) -> Result<apply::Done, WireError> {
        // From its first step on it has to come to an end.
        Patience::current().allow_putting_off(false);
        let now = clock::now();
        let journal = self.0.places.journal();
        let tools = Tools {
            objects: &self.0.objects,
            journal: &journal,
            now: &now,
            umask: umask.unwrap_or(DEFAULT_UMASK) & 0o777,
        };
        apply::apply(plan, &tools).map_err(|failure| lifecycle::from_apply(&failure))
    }
}
