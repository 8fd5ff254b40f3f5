//! Bringing a root in order: what upstream or a crash left half done, registrations of what is gone, and what can only
//! be told.
//!
//! The judgement is the core's; here facts are gathered and its repairs become plans. Runs at start, before each change
//! and on demand.
//!
//! Source: ADR-1244 D4, D6; lifecycle formats section 12.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::reconcile::{Finding, Folder, Repair, RootFacts, Seen, plan_reconcile};
use gsdd_core::ledger::{Entry, Ledger, names};
use gsdd_core::lifecycle::{Plan, Step, Verb};
use gsdd_core::text::shown;

use super::remove::plan_removal_from;
use super::{from_ledger, from_state};
use crate::engine::{Engine, Snapshot};
use crate::store::{OwnState, ScopeRoot, clock, shared_files};

/// What is wrong in one root.
pub(crate) struct Judged {
    pub(crate) repairs: Vec<Repair>,
    /// Capabilities that hosts still have registrations of, although nothing of them is installed.
    pub(crate) stale: Vec<CapabilityId>,
    pub(crate) findings: Vec<Finding>,
}

impl Judged {
    /// Whether there is anything to do.
    pub(crate) fn is_in_order(&self) -> bool {
        self.repairs.is_empty() && self.stale.is_empty()
    }
}

/// Looks at `root`. The caller holds its locks when it means to act on the answer.
///
/// # Errors
/// A ledger or records that can't be read: then nothing is done.
pub(crate) fn judge(engine: &Engine, root: &ScopeRoot, is_trusted: bool) -> Result<Judged, WireError> {
    let path = root.ledger();
    let ledger = shared_files::read_ledger(&path).map_err(|failure| from_ledger(&path, &failure))?;
    let state_path = engine.places().own_state();
    let (state, _) = OwnState::read(&state_path).map_err(|failure| from_state(&state_path, &failure))?;
    if root.planted_link().is_some_and(|_| root.scope == Scope::Project) {
        return Ok(Judged { repairs: Vec::new(), stale: Vec::new(), findings: Vec::new() });
    }
    let beside = |name: &str| names::leftover(name).is_some();
    let facts = RootFacts {
        ledger: ledger.as_ref(),
        is_trusted,
        bundles: &seen(&root.bundles(), |_| true),
        staging: &seen(&root.staging(), |_| true),
        beside: &seen(&root.dir, beside),
    };
    let (repairs, findings) = plan_reconcile(&facts);
    let stale = stale(&state, root, ledger.as_ref());
    Ok(Judged { repairs, stale, findings })
}

fn stale(state: &OwnState, root: &ScopeRoot, ledger: Option<&Ledger>) -> Vec<CapabilityId> {
    let wired = state.targets.values().filter(|target| target.root == root.dir);
    let mut ids: Vec<CapabilityId> = wired
        .flat_map(|target| target.capabilities.keys())
        .filter_map(|id| CapabilityId::parse(id).ok())
        .filter(|id| {
            ledger.is_none_or(|ledger| ledger.get(id.as_str()).is_none()) && !root.bundle(id).exists()
        })
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

fn seen(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Seen> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Seen> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str().filter(|name| wanted(name))?.to_owned();
            Some(Seen { name, age: age(&entry.path()) })
        })
        .collect();
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found
}

/// Since it was last written; nothing is old that comes from the future.
fn age(path: &Path) -> Duration {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|modified| SystemTime::now().duration_since(modified).ok()).unwrap_or_default()
}

/// The path that is swept.
pub(crate) fn swept(root: &ScopeRoot, folder: Folder, name: &str) -> PathBuf {
    let folder = match folder {
        Folder::Bundles => root.bundles(),
        Folder::Staging => root.staging(),
        Folder::Root => root.dir.clone(),
    };
    folder.join(name)
}

