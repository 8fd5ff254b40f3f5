//! The plan of a removal: registrations first, files second, the ledger last.

use std::path::{Path, PathBuf};

use gsd_proto::api::capability::NotWired;
use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::consent::ConsentRecord;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::lifecycle::{FileBytes, OUR_RECORDS, Plan, Step, Verb};
use gsdd_core::projection::shared_file_of;
use gsdd_core::text::shown;

use super::{from_consent, from_ledger, from_state};
use super::{past, presumed, targets, wiring};
use crate::engine::{Engine, Snapshot};
use crate::store::{OwnState, ScopeRoot, TargetKey, clock, shared_files};

/// A removal.
pub(crate) struct Removal {
    pub(crate) plan: Plan,
    pub(crate) id: CapabilityId,
    pub(crate) scope: &'static str,
    pub(crate) version: Option<String>,
    /// Surfaces that are taken out.
    pub(crate) taken_out: Vec<String>,
    /// How many of those were entries in documents of the person.
    pub(crate) entries: usize,
    /// What stays, and why.
    pub(crate) left: Vec<NotWired>,
}

/// Plans the removal of `id`.
///
/// # Errors
/// When it is not installed, is required by others, or a host file can't be edited: then nothing of it is forgotten
/// and its scripts stay, because a registration still names them (FR-003).
pub(crate) fn plan_remove(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    id: &str,
    scope: Option<Scope>,
    purge_data: bool,
) -> Result<Removal, WireError> {
    let Ok(id) = CapabilityId::parse(id) else {
        return Err(not_installed(id, "remove", snapshot));
    };
    let root = find_root(engine, snapshot, &id, scope, "remove")?;
    plan_removal_from(engine, snapshot, ctx, &root, id, purge_data)
}

/// What is removed with `id`, which comes last: with `cascade` everything that requires it.
///
/// # Errors
/// When others require it and there is no `cascade`.
pub(crate) fn removed_with(snapshot: &Snapshot, id: &str, cascade: bool) -> Result<Vec<String>, WireError> {
    let mut ids: Vec<String> =
        snapshot.composition.registry.dependents(id).into_iter().map(ToString::to_string).collect();
    if !ids.is_empty() && !cascade {
        return Err(WireError::new(
            Code::ComposeCollision,
            format!("{} is required by {}", shown(id), ids.join(", ")),
        )
        .with_fix("remove them too", &["gsdctl", "remove", id, "--cascade"]));
    }
    ids.push(id.to_owned());
    Ok(ids)
}

/// The root that `id` would be removed from.
///
/// # Errors
/// When it is not installed, or in both scopes and none was named.
pub(crate) fn removal_root(
    engine: &Engine,
    snapshot: &Snapshot,
    id: &str,
    scope: Option<Scope>,
) -> Result<ScopeRoot, WireError> {
    let known = CapabilityId::parse(id).map_err(|_| not_installed(id, "remove", snapshot))?;
    find_root(engine, snapshot, &known, scope, "remove")
}

