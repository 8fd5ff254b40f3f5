//! What readers hold: everything that was known about one project at one moment.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use gsdd_core::activation::{ConfigLayers, ConfigView, EnabledSkills, SkillUniverse, SliceKey, SurfaceFile};
use gsdd_core::compose::{Candidate, Composition, ConsentVerdict, Known, LedgerState, Scope, compose_after};
use gsdd_core::hooks::Matcher;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::manifest::{Manifest, Tier};
use gsdd_core::registry::{Base, ConfigEntry};
use serde_json::Value;

use super::bundles::Bundles;
use super::links::Followed;
use super::looks::{BundleLook, Seen};
use super::scan::{self, Found, Scan, ScannedRoot};
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::stamp::Stamp;
use crate::store::{OwnState, Places};

/// One project as composed. Immutable.
pub(crate) struct Snapshot {
    /// Grows with every change of any project.
    pub(crate) generation: u64,
    pub(crate) project_root: PathBuf,
    pub(crate) composition: Composition,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) roots: Vec<ScannedRoot>,
    pub(crate) config: ConfigView,
    pub(crate) config_files: ConfigFiles,
    pub(crate) own: Arc<OwnState>,
    /// By event as declared; hooks of accepted, recorded capabilities, in capability order.
    pub(crate) hooks: BTreeMap<String, Vec<WiredHook>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) followed: Followed,
    candidates: Vec<Candidate>,
    universe: SkillUniverse,
    stamps: Vec<(PathBuf, Stamp)>,
    /// In the order of `overlays`.
    looks: Vec<BundleLook>,
    look_again: Option<Instant>,
}

/// One installed bundle as it was found.
#[derive(Clone)]
pub(crate) struct Overlay {
    pub(crate) dir_name: String,
    pub(crate) scope: Scope,
    pub(crate) root: PathBuf,
    pub(crate) bundle: PathBuf,
    pub(crate) ledger: LedgerState,
    pub(crate) consent: ConsentVerdict,
    /// Content hash that may run; `None` = nothing of it may.
    pub(crate) agreed: Option<String>,
    /// Where its reviewer lane may send to.
    pub(crate) destination: Option<String>,
    pub(crate) accepted: bool,
    pub(crate) manifest: Option<Arc<Manifest>>,
}

/// The documents of the configuration, whether they exist or not.
pub(crate) struct ConfigFiles {
    /// The workstream's file while one is active, else the project's.
    pub(crate) main: PathBuf,
    /// The project's file.
    pub(crate) root: PathBuf,
    /// Machine-wide defaults.
    pub(crate) defaults: PathBuf,
}

/// A lifecycle hook that may apply.
#[derive(Clone)]
pub(crate) struct WiredHook {
    pub(crate) capability: String,
    /// Position in [`Snapshot::overlays`].
    pub(crate) overlay: usize,
    pub(crate) script: String,
    pub(crate) matcher: Matcher,
    pub(crate) matcher_text: Option<String>,
    /// Agreed to once and out of service now: the person is told instead of running anything.
    pub(crate) halted: bool,
}

impl Snapshot {
    /// Gathers, composes, and indexes. What was `seen` of the snapshot before is not done again.
    pub(crate) fn take(
        base: &Base,
        places: &Places,
        project_root: &Path,
        bundles: &Bundles,
        generation: u64,
        seen: Option<&Seen>,
    ) -> Self {
        let mut scan = scan::scan(base, places, project_root, bundles, seen);
        let known = seen.map(|seen| Known {
            candidates: &seen.snapshot().candidates,
            composition: &seen.snapshot().composition,
        });
        let composition = compose_after(base, &scan.candidates, known);
        let accepted: HashSet<&str> = composition.accepted.iter().map(CapabilityId::as_str).collect();
        let overlays: Vec<Overlay> =
            scan.found.drain(..).map(|found| overlay(found, &composition, &accepted)).collect();
        let mut hooks = index_hooks(&overlays);
        let halted = halted(&overlays, &scan.own, |dir_name, hash| {
            let stored = crate::store::Objects::new(places.objects()).path(hash);
            let declared = bundles.declared(dir_name, &stored, base.contract());
            declared.assessed().and_then(|assessed| assessed.manifest.clone())
        });
        for (event, halted) in halted {
            hooks.entry(event).or_default().extend(halted);
        }
        let (layers, config_files, config_stamps) = config_layers(places, project_root);
        let mut warnings = std::mem::take(&mut scan.warnings);
        for root in &scan.roots {
            if let Err(reason) = &root.ledger {
                warnings.push(format!("{}: {reason}", root.root.ledger().display()));
            }
        }
        let Scan { roots, own, candidates, mut stamps, looks, look_again, .. } = scan;
        stamps.extend(config_stamps);
        Self {
            generation,
            project_root: project_root.to_owned(),
            config: ConfigView::new(layers, slices(&composition)),
            config_files,
            candidates,
            universe: universe(base, &composition),
            composition,
            overlays,
            roots,
            own,
            hooks,
            warnings,
            followed: Followed::default(),
            stamps,
            looks,
            look_again,
        }
    }

