//! The plan of an install or an update.
//!
//! Order: intent, swap, ledger (the commit point), consent, our records, files in hosts, and registrations last, so
//! that nothing can be reached before the agreement to it is durable.
//!
//! Source: ADR-1244 D4, D6; lifecycle rule 7.

use gsd_proto::api::capability::NotWired;
use gsd_proto::{Code, WireError};
use gsdd_core::bundle::budget::MOST_BYTES;
use gsdd_core::compose::Scope;
use gsdd_core::ledger::{Entry, MAX_SHARED, SharedEdit};
use gsdd_core::lifecycle::{FileBytes, OUR_RECORDS, Plan, Step, Verb};
use gsdd_core::projection::{self, SharedFile, shared_file_of};
use gsdd_core::runtime::WiringScope;
use gsdd_core::text::shown;
use gsdd_core::trust::Changes;
use serde_json::Map;

use super::agreement::{is_agreed, reasons, sends_where_agreed};
use super::stage::Staged;
use super::steps::{Builder, is_launcher_lost};
use super::stops::{Stop, stops};
use super::wiring::{self, WiringPlan};
use super::{compare, from_ledger, from_state, from_tree, past, permitted, produced, targets};
use crate::engine::{Engine, Snapshot};
use crate::fs::bundle_tree::BundleTree;
use crate::store::{Linked, OwnState, Taken, TargetKey, clock, shared_files};

/// A plan, and what it achieves.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) wired: Vec<String>,
    pub(crate) not_wired: Vec<NotWired>,
    /// Nothing would change.
    pub(crate) current: bool,
    pub(crate) requires_consent: bool,
    pub(crate) reasons: Vec<String>,
    /// What has to be accepted besides.
    pub(crate) stops: Vec<Stop>,
    pub(crate) installed_version: Option<String>,
    /// What differs from the content that was agreed to before.
    pub(crate) differs: Option<Changes>,
    /// The agreed content that gives way.
    pub(crate) replaced: Option<BundleTree>,
}