/// Plans that nothing of `id` is left in `root`, whatever there is of it: entry, bundle, registrations.
pub(super) fn plan_removal_from(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    id: CapabilityId,
    purge_data: bool,
) -> Result<Removal, WireError> {
    let places = engine.places();
    let ledger_path = root.ledger();
    let entry = shared_files::read_ledger(&ledger_path)
        .map_err(|failure| from_ledger(&ledger_path, &failure))?
        .and_then(|ledger| ledger.get(id.as_str()));
    let state_path = places.own_state();
    let (mut state, before_bytes) =
        OwnState::read(&state_path).map_err(|failure| from_state(&state_path, &failure))?;
    presumed::presume(engine, snapshot, ctx, root, &mut state);
    let before_state = state.clone();

    let mut steps = Vec::new();
    let mut roots = vec![root.gsd(), ledger_path.clone(), state_path.clone(), places.objects()];
    let mut taken_out = Vec::new();
    let mut entries = 0;
    let mut left = Vec::new();
    let mut emptied = Vec::new();
    let mut files = Vec::new();
    let mut places_of_it: Vec<TargetKey> = before_state
        .targets
        .values()
        .filter(|target| target.root == root.dir && target.capabilities.contains_key(id.as_str()))
        .map(|target| TargetKey {
            runtime: target.runtime.clone(),
            scope: wiring_scope(root),
            root: root.dir.clone(),
        })
        .collect();
    // What upstream wrote is in the ledger alone.
    let recorded = entry.iter().flat_map(|entry| &entry.shared_edits).map(|edit| &edit.file);
    let intended = entry.iter().filter_map(|entry| entry.pending.as_ref()).flat_map(|it| &it.shared_files);
    for file in recorded.chain(intended) {
        if let Ok(file) = targets::shared_file(engine.shipped(), file, &root.dir, ctx, places) {
            let runtime = file.place().id.clone();
            if !places_of_it.iter().any(|key| key.runtime == runtime) {
                places_of_it.push(TargetKey { runtime, scope: wiring_scope(root), root: root.dir.clone() });
            }
        }
    }
    for key in places_of_it {
        let shared = shared_file_of(&key.runtime).and_then(|relative| {
            targets::shared_file(engine.shipped(), relative, &root.dir, ctx, places).ok()
        });
        let descriptor = match &shared {
            Some(file) => Some(file.place()),
            None => engine.shipped().descriptors.get(&key.runtime),
        };
        let Some(descriptor) = descriptor else {
            left.push(NotWired {
                surface: key.runtime.clone(),
                reason: "this host is not described any more".to_owned(),
            });
            continue;
        };
        let mut wiring = wiring::plan_wiring(&mut state, &key, id.as_str(), None, descriptor);
        if let Some(stuck) = wiring.stuck.pop() {
            let mut error = stuck;
            error.message = format!("{id} was not removed: {}", error.message);
            return Err(error.with_fix("then remove it again", &["gsdctl", "remove", id.as_str()]));
        }
        if root.scope == Scope::Project
            && let Some(mut error) = wiring::escaping(&wiring.roots, &root.dir).pop()
        {
            error.message = format!("{id} was not removed: {}", error.message);
            return Err(error);
        }
        roots.append(&mut wiring.roots);
        steps.append(&mut wiring.documents);
        files.append(&mut wiring.files);
        emptied.append(&mut wiring.emptied);
        taken_out.append(&mut wiring.wired);
        entries += wiring.entries;
        left.append(&mut wiring.not_wired);
    }
    steps.append(&mut files);
    let launcher_stays = state.anything_wired();
    let launcher_goes = before_state.anything_wired() && !launcher_stays;
    if launcher_goes && let Ok(target) = std::fs::read_link(places.launcher()) {
        roots.push(places.launcher());
        steps.push(Step::Link { path: places.launcher(), before: Some(target), after: None });
    }
    revoke(engine, snapshot, root, &id, &mut steps, &mut roots)?;

    let unneeded = past::forget(&mut state, &root.dir, &id);
    let mut folders = Vec::new();
    let in_use = |dir: &Path| is_in_use(engine, snapshot, dir, root, &id, launcher_stays);
    for dir in [&root.dir, &places.gsd_home] {
        let key = dir.display().to_string();
        let created = state.folders.remove(&key).unwrap_or_default();
        folders.extend(created.iter().cloned());
        if in_use(dir) {
            state.folders.insert(key, created);
        }
    }
    steps.push(Step::WriteFile {
        path: state_path,
        before: before_bytes.map(FileBytes),
        after: FileBytes(state.to_bytes()),
        mode: Some(0o600),
        why: OUR_RECORDS.to_owned(),
    });
    let live = root.bundle(&id);
    let discard = root.bundles().join(format!("{id}.discard-{}-{}", std::process::id(), clock::epoch_ms()));
    if live.exists() || std::fs::symlink_metadata(&live).is_ok() {
        steps.push(Step::Move { from: live, to: discard.clone() });
    }
    steps.push(Step::Ledger {
        path: ledger_path,
        id: id.to_string(),
        before: entry.as_ref().map(Entry::to_value),
        after: None,
        commit: true,
    });
    steps.push(Step::DropTree { path: discard });
    if purge_data {
        steps.push(Step::DropTree { path: root.capability_data(&id) });
    }
    steps.extend(unneeded.iter().map(|hash| Step::DropTree { path: engine.objects().path(hash) }));
    emptied.extend(folders);
    emptied.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    emptied.dedup();
    for folder in emptied {
        roots.push(folder.clone());
        steps.push(Step::DropFolder { path: folder });
    }
    Ok(Removal {
        plan: Plan { verb: Verb::Remove, id: id.to_string(), roots, steps },
        scope: root.word(),
        version: entry.map(|entry| entry.version),
        id,
        taken_out,
        entries,
        left,
    })
}