    /// Whether the files that decide this snapshot still look the same.
    pub(crate) fn is_fresh(&self) -> bool {
        self.look_again.is_none_or(|at| Instant::now() < at) && self.looks_the_same()
    }

    /// Whether nothing that decides it looks otherwise, as far as time stamps tell.
    pub(crate) fn looks_the_same(&self) -> bool {
        self.is_fresh_for_verified_use()
            && self.looks.iter().all(|look| !look.agreed || look.is_same_content())
    }

    /// [`Snapshot::is_fresh`] for callers that compare the content of a bundle themselves before anything of it runs.
    pub(crate) fn is_fresh_for_verified_use(&self) -> bool {
        let mut bundles = self.overlays.iter().zip(&self.looks);
        self.surroundings_look_the_same()
            && bundles.all(|(overlay, look)| look.is_same_for_verified_use(&overlay.bundle))
    }

    /// [`Snapshot::is_fresh`], apart from the bundles.
    pub(super) fn rest_is_fresh(&self) -> bool {
        self.look_again.is_none_or(|at| Instant::now() < at) && self.surroundings_look_the_same()
    }

    fn surroundings_look_the_same(&self) -> bool {
        !self.followed.put_off
            && unchanged(&self.stamps, Stamp::of)
            && unchanged(&self.followed.stamps, Stamp::of_link)
    }

    /// What the bundles looked like, in the order of [`Snapshot::overlays`].
    pub(super) fn looks(&self) -> &[BundleLook] {
        &self.looks
    }

    /// Everything that was found, as it was handed to composition.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter()
    }

    /// Whether other configuration or other records were read than for `other`.
    pub(crate) fn config_differs(&self, other: &Self) -> bool {
        self.config != other.config || self.own != other.own
    }

    /// Which skills are installed and on the surface of the host with this configuration folder.
    pub(crate) fn enabled_skills(&self, config_home: Option<&Path>) -> EnabledSkills {
        let read =
            |name: &str| config_home.and_then(|home| bounded_read::read(&home.join(name), MAX_FILE).ok());
        let marker = read(".gsd-profile").and_then(|bytes| String::from_utf8(bytes).ok());
        let surface = read(".gsd-surface.json")
            .and_then(|bytes| gsdd_core::json::parse_lenient(&bytes))
            .and_then(|document| SurfaceFile::parse(&document));
        EnabledSkills::resolve(&self.universe, marker.as_deref(), surface.as_ref())
    }

    /// Whether a composed capability is active: enabled on the host and switched on.
    pub(crate) fn is_active(&self, id: &str, enabled: &EnabledSkills) -> bool {
        let Some(composed) = self.composition.registry.get(id) else { return false };
        let manifest = &composed.manifest;
        enabled.enabled(&manifest.skills)
            && manifest.activation_key.as_deref().is_none_or(|key| self.config.is_on(key))
    }

    /// Whether the agreement to a bundle is to the content that `digest` names.
    pub(crate) fn fits(&self, overlay: &Overlay, digest: &str) -> bool {
        self.own
            .taken(&overlay.root, &overlay.dir_name)
            .is_some_and(|taken| overlay.agreed.as_ref() == Some(&taken.content_hash) && taken.fits(digest))
    }

    /// The installed bundle of an accepted capability.
    pub(crate) fn accepted(&self, id: &str) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.accepted && overlay.dir_name == id)
    }

    /// Ledger entries by scope word and id.
    pub(crate) fn ledger_entries(&self) -> BTreeMap<(String, String), Entry> {
        scan::ledger_ids(&self.roots)
    }
}

fn unchanged(stamps: &[(PathBuf, Stamp)], look: impl Fn(&Path) -> Stamp) -> bool {
    stamps.iter().all(|(path, stamp)| look(path) == *stamp)
}

fn overlay(found: Found, composition: &Composition, accepted: &HashSet<&str>) -> Overlay {
    let manifest = found.declared.assessed().and_then(|assessed| assessed.manifest.clone());
    let accepted = accepted.contains(found.dir_name.as_str())
        && composition.registry.get(&found.dir_name).is_some_and(|composed| composed.scope == found.scope);
    Overlay {
        dir_name: found.dir_name,
        scope: found.scope,
        root: found.root,
        bundle: found.bundle,
        ledger: found.ledger,
        consent: found.consent,
        agreed: found.agreed,
        destination: found.destination,
        accepted,
        manifest,
    }
}

/// A bundle without a committed ledger entry never gets an executable surface (D-06).
fn index_hooks(overlays: &[Overlay]) -> BTreeMap<String, Vec<WiredHook>> {
    let mut index: BTreeMap<String, Vec<WiredHook>> = BTreeMap::new();
    for (at, overlay) in overlays.iter().enumerate() {
        if !overlay.accepted || overlay.ledger != LedgerState::Committed {
            continue;
        }
        let Some(manifest) = &overlay.manifest else { continue };
        for hook in &manifest.hooks {
            index.entry(hook.event.clone()).or_default().push(WiredHook {
                capability: overlay.dir_name.clone(),
                overlay: at,
                script: hook.script.clone(),
                matcher: Matcher::new(hook.matcher.as_deref()),
                matcher_text: hook.matcher.clone(),
                halted: false,
            });
        }
    }
    index
}

