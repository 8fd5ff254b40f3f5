//! What lies in the overlay roots of a project, as candidates for composition.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use gsdd_core::compose::{Candidate, ConsentVerdict, LedgerState, Scope};
use gsdd_core::consent::ConsentStore;
use gsdd_core::ids::has_id_shape;
use gsdd_core::ledger::{self, Ledger};
use gsdd_core::manifest::Manifest;
use gsdd_core::registry::{Base, HostContract};

use super::bundles::{Bundles, Declared, Hashed};
use super::looks::{BundleLook, Seen};
use super::roots::{self, OverlayRoot};
use super::snapshot::Overlay;
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::stamp::{Stamp, unsettled_until};
use crate::store::{Objects, OwnState, Places, ScopeRoot, Taken, shared_files};

/// What the records about the bundles of a project say.
pub(crate) struct Records {
    pub(crate) roots: Vec<ScannedRoot>,
    pub(crate) own: OwnState,
    agreements: Agreements,
    /// What is wrong with them.
    pub(crate) warnings: Vec<String>,
    /// They, and the folders that bundles lie in.
    pub(crate) stamps: Vec<(PathBuf, Stamp)>,
    /// When they have to be looked at again although they look the same.
    pub(super) look_again: Option<Instant>,
}

/// A root with its ledger.
pub(crate) struct ScannedRoot {
    pub(crate) root: ScopeRoot,
    /// The ledger, or why it can't be used.
    pub(crate) ledger: Result<Option<Ledger>, String>,
    demoted: bool,
    states: BTreeMap<String, ledger::LedgerState>,
    /// [`ScopeRoot::dir`], to be shared.
    dir: Arc<Path>,
}

/// What was agreed to in a project.
struct Agreements {
    consent: ConsentStore,
    /// The project, as the store names it.
    root: String,
    /// The contents that were agreed to.
    objects: Objects,
}

/// One installed bundle as it was found.
pub(crate) struct Found {
    pub(crate) dir_name: String,
    pub(crate) scope: Scope,
    pub(crate) root: Arc<Path>,
    pub(crate) bundle: PathBuf,
    pub(crate) ledger: LedgerState,
    pub(crate) consent: ConsentVerdict,
    /// Whether our records know it.
    pub(crate) recorded: bool,
    /// Content hash that may run; `None` = nothing of it may.
    pub(crate) agreed: Option<String>,
    /// Where its reviewer lane may send to.
    pub(crate) destination: Option<String>,
    pub(crate) manifest: Option<Arc<Manifest>>,
    /// As it is handed to composition.
    pub(crate) candidate: Candidate,
    pub(super) look: BundleLook,
}

impl Records {
    /// Reads them.
    pub(super) fn read(places: &Places, project_root: &Path) -> Self {
        let consent_root = fs::canonicalize(project_root).unwrap_or_else(|_| project_root.to_owned());
        let mut stamps = Vec::new();
        let mut warnings = Vec::new();
        let mut watch = |path: PathBuf| {
            let stamp = Stamp::of(&path);
            stamps.push((path, stamp));
        };
        watch(places.consent_store());
        watch(places.own_state());
        watch(project_root.join(".planning"));
        watch(project_root.join(".git"));
        let (consent, refused) = consent_of(places, project_root);
        warnings.extend(refused);
        let agreements = Agreements {
            consent,
            root: consent_root.to_string_lossy().into_owned(),
            objects: Objects::new(places.objects()),
        };
        let own = match OwnState::read(&places.own_state()) {
            Ok((state, _)) => state,
            Err(failure) => {
                warnings.push(format!("{}: {failure}", places.own_state().display()));
                OwnState::default()
            }
        };
        let mut roots = Vec::new();
        for OverlayRoot { root, demoted } in roots::resolve(places, project_root) {
            watch(root.ledger());
            watch(root.bundles());
            let states = bounded_read::read(&root.ledger(), MAX_FILE)
                .map(|bytes| ledger::classify(&bytes))
                .unwrap_or_default();
            let ledger = shared_files::read_ledger(&root.ledger()).map_err(|failure| failure.to_string());
            if let Err(reason) = &ledger {
                warnings.push(format!("{}: {reason}", root.ledger().display()));
            }
            let dir = root.dir.as_path().into();
            roots.push(ScannedRoot { root, ledger, demoted, states, dir });
        }
        let look_again = unsettled_until(stamps.iter().map(|(_, stamp)| stamp));
        Self { roots, own, agreements, warnings, stamps, look_again }
    }
}

