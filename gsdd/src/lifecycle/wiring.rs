//! The difference between what a host has of ours and what it should have, as steps.
//!
//! One reconcile per place: the wanted set in, the smallest edit out. Nothing is written that would overwrite
//! something of the person's, and a document that does not parse, or that the host would drop as a whole, is
//! refused before anything is written (D-13, D-24).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gsd_proto::api::capability::NotWired;
use gsd_proto::{Code, WireError};
use gsdd_core::lifecycle::{FileBytes, Step};
use gsdd_core::projection::edit::marked::{MARKER, is_marked};
use gsdd_core::projection::edit::{self, Dialect, EditRefusal, Insert, Target, Undo};
use gsdd_core::projection::{
    EntryKind, HookEntry, PlacedEntry, Placement, belongs_to, is_dispatcher, is_script_launcher,
    is_server_launcher, is_upstream_registration, names_script, shared_file_of,
};
use gsdd_core::runtime::{Descriptor, Surfaces};
use gsdd_core::text::shown;
use gsdd_core::trust::sha256;
use serde_json::Value;

use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::store::{CapabilityWiring, DocumentRecord, OwnState, TargetKey, WiredFile, WiringTarget};

/// Steps for one place, and what they achieve.
#[derive(Default)]
pub(crate) struct WiringPlan {
    /// Folders to create, then files to write or delete.
    pub(crate) files: Vec<Step>,
    /// Edits of the person's documents: registrations.
    pub(crate) documents: Vec<Step>,
    /// Folders that may be empty afterwards, deepest first.
    pub(crate) emptied: Vec<PathBuf>,
    /// Surfaces that are wired, or were taken out.
    pub(crate) wired: Vec<String>,
    /// How many of those are entries in documents of the person.
    pub(crate) entries: usize,
    /// Surfaces that are not, or that stay, and why.
    pub(crate) not_wired: Vec<NotWired>,
    /// Things of the person's that are in the way; any of them refuses the whole operation.
    pub(crate) conflicts: Vec<WireError>,
    /// Documents that can't be edited now; removal is then incomplete.
    pub(crate) stuck: Vec<WireError>,
    /// Paths that the steps touch.
    pub(crate) roots: Vec<PathBuf>,
}

/// Plans that `id` has exactly `wanted` in the place `key`; `None` takes everything of it out. `state` is updated to
/// what will be true when the steps were carried out.
pub(crate) fn plan_wiring(
    state: &mut OwnState,
    key: &TargetKey,
    id: &str,
    wanted: Option<&Placement>,
    descriptor: &Descriptor,
) -> WiringPlan {
    let mut plan = WiringPlan::default();
    let mut target = state.targets.remove(&key.text()).unwrap_or_else(|| WiringTarget {
        runtime: key.runtime.clone(),
        root: key.root.clone(),
        ..WiringTarget::default()
    });
    let old = target.capabilities.remove(id).unwrap_or_default();
    let mut new = CapabilityWiring::default();
    let folders = state.folders.entry(key.text()).or_default();
    plan_files(&mut plan, &old, &mut new, wanted, folders, id);
    if let Some(surfaces) = &descriptor.surfaces {
        plan_documents(
            &mut plan,
            &mut target,
            &old,
            &mut new,
            folders,
            key,
            wanted,
            id,
            descriptor,
            surfaces,
        );
    }
    for (surface, reason) in wanted.map(|wanted| wanted.degraded.as_slice()).unwrap_or_default() {
        plan.not_wired.push(NotWired { surface: surface.clone(), reason: reason.clone() });
    }
    if wanted.is_some() {
        target.capabilities.insert(id.to_owned(), new);
    }
    if target.capabilities.is_empty() && plan.stuck.is_empty() {
        plan.emptied.extend(state.folders.remove(&key.text()).unwrap_or_default());
    } else {
        state.targets.insert(key.text(), target);
    }
    plan.emptied.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    plan.emptied.dedup();
    plan
}