/// Whether something of ours stays below `dir` once `id` is gone from `root`: then the folders that we made stay on
/// record, so that the last removal takes them along.
fn is_in_use(
    engine: &Engine,
    snapshot: &Snapshot,
    dir: &Path,
    root: &ScopeRoot,
    id: &CapabilityId,
    launcher_stays: bool,
) -> bool {
    let places = engine.places();
    let goes = |other: &CapabilityId| other == id && dir == root.dir;
    let ledger = ScopeRoot::project(dir).ledger();
    let installed = shared_files::read_ledger(&ledger)
        .map_or(true, |ledger| ledger.is_some_and(|ledger| ledger.iter().any(|entry| !goes(&entry.id))));
    let agreed = || {
        let project = real(&snapshot.project_root);
        let (consents, _) = shared_files::read_consent(&places.consent_store());
        let revoked = |record: &ConsentRecord| {
            root.scope == Scope::Project && record.project_root == project && record.id == *id
        };
        consents.iter().any(|record| !revoked(&record))
    };
    installed || (dir == places.gsd_home && (launcher_stays || agreed()))
}

/// A project as the consent store names it.
fn real(project: &Path) -> String {
    std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned()
}

fn wiring_scope(root: &ScopeRoot) -> gsdd_core::runtime::WiringScope {
    match root.scope {
        Scope::Project => gsdd_core::runtime::WiringScope::Project,
        Scope::Global | Scope::FirstParty => gsdd_core::runtime::WiringScope::Global,
    }
}

/// The scope that has it: by ledger, by bundle, or by what we wired.
pub(super) fn find_root(
    engine: &Engine,
    snapshot: &Snapshot,
    id: &CapabilityId,
    scope: Option<Scope>,
    verb: &str,
) -> Result<ScopeRoot, WireError> {
    let project = ScopeRoot::project(&snapshot.project_root);
    let global = engine.places().global_root();
    let wished: Vec<ScopeRoot> = match scope {
        Some(Scope::Project) => vec![project],
        Some(Scope::Global | Scope::FirstParty) => vec![global],
        None if project.dir == global.dir => vec![global],
        None => vec![global, project],
    };
    let mut having: Vec<ScopeRoot> = wished
        .into_iter()
        .filter(|root| {
            let listed = shared_files::ledger_entry(&root.ledger(), id.as_str());
            // A ledger that can't be read is reported by the plan itself.
            listed.map_or(true, |entry| entry.is_some()) || root.bundle(id).exists()
        })
        .collect();
    if having.len() > 1 {
        return Err(WireError::new(
            Code::UsageInvalid,
            format!("{id} is installed globally and in this project"),
        )
        .with_fix("say which one", &["gsdctl", verb, id.as_str(), "--scope", "global"])
        .with_fix("or", &["gsdctl", verb, id.as_str(), "--scope", "project"]));
    }
    match having.pop() {
        Some(root) => match root.planted_link().filter(|_| root.scope == Scope::Project) {
            Some(link) => Err(WireError::new(
                Code::PolicyBlocked,
                format!("{} leads somewhere else, so nothing behind it is changed", link.display()),
            )
            .at_file(link)
            .with_fix("remove the symlink yourself", &[])),
            None => Ok(root),
        },
        None => Err(not_installed(id.as_str(), verb, snapshot)),
    }
}

pub(super) fn not_installed(id: &str, verb: &str, snapshot: &Snapshot) -> WireError {
    if snapshot.composition.registry.get(id).is_some_and(|composed| composed.scope == Scope::FirstParty) {
        return WireError::new(
            Code::PolicyBlocked,
            format!("{} is shipped with gsdd, so there is nothing to {verb}", shown(id)),
        );
    }
    let mut error = WireError::new(Code::NotFound, format!("{} is not installed", shown(id)));
    let close = snapshot
        .overlays
        .iter()
        .map(|overlay| overlay.dir_name.as_str())
        .find(|name| name.starts_with(id) || id.starts_with(name) || name.contains(id));
    if let Some(close) = close.filter(|_| !id.is_empty()) {
        error = error.with_fix("did you mean", &["gsdctl", verb, close]);
    }
    error.with_fix("see what is installed", &["gsdctl", "list"])
}

fn revoke(
    engine: &Engine,
    snapshot: &Snapshot,
    root: &ScopeRoot,
    id: &CapabilityId,
    steps: &mut Vec<Step>,
    roots: &mut Vec<PathBuf>,
) -> Result<(), WireError> {
    if root.scope != Scope::Project {
        return Ok(());
    }
    let store = engine.places().consent_store();
    let project = real(&snapshot.project_root);
    let (consents, refused) = shared_files::read_consent(&store);
    if let Some(reason) = refused {
        return Err(from_consent(&store, &reason));
    }
    if let Some(record) = consents.find(&project, id.as_str()) {
        roots.push(store.clone());
        steps.push(Step::Consent {
            path: store,
            root: project,
            id: id.to_string(),
            before: Some(record.to_value()),
            after: None,
        });
    }
    Ok(())
}