/// The bundles in the roots of `records`. Those that were `seen` to look the same are not looked at again.
pub(super) fn scan(
    base: &Base,
    records: &Arc<Records>,
    bundles: &Bundles,
    seen: Option<&Seen>,
) -> Vec<Arc<Found>> {
    let scanner = Scanner { records, bundles, contract: base.contract() };
    // Records and folders that did not change name the same bundles, and say the same about them.
    if let Some(seen) = seen.filter(|seen| Arc::ptr_eq(&seen.snapshot().records, records)) {
        let again = |(overlay, same): (&Overlay, bool)| {
            let root = records.roots.iter().find(|root| root.dir == overlay.root).filter(|_| !same);
            let look = |root| Arc::new(scanner.look_at(root, overlay.dir_name.clone(), None));
            root.map_or_else(|| Arc::clone(&overlay.found), look)
        };
        return seen.bundles().map(again).collect();
    }
    let in_root = |root: &ScannedRoot| {
        let seen = seen.map(|seen| seen.in_root(&root.root.dir));
        let names = list(&root.root.bundles()).into_iter();
        let look = |dir_name: String| {
            let same = seen.as_ref().and_then(|seen| seen.same(&dir_name));
            Arc::new(scanner.look_at(root, dir_name, same))
        };
        names.map(look).collect::<Vec<_>>()
    };
    records.roots.iter().flat_map(in_root).collect()
}

struct Scanner<'a> {
    records: &'a Records,
    bundles: &'a Bundles,
    contract: &'a HostContract,
}

impl Scanner<'_> {
    /// What of it was seen to look the `same` is not looked at again.
    fn look_at(&self, root: &ScannedRoot, dir_name: String, same: Option<&BundleLook>) -> Found {
        let bundle = root.root.bundles().join(&dir_name);
        let state = match root.states.get(&dir_name) {
            Some(ledger::LedgerState::Pending) => LedgerState::Pending,
            Some(ledger::LedgerState::Committed) => LedgerState::Committed,
            Some(ledger::LedgerState::Neither) | None => LedgerState::Absent,
        };
        let content = same.and_then(|same| same.content.as_ref());
        let taken = self.records.own.taken(&root.root.dir, &dir_name);
        let Agreed { verdict, content: agreed, destination, declared } =
            self.consented(root, &dir_name, &bundle, taken, content);
        // What was declared with the content has no stamps of its own.
        let known =
            || same.map(|same| &same.declared).filter(|declared| !declared.stamps.is_empty()).cloned();
        let declared = declared
            .or_else(known)
            .unwrap_or_else(|| self.bundles.declared(&dir_name, &bundle, self.contract));
        // The verdict may depend on the whole content: any file may bring it back, or lose it.
        let is_agreed = agreed.is_some() && verdict != ConsentVerdict::Changed;
        let content = if is_agreed || verdict == ConsentVerdict::Changed {
            self.bundles.content(&bundle)
        } else {
            None
        };
        Found {
            scope: root.root.scope,
            root: Arc::clone(&root.dir),
            ledger: state,
            consent: verdict,
            recorded: taken.is_some(),
            agreed,
            destination,
            manifest: declared.assessed().and_then(|assessed| assessed.manifest.clone()),
            candidate: Candidate {
                dir_name: dir_name.clone(),
                scope: root.root.scope,
                demoted: root.demoted,
                bundle_dir: bundle.to_string_lossy().into_owned(),
                ledger: state,
                consent: verdict,
                manifest: declared.manifest.clone(),
                fragments: Arc::clone(&declared.fragments),
                config_home: None,
            },
            look: BundleLook {
                folder: same.map_or_else(|| Stamp::of(&bundle), |same| same.folder),
                declared,
                content,
                agreed: is_agreed,
            },
            dir_name,
            bundle,
        }
    }

    fn consented(
        &self,
        root: &ScannedRoot,
        dir_name: &str,
        bundle: &Path,
        taken: Option<&Taken>,
        seen: Option<&Arc<Hashed>>,
    ) -> Agreed {
        let agreements = &self.records.agreements;
        let revoked = taken.is_some_and(|taken| taken.revoked_at.is_some());
        let (fitting, recorded) = match root.root.scope {
            Scope::Global | Scope::FirstParty => (ConsentVerdict::NotNeeded, None),
            Scope::Project => match agreements.consent.find(&agreements.root, dir_name) {
                Some(record) => (ConsentVerdict::Granted, Some(record)),
                None if revoked => return Agreed::no(ConsentVerdict::Revoked),
                None => return Agreed::no(ConsentVerdict::Missing),
            },
        };
        let content = match (&recorded, taken) {
            (Some(record), _) => record.content_hash.clone(),
            (None, Some(_)) if revoked => return Agreed::no(ConsentVerdict::Revoked),
            (None, Some(taken)) => taken.content_hash.clone(),
            (None, None) => return Agreed::no(ConsentVerdict::NotNeeded),
        };
        // Our token and address stand for the content of our record, not for that of somebody else's.
        let ours = taken.filter(|taken| taken.content_hash == content);
        let fits = |digest: &str| ours.is_some_and(|taken| taken.fits(digest));
        let judged = (&agreements.objects, self.contract);
        match self.bundles.agreed(dir_name, bundle, &content, fits, judged, seen) {
            Some(declared) => Agreed {
                declared: Some(declared),
                verdict: fitting,
                content: Some(content),
                destination: match ours {
                    Some(taken) => taken.destination.clone(),
                    None => recorded.and_then(|record| record.reviewer_host),
                },
            },
            None => Agreed::no(ConsentVerdict::Changed),
        }
    }
}