fn plan_files(
    plan: &mut WiringPlan,
    old: &CapabilityWiring,
    new: &mut CapabilityWiring,
    wanted: Option<&Placement>,
    folders: &mut Vec<PathBuf>,
    id: &str,
) {
    let known: BTreeMap<&Path, &str> =
        old.files.iter().map(|file| (file.path.as_path(), file.sha256.as_str())).collect();
    let mut kept: BTreeSet<PathBuf> = BTreeSet::new();
    let mut planned_folders: BTreeSet<PathBuf> = BTreeSet::new();
    for file in wanted.map(|wanted| wanted.files.as_slice()).unwrap_or_default() {
        kept.insert(file.path.clone());
        let before = match current(&file.path) {
            Ok(before) => before,
            Err(failure) => {
                plan.conflicts.push(in_the_way(&file.path, &failure.to_string()));
                continue;
            }
        };
        let ours = before.as_ref().is_none_or(|bytes| {
            known.get(file.path.as_path()).is_some_and(|digest| *digest == sha256(bytes))
                || (!known.contains_key(file.path.as_path()) && is_adoptable(&file.path, id))
        });
        if !ours {
            if known.contains_key(file.path.as_path()) {
                plan.not_wired.push(NotWired {
                    surface: file.surface.clone(),
                    reason: format!(
                        "{} was changed by hand and stays as it is",
                        shown(&file.path.to_string_lossy())
                    ),
                });
                new.files.extend(old.files.iter().find(|known| known.path == file.path).cloned());
            } else {
                plan.conflicts.push(in_the_way(&file.path, "there is a file of this name already"));
            }
            continue;
        }
        new.files.push(WiredFile {
            path: file.path.clone(),
            sha256: sha256(&file.bytes),
            surface: file.surface.clone(),
        });
        if !plan.wired.contains(&file.surface) {
            plan.wired.push(file.surface.clone());
        }
        if before.as_deref() == Some(file.bytes.as_slice()) {
            continue;
        }
        for folder in missing_folders(&file.path) {
            if planned_folders.insert(folder.clone()) {
                plan.roots.push(folder.clone());
                plan.files.push(Step::MakeFolder { path: folder.clone() });
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        plan.roots.push(file.path.clone());
        plan.files.push(Step::WriteFile {
            path: file.path.clone(),
            before: before.map(FileBytes),
            after: FileBytes(file.bytes.clone()),
            mode: file.executable.then_some(0o755),
            why: file.surface.clone(),
        });
    }
    for file in old.files.iter().filter(|file| !kept.contains(&file.path)) {
        match current(&file.path) {
            Ok(None) => {}
            Ok(Some(bytes)) if sha256(&bytes) == file.sha256 => {
                if wanted.is_none() && !file.surface.is_empty() && !plan.wired.contains(&file.surface) {
                    plan.wired.push(file.surface.clone());
                }
                plan.roots.push(file.path.clone());
                plan.files.push(Step::RemoveFile {
                    path: file.path.clone(),
                    before: FileBytes(bytes),
                    why: format!("belongs to {id}"),
                });
            }
            Ok(Some(_)) | Err(_) => plan.not_wired.push(NotWired {
                surface: shown(&file.path.to_string_lossy()),
                reason: "it was changed by hand, so it stays".to_owned(),
            }),
        }
        let ancestors = file.path.ancestors().skip(1);
        plan.emptied.extend(
            ancestors.filter(|folder| folders.iter().any(|known| known == folder)).map(ToOwned::to_owned),
        );
    }
}

#[expect(clippy::too_many_arguments, reason = "one reconcile needs both sides, the records and the rules")]
fn plan_documents(
    plan: &mut WiringPlan,
    target: &mut WiringTarget,
    old: &CapabilityWiring,
    new: &mut CapabilityWiring,
    created: &mut Vec<PathBuf>,
    key: &TargetKey,
    wanted: Option<&Placement>,
    id: &str,
    descriptor: &Descriptor,
    surfaces: &Surfaces,
) {
    let others: BTreeSet<&String> = target.capabilities.values().flat_map(|wiring| &wiring.events).collect();
    let mut by_document: BTreeMap<PathBuf, Changes<'_>> = BTreeMap::new();
    for entry in wanted.map(|wanted| wanted.entries.as_slice()).unwrap_or_default() {
        by_document.entry(entry.document.clone()).or_default().inserts.push(entry);
        match &entry.what {
            EntryKind::Event(event) => new.events.push(event.clone()),
            EntryKind::Script(hook) => new.scripts.push(hook.clone()),
            EntryKind::Server(name) => {
                if let Insert::Member { value, .. } = &entry.insert {
                    new.servers.insert(name.clone(), value.clone());
                }
            }
        }
    }
    if let Some(file) = shared_file_of(&key.runtime) {
        // Upstream may have written into it before we did.
        let changes = by_document.entry(key.root.join(file)).or_default();
        changes.shared = Some(SharedHooks { wanted: new.scripts.clone(), recorded: old.scripts.clone() });
    }
    // What this capability had and nobody needs any more goes out of every document we ever wrote it into.
    for (path, record) in &target.documents {
        let changes = by_document.entry(path.clone()).or_default();
        changes.record = Some(record.clone());
        changes.drop_events = old
            .events
            .iter()
            .filter(|event| !new.events.contains(event) && !others.contains(event))
            .cloned()
            .collect();
        changes.drop_servers = old
            .servers
            .iter()
            .filter(|(name, _)| !new.servers.contains_key(*name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
    }
    by_document.retain(|_, changes| changes.concerns_the_file());
    for (path, changes) in by_document {
        let known = old.servers.clone();
        match edit_document(&path, &changes, &known, id, descriptor, surfaces) {
            Ok(edited) => {
                for surface in edited.wired {
                    // Each document is asked to drop the same entries; told is each of them once.
                    if !plan.wired.contains(&surface) {
                        plan.wired.push(surface);
                        plan.entries += 1;
                    }
                }
                plan.not_wired.extend(edited.left);
                if let Some(step) = edited.step {
                    plan.roots.push(path.clone());
                    for folder in edited.folders {
                        plan.roots.push(folder.clone());
                        if !created.contains(&folder) {
                            created.push(folder.clone());
                        }
                        plan.documents.push(Step::MakeFolder { path: folder });
                    }
                    plan.documents.push(step);
                }
                match edited.record {
                    Some(record) => {
                        target.documents.insert(path, record);
                    }
                    None => {
                        target.documents.remove(&path);
                    }
                }
            }
            Err(refusal) if wanted.is_some() => plan.conflicts.push(refusal),
            Err(refusal) => plan.stuck.push(refusal),
        }
    }
    if !plan.stuck.is_empty() {
        // Nothing of it is forgotten while a registration may still name it.
        target.capabilities.insert(id.to_owned(), old.clone());
    }
}

#[derive(Default)]
struct Changes<'a> {
    inserts: Vec<&'a PlacedEntry>,
    drop_events: Vec<String>,
    drop_servers: BTreeMap<String, Value>,
    record: Option<DocumentRecord>,
    /// For a shared file: the hooks in it.
    shared: Option<SharedHooks>,
}

impl Changes<'_> {
    /// Whether the file is to be looked at: a broken one does not stop what has nothing to do with it.
    fn concerns_the_file(&self) -> bool {
        !self.inserts.is_empty()
            || !self.drop_events.is_empty()
            || !self.drop_servers.is_empty()
            || self.shared.is_some()
    }
}

/// The hooks that a capability should have in a shared file, and those that our records say it has.
struct SharedHooks {
    wanted: Vec<HookEntry>,
    recorded: Vec<HookEntry>,
}

impl SharedHooks {
    /// Whether a handler under `event` is the registration of `hook`.
    fn is(&self, handler: &Value, event: &str, hook: &HookEntry, id: &str) -> bool {
        let recorded = || self.recorded.iter().any(|old| old.event == event && old.script == hook.script);
        hook.event == event
            && (is_script_launcher(handler, id, &hook.script)
                || (names_script(handler, &hook.script)
                    && !is_upstream_registration(handler, id)
                    && (belongs_to(handler, id) || recorded())))
    }

    /// Whether what is in the file may stay for `hook`: its matcher is none that an update changes.
    fn may_stay(&self, hook: &HookEntry) -> bool {
        let mut old = self
            .recorded
            .iter()
            .filter(|old| old.event == hook.event && old.script == hook.script)
            .peekable();
        old.peek().is_none() || old.any(|old| old.matcher == hook.matcher)
    }

    /// Whether a handler under `event` is of this capability and has to go.
    fn goes(&self, handler: &Value, event: &str, id: &str) -> bool {
        let ours =
            belongs_to(handler, id) || self.recorded.iter().any(|old| self.is(handler, event, old, id));
        ours && !self.wanted.iter().any(|hook| self.may_stay(hook) && self.is(handler, event, hook, id))
    }
}

struct Edited {
    step: Option<Step>,
    folders: Vec<PathBuf>,
    record: Option<DocumentRecord>,
    wired: Vec<String>,
    /// What the person made their own.
    left: Vec<NotWired>,
}

fn edit_document(
    path: &Path,
    changes: &Changes<'_>,
    known_servers: &BTreeMap<String, Value>,
    id: &str,
    descriptor: &Descriptor,
    surfaces: &Surfaces,
) -> Result<Edited, WireError> {
    let original = current(path).map_err(|failure| in_the_way(path, &failure.to_string()))?;
    // A file with comments is edited as one, even where its host reads strict JSON only.
    let (dialect, document) = match &original {
        Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => (Dialect::StrictJson, Value::Null),
        Some(bytes) => edit::dialect_of(bytes)
            .and_then(|dialect| Ok((dialect, edit::read(bytes, dialect)?)))
            .map_err(|refusal| unparsable(path, &refusal, changes))?,
        None => (changes.inserts.first().map_or(Dialect::StrictJson, |entry| entry.dialect), Value::Null),
    };
    let mut undo = changes.record.as_ref().map(|record| record.undo.clone()).unwrap_or_default();
    if let (Some(record), Some(bytes)) = (&changes.record, &original)
        && record.sha256 != sha256(bytes)
    {
        // Somebody else wrote the file since: it is theirs, also when nothing else is left in it.
        undo.file_created = false;
        undo.blank_file = None;
    }
    let mut text = original.clone();
    let mut wired = Vec::new();

    if let Some(bytes) = &text {
        let removal = take_out(bytes, dialect, changes, &document, &undo, id, descriptor, surfaces)
            .map_err(|refusal| refused(path, &refusal))?;
        if let Some(removal) = removal {
            text = removal.bytes;
            undo = removal.undo;
        }
    }
    let mut inserts = Vec::new();
    for entry in &changes.inserts {
        match present(entry, &document, known_servers, changes.shared.as_ref(), id, descriptor, surfaces) {
            Presence::Ours => {}
            Presence::Absent => inserts.push(entry.insert.clone()),
            Presence::Outdated(container) => {
                if let (Some(bytes), EntryKind::Server(name)) = (&text, &entry.what) {
                    let target = [Target::Member { container: &container, key: name }];
                    let removal = edit::remove_keeping_undo(bytes, dialect, &target, &undo)
                        .map_err(|refusal| refused(path, &refusal))?;
                    text = removal.bytes;
                    undo = removal.undo;
                }
                inserts.push(entry.insert.clone());
            }
            Presence::Foreign => return Err(name_taken(path, entry)),
        }
        wired.push(entry.surface.clone());
    }
    if !inserts.is_empty() {
        let (bytes, more) =
            edit::apply(text.as_deref(), dialect, &inserts).map_err(|refusal| refused(path, &refusal))?;
        undo.absorb(more);
        text = Some(bytes);
    }
    for event in &changes.drop_events {
        wired.push(format!("hook {event}"));
    }
    for hook in changes
        .shared
        .iter()
        .flat_map(|shared| shared.recorded.iter().filter(|hook| !shared.wanted.contains(hook)))
    {
        wired.push(format!("hook {} ({})", shown(&hook.event), shown(&hook.script)));
    }
    let mut left = Vec::new();
    for (name, value) in &changes.drop_servers {
        let surface = format!("MCP server {}", shown(name));
        let now = surfaces
            .mcp
            .as_ref()
            .and_then(|mcp| member(&document, &mcp.container))
            .and_then(|servers| servers.get(name));
        match now {
            None => {}
            Some(now) if is_same_server(now, value) || is_server_launcher(now, id, name) => {
                wired.push(surface);
            }
            Some(_) => left.push(NotWired {
                surface,
                reason: format!("it was changed by hand in {}, so it stays", shown(&path.to_string_lossy())),
            }),
        }
    }
    if text == original {
        let record =
            (!undo.is_empty()).then(|| record_of(undo, text.as_deref())).or_else(|| changes.record.clone());
        return Ok(Edited { step: None, folders: Vec::new(), record, wired, left });
    }
    judge_whole(path, original.as_deref(), text.as_deref(), dialect, surfaces)?;
    let folders = if text.is_some() && original.is_none() { missing_folders(path) } else { Vec::new() };
    let why = format!("{} registrations", descriptor.title);
    let record = Some(record_of(undo, text.as_deref()));
    let (step, record) = match (text, original) {
        (Some(after), before) => {
            let step = Step::WriteFile {
                path: path.to_owned(),
                before: before.map(FileBytes),
                after: FileBytes(after),
                mode: None,
                why,
            };
            (Some(step), record)
        }
        (None, Some(before)) => {
            (Some(Step::RemoveFile { path: path.to_owned(), before: FileBytes(before), why }), None)
        }
        (None, None) => (None, None),
    };
    Ok(Edited { step, folders, record, wired, left })
}

fn record_of(undo: Undo, text: Option<&[u8]>) -> DocumentRecord {
    DocumentRecord { undo, sha256: text.map(sha256).unwrap_or_default() }
}

/// What goes out of a document: per handler, so that what the person added to our group stays (FR-004).
#[expect(clippy::too_many_arguments, reason = "one edit needs the document, the records and the rules")]
fn take_out(
    bytes: &[u8],
    dialect: Dialect,
    changes: &Changes<'_>,
    document: &Value,
    undo: &Undo,
    id: &str,
    descriptor: &Descriptor,
    surfaces: &Surfaces,
) -> Result<Option<edit::Removal>, EditRefusal> {
    type Test<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let mut handlers: Vec<(Vec<String>, Test<'_>)> = Vec::new();
    if let Some(hooks) = &surfaces.hooks {
        for event in &changes.drop_events {
            let mut container = hooks.container.clone();
            container.push(event.clone());
            handlers
                .push((container, Box::new(move |handler| is_dispatcher(handler, event, &descriptor.id))));
        }
    }
    if let (Some(shared), Some(hooks)) = (&changes.shared, &surfaces.hooks) {
        for event in member(document, &hooks.container)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(event, _)| event)
        {
            let mut container = hooks.container.clone();
            container.push(event.clone());
            handlers.push((container, Box::new(move |handler| shared.goes(handler, event, id))));
        }
    }
    let inner = surfaces.hooks.as_ref().map(|hooks| hooks.group.handlers.as_str()).unwrap_or_default();
    let mut targets: Vec<Target<'_>> = handlers
        .iter()
        .map(|(container, is_ours)| Target::NestedItem { container, inner, is_ours: is_ours.as_ref() })
        .collect();
    if let Some(mcp) = &surfaces.mcp {
        for (name, value) in &changes.drop_servers {
            let now = member(document, &mcp.container).and_then(|servers| servers.get(name));
            if now.is_some_and(|now| is_same_server(now, value) || is_server_launcher(now, id, name)) {
                targets.push(Target::Member { container: &mcp.container, key: name });
            }
        }
    }
    if let (Some(_), Some(mcp)) = (&changes.shared, &surfaces.mcp) {
        let wanted = |name: &str| {
            changes
                .inserts
                .iter()
                .any(|entry| matches!(&entry.what, EntryKind::Server(server) if server == name))
        };
        let servers = member(document, &mcp.container).and_then(Value::as_object).into_iter().flatten();
        for (name, _) in servers.filter(|(name, now)| is_marked(now, id) && !wanted(name)) {
            if !changes.drop_servers.contains_key(name) {
                targets.push(Target::Member { container: &mcp.container, key: name });
            }
        }
    }
    if targets.is_empty() {
        return Ok(None);
    }
    edit::remove_keeping_undo(bytes, dialect, &targets, undo).map(Some)
}

enum Presence {
    Absent,
    Ours,
    /// Ours with another content; the container that holds it.
    Outdated(Vec<String>),
    Foreign,
}

fn present(
    entry: &PlacedEntry,
    document: &Value,
    known_servers: &BTreeMap<String, Value>,
    shared: Option<&SharedHooks>,
    id: &str,
    descriptor: &Descriptor,
    surfaces: &Surfaces,
) -> Presence {
    match (&entry.what, &entry.insert) {
        (EntryKind::Event(event), Insert::Item { container, .. }) => {
            let found = handlers(document, container, surfaces)
                .any(|handler| is_dispatcher(handler, event, &descriptor.id));
            if found { Presence::Ours } else { Presence::Absent }
        }
        (EntryKind::Script(hook), Insert::Item { container, .. }) => {
            let stays = shared.filter(|shared| shared.may_stay(hook)).is_some_and(|shared| {
                handlers(document, container, surfaces)
                    .any(|handler| shared.is(handler, &hook.event, hook, id))
            });
            if stays { Presence::Ours } else { Presence::Absent }
        }
        (EntryKind::Server(name), Insert::Member { container, value, .. }) => {
            match member(document, container).and_then(|servers| servers.get(name)) {
                None => Presence::Absent,
                Some(now) if now == value => Presence::Ours,
                Some(now)
                    if known_servers.get(name).is_some_and(|known| is_same_server(now, known))
                        || (shared.is_some() && is_marked(now, id))
                        || is_server_launcher(now, id, name) =>
                {
                    Presence::Outdated(container.clone())
                }
                Some(_) => Presence::Foreign,
            }
        }
        (EntryKind::Event(_) | EntryKind::Script(_), Insert::Member { .. })
        | (EntryKind::Server(_), Insert::Item { .. }) => Presence::Absent,
    }
}

/// What of a placement lies in the host, whoever wrote it there: files with these very bytes, and entries that do what
/// ours do.
pub(super) fn found(placement: &Placement, id: &str, descriptor: &Descriptor) -> CapabilityWiring {
    let mut found = CapabilityWiring::default();
    for file in &placement.files {
        if current(&file.path).is_ok_and(|now| now.as_deref() == Some(file.bytes.as_slice())) {
            found.files.push(WiredFile {
                path: file.path.clone(),
                sha256: sha256(&file.bytes),
                surface: file.surface.clone(),
            });
        }
    }
    let Some(surfaces) = &descriptor.surfaces else { return found };
    for entry in &placement.entries {
        let Ok(Some(bytes)) = current(&entry.document) else { continue };
        let Ok(document) = edit::dialect_of(&bytes).and_then(|dialect| edit::read(&bytes, dialect)) else {
            continue;
        };
        let presence = present(entry, &document, &BTreeMap::new(), None, id, descriptor, surfaces);
        if !matches!(presence, Presence::Ours | Presence::Outdated(_)) {
            continue;
        }
        match (&entry.what, &entry.insert) {
            (EntryKind::Event(event), _) => found.events.push(event.clone()),
            (EntryKind::Server(name), Insert::Member { value, .. }) => {
                found.servers.insert(name.clone(), value.clone());
            }
            (EntryKind::Server(_), Insert::Item { .. }) | (EntryKind::Script(_), _) => {}
        }
    }
    found
}

/// The handlers in all groups of a list.
fn handlers<'a>(
    document: &'a Value,
    container: &[String],
    surfaces: &'a Surfaces,
) -> impl Iterator<Item = &'a Value> {
    let inner = surfaces.hooks.as_ref().map(|hooks| hooks.group.handlers.as_str()).unwrap_or_default();
    let groups = member(document, container).and_then(Value::as_array).into_iter().flatten();
    groups.filter_map(move |group| group.get(inner)?.as_array()).flatten()
}