/// Hooks, as they were agreed to, of capabilities whose files are not usable any more. A guard that fell silent would
/// look like a guard that has no objection.
fn halted(
    overlays: &[Overlay],
    own: &OwnState,
    agreed_manifest: impl Fn(&str, &str) -> Option<Arc<Manifest>>,
) -> BTreeMap<String, Vec<WiredHook>> {
    let mut index: BTreeMap<String, Vec<WiredHook>> = BTreeMap::new();
    for (at, overlay) in overlays.iter().enumerate() {
        let out_of_service = !overlay.accepted && overlay.ledger == LedgerState::Committed;
        let Some(taken) = own
            .taken(&overlay.root, &overlay.dir_name)
            .filter(|taken| out_of_service && taken.revoked_at.is_none())
        else {
            continue;
        };
        let Some(manifest) = agreed_manifest(&overlay.dir_name, &taken.content_hash) else { continue };
        for hook in &manifest.hooks {
            index.entry(hook.event.clone()).or_default().push(WiredHook {
                capability: overlay.dir_name.clone(),
                overlay: at,
                script: hook.script.clone(),
                matcher: Matcher::new(hook.matcher.as_deref()),
                matcher_text: hook.matcher.clone(),
                halted: true,
            });
        }
    }
    index
}

fn slices(composition: &Composition) -> BTreeMap<String, SliceKey> {
    let slice = |entry: &ConfigEntry| SliceKey {
        kind: entry.slice.kind.as_str().to_owned(),
        default: entry.slice.default.clone(),
        values: entry.slice.values.clone(),
    };
    composition.registry.config().iter().map(|entry| (entry.key.clone(), slice(entry))).collect()
}

fn universe(base: &Base, composition: &Composition) -> SkillUniverse {
    let owned = |names: Vec<&str>| names.into_iter().map(ToOwned::to_owned).collect::<Vec<String>>();
    let mut universe = SkillUniverse::default();
    for (id, skills) in composition.registry.clusters() {
        universe.clusters.insert(id.to_string(), owned(skills));
    }
    for (id, profile) in composition.registry.profile_membership() {
        let skills = universe.clusters.get(id.as_str()).cloned().unwrap_or_default();
        universe.membership.insert(id.to_string(), (owned(profile.profiles), skills));
    }
    // Hand-written clusters win over a capability of the same name.
    universe.clusters.extend(base.clusters().iter().map(|(name, skills)| (name.clone(), skills.clone())));
    for tier in [Tier::Core, Tier::Standard] {
        universe.base_profiles.insert(tier.as_str().to_owned(), Vec::new());
    }
    let written = base.profiles().iter().filter_map(|(name, skills)| Some((name.clone(), skills.clone()?)));
    universe.base_profiles.extend(written);
    universe
}

impl Overlay {
    /// Whether nothing about the bundle differs that a reader could see.
    pub(crate) fn same_state(&self, other: &Self) -> bool {
        let same_manifest = match (&self.manifest, &other.manifest) {
            (None, None) => true,
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        };
        same_manifest
            && self.ledger == other.ledger
            && self.consent == other.consent
            && self.agreed == other.agreed
            && self.destination == other.destination
            && self.accepted == other.accepted
    }
}

/// The configuration documents of a project. A workstream's file is the main one while it is active.
fn config_layers(places: &Places, project_root: &Path) -> (ConfigLayers, ConfigFiles, Vec<(PathBuf, Stamp)>) {
    let planning = project_root.join(".planning");
    let root_file = planning.join("config.json");
    let pointer = planning.join("active-workstream");
    let workstream = read_text(&pointer).filter(|name| is_workstream_name(name));
    let main_folder = match &workstream {
        Some(name) => planning.join("workstreams").join(name),
        None => planning.clone(),
    };
    let active = workstream.is_some() && main_folder.is_dir();
    let main_file = if active { main_folder.join("config.json") } else { root_file.clone() };
    let defaults = places.defaults();
    let stamps = [&root_file, &pointer, &main_file, &defaults].map(|path| (path.clone(), Stamp::of(path)));
    let layers = ConfigLayers {
        main: read_document(&main_file),
        root: if active { read_document(&root_file) } else { None },
        main_folder_exists: planning.is_dir(),
        defaults: read_document(&defaults),
    };
    (layers, ConfigFiles { main: main_file, root: root_file, defaults }, stamps.to_vec())
}

fn read_document(path: &Path) -> Option<Value> {
    bounded_read::read(path, MAX_FILE).ok().and_then(|bytes| gsdd_core::json::parse_lenient(&bytes))
}

fn read_text(path: &Path) -> Option<String> {
    let text = String::from_utf8(bounded_read::read(path, 4096).ok()?).ok()?;
    Some(text.trim().to_owned())
}

fn is_workstream_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}