/// Plans the install of a staged bundle against the disk as it is now.
///
/// # Errors
/// What the policy does not allow, and everything of the person's that is in the way, before anything is written.
pub(crate) fn plan_install(
    engine: &Engine,
    snapshot: &Snapshot,
    staged: &Staged,
    blanket: bool,
) -> Result<Prepared, WireError> {
    permitted::judge_staged(engine, snapshot, staged, blanket)?;
    let places = engine.places();
    let state_path = places.own_state();
    let (before_state, before_bytes) =
        OwnState::read(&state_path).map_err(|failure| from_state(&state_path, &failure))?;
    let mut state = before_state.clone();
    state.forget_missing_folders();
    let ledger_path = staged.root.ledger();
    let old = shared_files::read_ledger(&ledger_path)
        .map_err(|failure| from_ledger(&ledger_path, &failure))?
        .and_then(|ledger| ledger.get(staged.id.as_str()));
    if old.as_ref().is_some_and(|entry| entry.pending.is_some()) {
        return Err(WireError::new(
            Code::LockHeld,
            format!("an operation on {} was interrupted or is under way", staged.id),
        )
        .at_file(&ledger_path)
        .with_fix(
            "if nothing is running, remove it and install again",
            &["gsdctl", "remove", staged.id.as_str()],
        ));
    }

    let shared = shared_files(engine, staged, &state, old.as_ref())?;
    let wirings = plan_targets(engine, staged, &mut state, &shared)?;
    let (wired, not_wired) = achieved(&wirings, staged);
    let live = staged.root.bundle(&staged.id);
    let installed = BundleTree::read(&live, MOST_BYTES).ok();
    let same_content = installed.as_ref().is_some_and(|tree| *tree.content_hash() == staged.content_hash);
    let came_back = staged.restores.as_ref().is_some_and(|past| past.taken.covers(&staged.content_hash));
    let before = before_state.taken(&staged.root.dir, staged.id.as_str());
    let agreed = match &staged.linked {
        // A link is agreed to once, for everything that comes, and by nothing less.
        Some(_) => staged.follows(before),
        None => {
            came_back
                || (same_content
                    && sends_where_agreed(before, staged)
                    && is_agreed(snapshot, &before_state, staged, &staged.content_hash))
        }
    };
    let in_place = staged.taken_from.is_none() && staged.restores.is_none();
    let linked = match before {
        // What lies there is the content of the link as it should be.
        Some(before) if in_place && before.covers(&staged.content_hash) => before.link().cloned(),
        _ => staged.linked.clone(),
    };
    let installed_is_agreed = installed
        .as_ref()
        .is_some_and(|tree| is_agreed(snapshot, &before_state, staged, tree.content_hash()));
    let requires_consent = (staged.disclosure.has_executable() || staged.linked.is_some()) && !agreed;
    let reasons = if requires_consent {
        let mut reasons = reasons(installed.as_ref(), staged, old.as_ref(), installed_is_agreed);
        if !sends_where_agreed(before, staged) {
            reasons.push("its reviewer lane would send to another address than was agreed to".to_owned());
        }
        reasons
    } else {
        Vec::new()
    };

    let entry = Entry {
        id: staged.id.clone(),
        version: staged.manifest.version.clone(),
        source: staged.source.clone(),
        integrity: recorded_integrity(staged, old.as_ref()),
        files: vec![format!(".gsd/capabilities/{}", staged.id)],
        shared_edits: shared_edits(&shared, staged, old.as_ref()),
        pending: None,
        extra: old.as_ref().map(|entry| entry.extra.clone()).unwrap_or_default(),
    };
    let unchanged_entry = old.as_ref().map(Entry::to_value) == Some(entry.to_value());
    let no_wiring = wirings.iter().all(|wiring| wiring.files.is_empty() && wiring.documents.is_empty());
    let stored = engine.objects().verify(staged.content_hash.as_str()).is_ok();
    let as_it_should_be = agreed_or_inert(agreed, staged)
        && stored
        && !is_launcher_lost(engine, &state)
        && same_link(before.and_then(Taken::link), linked.as_ref())
        && same_proof(before, staged);
    let stops = stops(before, staged);
    if same_content && unchanged_entry && no_wiring && !requires_consent && as_it_should_be {
        return Ok(Prepared {
            plan: empty(staged),
            wired,
            not_wired,
            current: true,
            requires_consent: false,
            reasons: Vec::new(),
            stops: Vec::new(),
            installed_version: old.map(|entry| entry.version),
            differs: None,
            replaced: None,
        });
    }

    let taken = match &staged.restores {
        // When it was agreed to is what tells older from newer ones.
        Some(past) if came_back => past.taken.clone(),
        _ => Taken {
            content_hash: staged.content_hash.as_str().to_owned(),
            consent_digest: staged.consent_digest.clone(),
            content_digest: staged.content_digest.clone(),
            destination: staged.destination.clone(),
            how: "installed".to_owned(),
            from: staged.taken_from.clone().or_else(|| {
                // As it lies there: what was proved is proved of what was fetched, and of nothing else.
                let from = before.and_then(|taken| taken.from.as_ref());
                from.map(|from| from.of_content(staged.content_hash.as_str()))
            }),
            blanket,
            linked,
            at: clock::now(),
            revoked_at: None,
            unknown: Map::new(),
        },
    };
    let unneeded = past::supersede(&mut state, &staged.root.dir, &staged.id, old.as_ref(), taken);
    let mut builder = Builder {
        steps: Vec::new(),
        roots: vec![staged.root.gsd(), ledger_path.clone(), state_path.clone()],
    };
    builder.folders(&staged.root.bundles().join("x"), &mut state, &staged.root);
    let replaced =
        builder.swap(staged, old.as_ref(), &entry, &ledger_path, &live, same_content && live.is_dir());
    builder.consent(engine, staged, &entry, &mut state)?;
    builder.launcher(engine, &wirings, &mut state);
    for wiring in &wirings {
        builder.roots.extend(wiring.roots.iter().cloned());
    }
    builder.steps.push(Step::WriteFile {
        path: state_path,
        before: before_bytes.map(FileBytes),
        after: FileBytes(state.to_bytes()),
        mode: Some(0o600),
        why: OUR_RECORDS.to_owned(),
    });
    for wiring in &wirings {
        builder.steps.extend(wiring.files.iter().cloned());
    }
    for wiring in &wirings {
        builder.steps.extend(wiring.documents.iter().cloned());
        builder.steps.extend(wiring.emptied.iter().map(|path| Step::DropFolder { path: path.clone() }));
        builder.roots.extend(wiring.emptied.iter().cloned());
    }
    builder.cleanup(staged, replaced);
    builder.drop_contents(engine.objects(), &unneeded);
    let verb = verb(staged, old.as_ref());
    Ok(Prepared {
        plan: Plan { verb, id: staged.id.to_string(), roots: builder.roots, steps: builder.steps },
        wired,
        not_wired,
        current: false,
        requires_consent,
        reasons,
        stops,
        installed_version: old.map(|entry| entry.version),
        differs: differs(engine, &before_state, staged, installed.as_ref()),
        // What can come back has to be in the store.
        replaced: installed.filter(|_| !same_content && installed_is_agreed),
    })
}