/// Whether two entries of a server are the same but for the mark, which hosts may drop.
fn is_same_server(now: &Value, recorded: &Value) -> bool {
    match (now, recorded) {
        (Value::Object(now), Value::Object(recorded)) => {
            let plain = |(name, _): &(&String, &Value)| name.as_str() != MARKER;
            now.iter().filter(plain).eq(recorded.iter().filter(plain))
        }
        _ => now == recorded,
    }
}

fn member<'a>(document: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(document, |at, name| at.get(name))
}

/// A host drops a whole file over one malformed entry, the person's own rules included: judged before and after.
fn judge_whole(
    path: &Path,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    dialect: Dialect,
    surfaces: &Surfaces,
) -> Result<(), WireError> {
    let Some(rules) = surfaces.hooks.as_ref().and_then(|hooks| {
        let is_hook_file =
            [&hooks.global, &hooks.local].into_iter().flatten().any(|file| path.ends_with(&file.file));
        hooks.whole_file_rule.as_ref().filter(|_| is_hook_file)
    }) else {
        return Ok(());
    };
    let problems = |bytes: Option<&[u8]>| {
        bytes
            .and_then(|bytes| edit::read(bytes, dialect).ok())
            .map(|value| edit::host_rules::judge(&value, rules))
            .unwrap_or_default()
    };
    if let Some(problem) = problems(before).first() {
        return Err(WireError::new(
            Code::RuntimeDrift,
            format!("the host already ignores this whole file because of one entry: {}", problem.message),
        )
        .at_file(path)
        .at_pointer(problem.pointer.clone())
        .with_fix("repair that entry; then run the same command again", &[]));
    }
    match problems(after).first() {
        None => Ok(()),
        Some(problem) => Err(WireError::new(
            Code::Internal,
            format!("the edited file would be ignored by the host: {}", problem.message),
        )
        .at_file(path)
        .at_pointer(problem.pointer.clone())),
    }
}

