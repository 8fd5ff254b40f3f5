//! Whether everything is as recorded: bundles against the agreed content, files in hosts against their digests,
//! registrations against the plan. Reads only.
//!
//! What somebody else changed in a file of theirs is told apart from what differs of ours.

use std::path::PathBuf;

use gsd_proto::{Context, Fix, WireError};
use gsdd_core::bundle::budget::MOST_BYTES;
use gsdd_core::compose::Scope;
use gsdd_core::ledger::reconcile::Finding;
use gsdd_core::ledger::{Entry, Ledger};
use gsdd_core::lifecycle::Step;
use gsdd_core::projection::{self, Placement, shared_file_of};
use gsdd_core::runtime::{Descriptor, WiringScope};
use gsdd_core::text::shown;
use gsdd_core::trust::{ChangeKind, sha256};

use super::compare::changes;
use super::reconcile::{Judged, describe};
use super::{produced, targets, wiring};
use crate::engine::{Engine, Snapshot};
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::bundle_tree::BundleTree;
use crate::store::{OwnState, ScopeRoot, TargetKey, WiringTarget, shared_files};

/// Something that is not as recorded, or worth knowing.
pub(crate) struct Check {
    pub(crate) id: Option<String>,
    /// A difference; else a note.
    pub(crate) is_difference: bool,
    /// Short stable name.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) diff: Option<String>,
    pub(crate) fix: Vec<Fix>,
}

impl Check {
    fn new(id: Option<&str>, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            id: id.map(ToOwned::to_owned),
            is_difference: true,
            kind,
            message: message.into(),
            path: None,
            diff: None,
            fix: Vec::new(),
        }
    }

    fn note(self) -> Self {
        Self { is_difference: false, ..self }
    }

    fn at(self, path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    fn with_diff(self, diff: Option<String>) -> Self {
        Self { diff, ..self }
    }

    fn with_fix(mut self, text: &str, argv: &[&str]) -> Self {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        self.fix.push(Fix { text: text.to_owned(), argv });
        self
    }

    fn of(id: Option<&str>, kind: &'static str, error: WireError) -> Self {
        let path = error.where_.as_ref().and_then(|place| place.file.clone());
        Self { path, fix: error.fix, ..Self::new(id, kind, error.message) }
    }
}

/// Looks at everything that `root` has on record; with the number of capabilities that were looked at.
pub(crate) fn verify(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    judged: Result<Judged, WireError>,
) -> (usize, Vec<Check>) {
    let mut checks = Vec::new();
    match judged {
        Ok(judged) => checks.extend(out_of_order(root, &judged)),
        Err(error) => {
            checks.push(Check::of(None, "unreadable", error));
            return (0, checks);
        }
    }
    let ledger = shared_files::read_ledger(&root.ledger()).ok().flatten();
    let entries: Vec<Entry> = ledger.iter().flat_map(Ledger::iter).collect();
    for entry in &entries {
        let id = entry.id.as_str();
        let live = root.bundle(&entry.id);
        if entry.pending.is_some() || !live.exists() {
            continue;
        }
        let agreed = agreed_content(snapshot, root, id);
        let tree = match BundleTree::read(&live, MOST_BYTES) {
            Ok(tree) => tree,
            Err(refusal) => {
                checks.push(
                    Check::new(Some(id), "bundle-unreadable", refusal.to_string())
                        .at(live)
                        .with_fix("bring it back from its source", &["gsdctl", "update", id]),
                );
                continue;
            }
        };
        checks.extend(content(engine, id, &tree, agreed.as_deref(), &live));
        let stored = agreed.and_then(|hash| engine.objects().load(&hash).ok());
        let tree = stored.as_ref().unwrap_or(&tree);
        checks.extend(registrations(engine, snapshot, ctx, root, id, tree));
    }
    checks.extend(documents(snapshot, root));
    if root.scope != Scope::Project && snapshot.own().anything_wired() && !engine.places().launcher().exists()
    {
        checks.push(
            Check::new(None, "launcher-missing", "registrations name a launcher that is not there")
                .at(engine.places().launcher())
                .with_fix("put it back", &["gsdctl", "reconcile"]),
        );
    }
    (entries.len(), checks)
}

/// What is out of order before any content is looked at.
fn out_of_order(root: &ScopeRoot, judged: &Judged) -> Vec<Check> {
    let repair =
        |text: String| Check::new(None, "unfinished", text).with_fix("settle it", &["gsdctl", "reconcile"]);
    let stale = |id: &str| {
        Check::new(
            Some(id),
            "stale-registration",
            format!("hosts have registrations of {id}, which is not installed"),
        )
        .with_fix("take them out", &["gsdctl", "reconcile"])
    };
    let repairs = judged.repairs.iter().map(|it| repair(format!("left half done: {}", describe(root, it))));
    let stale = judged.stale.iter().map(|id| stale(id.as_str()));
    repairs.chain(stale).chain(judged.findings.iter().map(|finding| found(root, finding))).collect()
}