/// Folders in byte order of their names. Names that are not ids are not capabilities: `.staging`, backups of an
/// upgrade, and what an editor leaves behind.
fn list(bundles: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(bundles)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_candidate(name))
        .collect();
    names.sort();
    names
}

fn is_candidate(name: &str) -> bool {
    if has_id_shape(name) {
        return true;
    }
    let transient = [".upgrading-", ".discard-"].iter().any(|mark| name.contains(mark));
    !name.starts_with('.') && !transient
}

/// The person's consents. A store inside the project is not theirs (T138).
fn consent_of(places: &Places, project_root: &Path) -> (ConsentStore, Option<String>) {
    let inside = fs::canonicalize(&places.gsd_home)
        .ok()
        .zip(fs::canonicalize(project_root).ok())
        .is_some_and(|(home, project)| home.starts_with(&project));
    let came_along = crate::project::brings_its_home(project_root, &places.user_home, &places.gsd_home);
    if came_along || (inside && project_root != places.user_home && crate::project::is_genuine(project_root))
    {
        let reason = format!(
            "{} lies inside a project, so a repository could have brought it along; its consents do not count",
            places.consent_store().display()
        );
        let exists = places.consent_store().exists();
        return (ConsentStore::new(), exists.then_some(reason));
    }
    shared_files::read_consent(&places.consent_store())
}

/// What was agreed to, against a bundle as it is.
struct Agreed {
    verdict: ConsentVerdict,
    /// Content hash that may run.
    content: Option<String>,
    destination: Option<String>,
    /// What that content declares.
    declared: Option<Arc<Declared>>,
}

impl Agreed {
    fn no(verdict: ConsentVerdict) -> Self {
        Self { verdict, content: None, destination: None, declared: None }
    }
}

/// Ids by scope that a ledger names, with their entries.
pub(crate) fn ledger_ids(roots: &[ScannedRoot]) -> BTreeMap<(String, String), ledger::Entry> {
    let mut entries = BTreeMap::new();
    for root in roots {
        if let Ok(Some(ledger)) = &root.ledger {
            for entry in ledger.iter() {
                entries.insert((root.root.word().to_owned(), entry.id.as_str().to_owned()), entry);
            }
        }
    }
    entries
}