fn current(path: &Path) -> Result<Option<Vec<u8>>, ReadFailure> {
    match bounded_read::read(path, MAX_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadFailure::Missing) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// A skill folder with upstream's marker of this very capability is a projection of the same bundle.
fn is_adoptable(path: &Path, id: &str) -> bool {
    path.ancestors().skip(1).take(8).any(|folder| {
        bounded_read::read(&folder.join(gsdd_core::projection::SKILL_MARKER), 1024)
            .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).trim() == id)
    })
}

/// Paths that would leave the project through a symlink that a repository planted (T43, T151).
pub(super) fn escaping(paths: &[PathBuf], project: &Path) -> Vec<WireError> {
    let Ok(real_project) = std::fs::canonicalize(project) else { return Vec::new() };
    let leaves = |path: &&PathBuf| {
        let existing = path.ancestors().find(|ancestor| std::fs::symlink_metadata(ancestor).is_ok());
        let real = existing.and_then(|existing| std::fs::canonicalize(existing).ok());
        !real.is_some_and(|real| real.starts_with(&real_project))
    };
    paths
        .iter()
        .filter(leaves)
        .map(|path| in_the_way(path, "a symlink on the way leads out of the project"))
        .collect()
}

/// Folders above `path` that do not exist, outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(ToOwned::to_owned).collect();
    missing.reverse();
    missing
}