/// Against what was agreed to, which the store has; else against what lies there.
fn differs(
    engine: &Engine,
    state: &OwnState,
    staged: &Staged,
    installed: Option<&BundleTree>,
) -> Option<Changes> {
    let agreed = state
        .taken(&staged.root.dir, staged.id.as_str())
        .and_then(|taken| engine.objects().load(&taken.content_hash).ok());
    let before = agreed.as_ref().or(installed)?;
    let changes = compare::changes(before, &staged.tree);
    (!changes.is_empty()).then_some(changes)
}

fn verb(staged: &Staged, old: Option<&Entry>) -> Verb {
    match (&staged.restores, old) {
        (Some(_), _) => Verb::Rollback,
        (None, Some(_)) => Verb::Update,
        (None, None) => Verb::Install,
    }
}

/// The digest of the archive, for sources that have one; what lies there keeps what the ledger says.
fn recorded_integrity(staged: &Staged, old: Option<&Entry>) -> String {
    if let Some(past) = &staged.restores {
        return past.integrity.clone();
    }
    match &staged.taken_from {
        Some(from) => from.archive.clone().unwrap_or_default(),
        None => old.map(|entry| entry.integrity.clone()).unwrap_or_default(),
    }
}

/// Whether no more is known now of where it comes from than was recorded.
fn same_proof(before: Option<&Taken>, staged: &Staged) -> bool {
    match (before.and_then(|taken| taken.from.as_ref()), &staged.taken_from) {
        (Some(before), Some(now)) => staged.restores.is_some() || before.proves_the_same_as(now),
        (_, None) | (None, Some(_)) => true,
    }
}

/// Whether nothing about the link changes; what it replaced last is no part of it.
fn same_link(before: Option<&Linked>, now: Option<&Linked>) -> bool {
    let bare = |linked: Option<&Linked>| linked.map(|linked| Linked { before: None, ..linked.clone() });
    bare(before) == bare(now)
}

/// An inert bundle needs no agreement, so it is current without one.
fn agreed_or_inert(agreed: bool, staged: &Staged) -> bool {
    agreed || (staged.root.scope == Scope::Global && !staged.disclosure.has_executable())
}

fn empty(staged: &Staged) -> Plan {
    Plan { verb: Verb::Install, id: staged.id.to_string(), roots: Vec::new(), steps: Vec::new() }
}