/// What reconciling only reports.
pub(crate) fn found(root: &ScopeRoot, finding: &Finding) -> Check {
    match finding {
        Finding::ForeignIntent { id } => Check::new(
            Some(id.as_str()),
            "foreign-intent",
            format!("the ledger of this project says that an operation on {id} is under way; it may have come with the repository, so it is not acted on"),
        )
        .at(root.ledger())
        .with_fix("if nothing is running, remove it and install it again", &["gsdctl", "remove", id.as_str()]),
        Finding::UnusableIntent { id } => Check::new(
            Some(id.as_str()),
            "unusable-intent",
            format!("the unfinished update of {id} names a backup that can't be its own"),
        )
        .at(root.ledger())
        .with_fix("remove it and install it again", &["gsdctl", "remove", id.as_str()]),
        Finding::Unrecorded { id } => Check::new(
            Some(id.as_str()),
            "unrecorded",
            format!("{id} lies there and no ledger records it, so nothing of it runs"),
        )
        .at(root.bundle(id))
        .with_fix("install it from its source, or remove it", &["gsdctl", "remove", id.as_str()]),
        Finding::Missing { id } => Check::new(
            Some(id.as_str()),
            "bundle-missing",
            format!("the ledger records {id}, and its bundle is gone"),
        )
        .at(root.bundle(id))
        .with_fix("bring it back from its source", &["gsdctl", "update", id.as_str()])
        .with_fix("or forget it", &["gsdctl", "remove", id.as_str()]),
    }
}

/// The content that may run, or might if it were there.
fn agreed_content(snapshot: &Snapshot, root: &ScopeRoot, id: &str) -> Option<String> {
    let taken = snapshot.own().taken(&root.dir, id).filter(|taken| taken.revoked_at.is_none());
    let overlay = snapshot.overlays.iter().find(|it| *it.root == *root.dir && it.dir_name == id);
    taken.map(|taken| taken.content_hash.clone()).or_else(|| overlay?.agreed.clone())
}

fn content(
    engine: &Engine,
    id: &str,
    tree: &BundleTree,
    agreed: Option<&str>,
    live: &std::path::Path,
) -> Vec<Check> {
    let Some(agreed) = agreed else {
        let check =
            Check::new(Some(id), "not-agreed", format!("nobody agreed to {id} as it is; nothing of it runs"));
        return vec![
            check.note().at(live).with_fix("look at it and agree", &["gsdctl", "consent", "grant", id]),
        ];
    };
    let stored = engine.objects().load(agreed);
    let mut checks = Vec::new();
    if let Err(refusal) = &stored
        && engine.objects().has(agreed)
    {
        let check =
            Check::new(Some(id), "store-damaged", format!("the private copy of {id} is damaged: {refusal}"));
        checks.push(
            check.at(engine.objects().path(agreed)).with_fix("store it again", &["gsdctl", "update", id]),
        );
    }
    if tree.content_hash().as_str() == agreed {
        return checks;
    }
    let changes = stored.map(|stored| changes(&stored, tree)).unwrap_or_default();
    let files = changes.executable.iter().chain(&changes.instructing).chain(&changes.other);
    let mut differing = 0;
    for file in files {
        differing += 1;
        let what = match file.kind {
            ChangeKind::Added => "was not there when it was agreed to",
            ChangeKind::Removed => "is gone",
            ChangeKind::Changed => "has other bytes than those that were agreed to",
        };
        let message = format!("{} of {id} {what}", shown(&file.path));
        checks.push(
            Check::new(Some(id), "content-changed", message)
                .at(live.join(&file.path))
                .with_diff(file.diff.clone())
                .with_fix("agree to what is there", &["gsdctl", "consent", "grant", id])
                .with_fix("or bring back what its source holds", &["gsdctl", "update", id]),
        );
    }
    if differing == 0 {
        let message = format!("{id} is not the content that was agreed to");
        checks.push(
            Check::new(Some(id), "content-changed", message)
                .at(live)
                .with_fix("look at it and agree", &["gsdctl", "consent", "grant", id]),
        );
    }
    checks
}