fn in_the_way(path: &Path, reason: &str) -> WireError {
    WireError::new(
        Code::ComposeCollision,
        format!("{} is in the way: {reason}", shown(&path.to_string_lossy())),
    )
    .at_file(path)
    .with_fix("move or rename it, then run the same command again", &[])
}

fn name_taken(path: &Path, entry: &PlacedEntry) -> WireError {
    WireError::new(
        Code::ComposeCollision,
        format!("{} is already registered by somebody else", entry.surface),
    )
    .at_file(path)
    .with_fix("rename or remove that entry, then run the same command again", &[])
}

fn refused(path: &Path, refusal: &EditRefusal) -> WireError {
    let mut error =
        WireError::new(Code::RuntimeDrift, format!("the file can't be edited safely: {}", refusal.message))
            .at_file(path)
            .at_pointer(refusal.pointer.clone())
            .with_fix("repair the file; then run the same command again", &[]);
    error.where_.get_or_insert_default().line = u32::try_from(refusal.line).ok();
    error
}

/// The file is left alone; the person gets the place and what to add by hand.
fn unparsable(path: &Path, refusal: &EditRefusal, changes: &Changes<'_>) -> WireError {
    let mut error = WireError::new(
        Code::RuntimeDrift,
        format!(
            "{} does not parse (line {}, column {}): {}",
            shown(&path.to_string_lossy()),
            refusal.line,
            refusal.column,
            refusal.message
        ),
    )
    .at_file(path)
    .with_fix("repair the file; then run the same command again", &[]);
    error.where_.get_or_insert_default().line = u32::try_from(refusal.line).ok();
    for entry in &changes.inserts {
        let (at, value) = match &entry.insert {
            Insert::Item { container, value } => (container.join("."), value.to_string()),
            Insert::Member { container, key, value } => {
                (format!("{}.{key}", container.join(".")), value.to_string())
            }
        };
        error = error.with_fix(format!("or add by hand, at {}: {}", shown(&at), shown(&value)), &[]);
    }
    error
}