fn plan_targets(
    engine: &Engine,
    staged: &Staged,
    state: &mut OwnState,
    shared: &[SharedFile],
) -> Result<Vec<WiringPlan>, WireError> {
    let scope = match staged.root.scope {
        Scope::Project => WiringScope::Project,
        Scope::Global | Scope::FirstParty => WiringScope::Global,
    };
    let project_root = (scope == WiringScope::Project).then_some(staged.project_root.as_path());
    // Where it is wired is remembered: an update does not repeat what was chosen at the install, and does not choose
    // more. Who names a file decides alone where it is registered.
    let remembered: Vec<String> = state
        .targets
        .values()
        .filter(|target| {
            target.root == staged.root.dir
                && target.capabilities.contains_key(staged.id.as_str())
                && shared_file_of(&target.runtime).is_none()
        })
        .map(|target| target.runtime.clone())
        .collect();
    let chosen = staged.runtimes.is_some() || !shared.is_empty() || !remembered.is_empty();
    let wished = chosen.then(|| {
        let mut wished = staged.runtimes.clone().unwrap_or_default();
        wished.extend(remembered);
        wished.sort();
        wished.dedup();
        wished
    });
    let hosts = targets::select(
        engine.shipped(),
        wished.as_deref(),
        scope,
        &staged.ctx,
        engine.places(),
        project_root,
    )?;
    let produced = produced(&staged.manifest, &staged.tree).map_err(|refusal| from_tree(&refusal))?;
    refuse_twice(staged, shared, &hosts)?;
    let mut wirings = Vec::new();
    let mut conflicts = Vec::new();
    for file in shared {
        let places = targets::shared_places(engine.places(), project_root);
        let placement = match file.placement(scope, &places, &produced) {
            Ok(placement) => placement,
            Err(refused) => {
                conflicts.push(not_for_this_file(file, &refused));
                continue;
            }
        };
        let key = TargetKey { runtime: file.place().id.clone(), scope, root: staged.root.dir.clone() };
        let mut wiring = wiring::plan_wiring(state, &key, staged.id.as_str(), Some(&placement), file.place());
        conflicts.extend(wiring::escaping(&wiring.roots, &staged.root.dir));
        conflicts.append(&mut wiring.conflicts);
        wirings.push(wiring);
    }
    for host in &hosts {
        if !staged.manifest.supports_runtime(&host.descriptor.id) {
            let mut wiring = WiringPlan::default();
            wiring.not_wired.push(NotWired {
                surface: "everything".to_owned(),
                reason: format!("{}: the capability does not support this host", host.descriptor.id),
            });
            wirings.push(wiring);
            continue;
        }
        let placement = projection::place(host.descriptor, host.scope, &host.places, &produced);
        let key = TargetKey { runtime: host.descriptor.id.clone(), scope, root: staged.root.dir.clone() };
        let mut wiring =
            wiring::plan_wiring(state, &key, staged.id.as_str(), Some(&placement), host.descriptor);
        if let Some(root) = project_root {
            conflicts.extend(wiring::escaping(&wiring.roots, root));
        }
        conflicts.append(&mut wiring.conflicts);
        wirings.push(wiring);
    }
    match conflicts.len() {
        0 => Ok(wirings),
        1 => Err(conflicts.remove(0)),
        count => {
            let mut error = WireError::new(Code::ComposeCollision, format!("{count} things are in the way"));
            for conflict in conflicts {
                error = error.caused_by(conflict.message);
                error.fix.extend(conflict.fix);
            }
            error.fix.dedup();
            Err(error)
        }
    }
}