/// What hosts should have of `id` against what they have.
fn registrations(
    engine: &Engine,
    snapshot: &Snapshot,
    ctx: &Context,
    root: &ScopeRoot,
    id: &str,
    tree: &BundleTree,
) -> Vec<Check> {
    let overlay = snapshot.overlays.iter().find(|it| *it.root == *root.dir && it.dir_name == id);
    let Some(manifest) = overlay.and_then(|overlay| overlay.manifest.as_deref()) else { return Vec::new() };
    let scope = match root.scope {
        Scope::Project => WiringScope::Project,
        Scope::Global | Scope::FirstParty => WiringScope::Global,
    };
    let project_root = (scope == WiringScope::Project).then_some(root.dir.as_path());
    let produced = match produced(manifest, tree) {
        Ok(produced) => produced,
        Err(refusal) => return vec![Check::new(Some(id), "bundle-unreadable", refusal.to_string())],
    };
    let mut checks = Vec::new();
    for target in wired_in(snapshot.own(), root, id) {
        let shared = shared_file_of(&target.runtime).and_then(|file| {
            targets::shared_file(engine.shipped(), file, &root.dir, ctx, engine.places()).ok()
        });
        let placed: Option<(Placement, &Descriptor)> = match &shared {
            Some(file) => {
                let places = targets::shared_places(engine.places(), project_root);
                file.placement(scope, &places, &produced).ok().map(|placement| (placement, file.place()))
            }
            None => engine.shipped().descriptors.get(&target.runtime).and_then(|descriptor| {
                let places = targets::host_places(descriptor, ctx, engine.places(), project_root)?;
                Some((projection::place(descriptor, scope, &places, &produced), descriptor))
            }),
        };
        let Some((placement, descriptor)) = placed else {
            let message =
                format!("{} is not described any more, so it can't be compared", shown(&target.runtime));
            checks.push(Check::new(Some(id), "host-unknown", message).note());
            continue;
        };
        let key = TargetKey { runtime: target.runtime.clone(), scope, root: root.dir.clone() };
        let mut state = OwnState::clone(snapshot.own());
        let plan = wiring::plan_wiring(&mut state, &key, id, Some(&placement), descriptor);
        checks.extend(plan.files.iter().chain(&plan.documents).filter_map(|step| differs(id, step)));
        checks.extend(plan.conflicts.into_iter().map(|error| Check::of(Some(id), "host-file", error)));
        let by_hand = plan.not_wired.into_iter().filter(|row| {
            !placement
                .degraded
                .iter()
                .any(|(surface, reason)| *surface == row.surface && *reason == row.reason)
        });
        checks.extend(by_hand.map(|row| {
            let message = format!("{}: {}", shown(&row.surface), shown(&row.reason));
            Check::new(Some(id), "changed-by-hand", message)
        }));
    }
    checks
}

fn wired_in<'s>(state: &'s OwnState, root: &ScopeRoot, id: &str) -> Vec<&'s WiringTarget> {
    let here = |target: &&WiringTarget| target.root == root.dir && target.capabilities.contains_key(id);
    state.targets.values().filter(here).collect()
}

fn differs(id: &str, step: &Step) -> Option<Check> {
    let again = ["gsdctl", "update", id];
    let check = |kind, message: String, path: &PathBuf| {
        let check = Check::new(Some(id), kind, message).at(path).with_diff(step.diff());
        check.with_fix("write it again", &again)
    };
    match step {
        Step::WriteFile { path, before, why, .. } => {
            let what = if before.is_some() { "lacks or changed what was written" } else { "is gone" };
            let message = format!("{} {what} ({})", shown(&path.to_string_lossy()), shown(why));
            Some(check("registration-differs", message, path))
        }
        Step::RemoveFile { path, .. } => {
            let message = format!("{} is not needed any more", shown(&path.to_string_lossy()));
            Some(check("registration-surplus", message, path))
        }
        Step::MakeFolder { .. }
        | Step::PlaceTree { .. }
        | Step::Move { .. }
        | Step::DropTree { .. }
        | Step::DropFolder { .. }
        | Step::Link { .. }
        | Step::Ledger { .. }
        | Step::Consent { .. } => None,
    }
}

/// Files of the person that somebody else wrote since we did: not a difference.
fn documents(snapshot: &Snapshot, root: &ScopeRoot) -> Vec<Check> {
    let targets = snapshot.own().targets.values().filter(|target| target.root == root.dir);
    let mut checks: Vec<Check> = targets
        .flat_map(|target| &target.documents)
        .filter(|(_, record)| !record.sha256.is_empty())
        .filter_map(|(path, record)| {
            let bytes = bounded_read::read(path, MAX_FILE).ok()?;
            (sha256(&bytes) != record.sha256).then(|| {
                let message =
                    format!("{} was edited by others since we wrote it", shown(&path.to_string_lossy()));
                Check::new(None, "edited-by-others", message).note().at(path)
            })
        })
        .collect();
    checks.sort_by(|left, right| left.path.cmp(&right.path));
    checks.dedup_by(|left, right| left.path == right.path);
    checks
}