/// One line for people.
pub(crate) fn describe(root: &ScopeRoot, repair: &Repair) -> String {
    match repair {
        Repair::Forget { id, put_back: None } => format!("take back the unfinished install of {id}"),
        Repair::Forget { id, put_back: Some(_) } => {
            format!("take back the unfinished install of {id}, and put back what lay in its place")
        }
        Repair::Restore { id, put_back: Some(_) } => {
            format!("take back the unfinished update of {id}: the bundle from before comes back")
        }
        Repair::Restore { id, put_back: None } => {
            format!("forget the update of {id} that never began")
        }
        Repair::Sweep { folder, name } => {
            format!(
                "delete {}, which an operation left behind",
                shown(&swept(root, *folder, name).to_string_lossy())
            )
        }
    }
}

/// The plan of a repair; `None` for what is simply deleted.
///
/// # Errors
/// When a host file can't be edited: then nothing of the capability is forgotten.
pub(crate) fn plan_repair(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    repair: &Repair,
) -> Result<Option<Plan>, WireError> {
    match repair {
        Repair::Forget { id, put_back } => {
            let mut plan = plan_removal_from(engine, snapshot, ctx, root, id.clone(), false)?.plan;
            plan.verb = Verb::Reconcile;
            if let Some(name) = put_back {
                let back = Step::Move { from: root.bundles().join(name), to: root.bundle(id) };
                plan.steps.insert(plan.commit_at(), back);
            }
            Ok(Some(plan))
        }
        Repair::Restore { id, put_back } => plan_restore(root, id, put_back.as_deref()).map(Some),
        Repair::Sweep { .. } => Ok(None),
    }
}

/// The plan that takes what is left of `id` out of hosts.
///
/// # Errors
/// When a host file can't be edited.
pub(crate) fn plan_unwire(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    id: &CapabilityId,
) -> Result<Plan, WireError> {
    let removal = plan_removal_from(engine, snapshot, ctx, root, id.clone(), false)?;
    Ok(Plan { verb: Verb::Reconcile, ..removal.plan })
}

fn plan_restore(root: &ScopeRoot, id: &CapabilityId, put_back: Option<&str>) -> Result<Plan, WireError> {
    let path = root.ledger();
    let entry = shared_files::read_ledger(&path)
        .map_err(|failure| from_ledger(&path, &failure))?
        .and_then(|ledger| ledger.get(id.as_str()));
    let settled = entry.clone().map(|entry| Entry { pending: None, ..entry });
    let live = root.bundle(id);
    let discard = root.bundles().join(format!("{id}.discard-{}-{}", std::process::id(), clock::epoch_ms()));
    let mut steps = Vec::new();
    if let Some(name) = put_back {
        if fs::symlink_metadata(&live).is_ok() {
            steps.push(Step::Move { from: live.clone(), to: discard.clone() });
        }
        steps.push(Step::Move { from: root.bundles().join(name), to: live });
    }
    steps.push(Step::Ledger {
        path: path.clone(),
        id: id.to_string(),
        before: entry.as_ref().map(Entry::to_value),
        after: settled.as_ref().map(Entry::to_value),
        commit: true,
    });
    steps.push(Step::DropTree { path: discard });
    Ok(Plan { verb: Verb::Reconcile, id: id.to_string(), roots: vec![root.gsd(), path], steps })
}

/// A leftover that can't be deleted.
pub(crate) fn not_swept(path: &Path, error: &io::Error) -> WireError {
    WireError::new(
        Code::IoFailed,
        format!("{} could not be deleted: {error}", shown(&path.to_string_lossy())),
    )
    .at_file(path)
    .with_fix("make that folder writable for you, or delete it yourself", &[])
}

/// A bundle that was put back, and that the person did not agree to as it is.
pub(crate) fn not_registered_again(id: &CapabilityId, files: &[String]) -> WireError {
    WireError::new(
        Code::ConsentRequired,
        format!("{id} was put back, and nobody agreed to it as it is: what is registered in {} may be of another version", files.join(", ")),
    )
    .with_fix("look at it and agree, which registers what it declares", &["gsdctl", "consent", "grant", id.as_str()])
    .with_fix("or remove it", &["gsdctl", "remove", id.as_str()])
}