/// The files that the person named now or at an earlier install; upstream's are in the ledger alone.
fn shared_files(
    engine: &Engine,
    staged: &Staged,
    state: &OwnState,
    old: Option<&Entry>,
) -> Result<Vec<SharedFile>, WireError> {
    if staged.shared_files.len() > MAX_SHARED {
        return Err(WireError::new(
            Code::UsageInvalid,
            format!("more than {MAX_SHARED} files are named with --shared-file"),
        ));
    }
    let root = &staged.root.dir;
    let file =
        |relative: &str| targets::shared_file(engine.shipped(), relative, root, &staged.ctx, engine.places());
    let mut files =
        staged.shared_files.iter().map(|relative| file(relative)).collect::<Result<Vec<_>, WireError>>()?;
    let recorded = state
        .targets
        .values()
        .filter(|target| target.root == *root && target.capabilities.contains_key(staged.id.as_str()));
    let recorded = recorded.filter_map(|target| shared_file_of(&target.runtime));
    let in_ledger = old.into_iter().flat_map(|entry| &entry.shared_edits).map(|edit| edit.file.as_str());
    // A ledger may be forged; what it names and can't be used is not followed.
    files.extend(recorded.chain(in_ledger).filter_map(|relative| file(relative).ok()));
    files.sort_by(|left, right| left.relative().cmp(right.relative()));
    files.dedup_by(|left, right| left.relative() == right.relative());
    Ok(files)
}

/// The shared edits as the ledger records them; members of others stay.
fn shared_edits(shared: &[SharedFile], staged: &Staged, old: Option<&Entry>) -> Vec<SharedEdit> {
    let before = |relative: &str| {
        old.into_iter().flat_map(|entry| &entry.shared_edits).find(|edit| edit.file == relative).cloned()
    };
    shared
        .iter()
        .map(|file| {
            before(file.relative()).unwrap_or_else(|| SharedEdit {
                file: file.relative().to_owned(),
                marker: staged.id.to_string(),
                extra: Map::new(),
            })
        })
        .collect()
}

/// A host that reads the same hook from two places runs it twice.
fn refuse_twice(
    staged: &Staged,
    shared: &[SharedFile],
    hosts: &[targets::HostTarget<'_>],
) -> Result<(), WireError> {
    let (Some(file), Some(host)) = (shared.first(), hosts.first()) else { return Ok(()) };
    if staged.manifest.hooks.is_empty() && staged.disclosure.servers.is_empty() {
        return Ok(());
    }
    Err(WireError::new(
        Code::ComposeCollision,
        format!(
            "{} would be registered twice: in {} and through {}",
            staged.id,
            shown(file.relative()),
            host.descriptor.title
        ),
    )
    .with_fix(
        "name either --shared-file or --runtime; to change from one to the other, remove it first",
        &["gsdctl", "remove", staged.id.as_str()],
    ))
}

fn not_for_this_file(file: &SharedFile, refused: &[(String, String)]) -> WireError {
    let reasons: Vec<String> =
        refused.iter().map(|(surface, reason)| format!("{surface}: {reason}")).collect();
    WireError::new(
        Code::CompatRuntime,
        format!("{} can't hold this capability: {}", shown(file.relative()), reasons.join("; ")),
    )
    .at_file(file.document())
    .with_fix("install it without --shared-file, or ask the author", &[])
}

/// What is wired over all hosts; without any host, every surface that a host would have to read is not.
fn achieved(wirings: &[WiringPlan], staged: &Staged) -> (Vec<String>, Vec<NotWired>) {
    let wired = wirings.iter().flat_map(|wiring| wiring.wired.iter().cloned()).collect();
    let mut not_wired: Vec<NotWired> =
        wirings.iter().flat_map(|wiring| wiring.not_wired.iter().cloned()).collect();
    let needs_host = !staged.manifest.hooks.is_empty()
        || !staged.manifest.skills.is_empty()
        || !staged.manifest.agents.is_empty()
        || !staged.disclosure.servers.is_empty();
    if wirings.is_empty() && needs_host {
        not_wired.push(NotWired {
            surface: "skills, agents, hooks and MCP servers".to_owned(),
            reason: "no host was found or chosen; run the same command with --runtime NAME".to_owned(),
        });
    }
    (wired, not_wired)
}
