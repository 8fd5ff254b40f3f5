//! What readers hold: everything that was known about one project at one moment.

use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use gsdd_core::activation::{ConfigLayers, ConfigView, EnabledSkills, SkillUniverse, SurfaceFile};
use gsdd_core::compose::{Candidate, Composition, Known, LedgerState, compose_after};
use gsdd_core::hooks::Matcher;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::manifest::{Manifest, Tier};
use gsdd_core::registry::Base;
use serde_json::Value;

use super::bundles::Bundles;
use super::links::Followed;
use super::looks::Seen;
use super::scan::{self, Found, Records};
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::stamp::Stamp;
use crate::store::{OwnState, Places};

/// One project as composed. Immutable.
pub(crate) struct Snapshot {
    /// Grows with every change of any project.
    pub(crate) generation: u64,
    base: Arc<Base>,
    pub(crate) project_root: PathBuf,
    pub(crate) composition: Composition,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) records: Arc<Records>,
    pub(crate) config: ConfigView,
    pub(crate) config_files: ConfigFiles,
    /// By event as declared; hooks of accepted, recorded capabilities, in capability order.
    pub(crate) hooks: BTreeMap<String, Vec<WiredHook>>,
    pub(crate) warnings: Vec<String>,
    pub(crate) followed: Followed,
    config_stamps: Vec<(PathBuf, Stamp)>,
    /// When records and agreed contents have to be looked at again although they look the same.
    look_again: Option<Instant>,
}

/// One installed bundle, and what became of it.
#[derive(Clone)]
pub(crate) struct Overlay {
    pub(crate) found: Arc<Found>,
    pub(crate) accepted: bool,
}

impl Deref for Overlay {
    type Target = Found;

    fn deref(&self) -> &Found {
        &self.found
    }
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
        base: &Arc<Base>,
        places: &Places,
        project_root: &Path,
        bundles: &Bundles,
        generation: u64,
        seen: Option<&Seen>,
    ) -> Self {
        let records =
            seen.and_then(Seen::records).unwrap_or_else(|| Arc::new(Records::read(places, project_root)));
        let found = scan::scan(base, &records, bundles, seen);
        let candidates: Vec<&Candidate> = found.iter().map(|found| &found.candidate).collect();
        let known = seen.map(|seen| (seen.snapshot().candidates().collect::<Vec<_>>(), seen));
        let known = known
            .as_ref()
            .map(|(candidates, seen)| Known { candidates, composition: &seen.snapshot().composition });
        let composition = compose_after(base, &candidates, known);
        let contents = found.iter().filter_map(|found| found.look.look_again());
        let look_again = contents.chain(records.look_again).min();
        let overlays = judged(found, &composition);
        let mut hooks = index_hooks(&overlays);
        let halted = halted(&overlays, &records.own, |dir_name, hash| {
            let stored = crate::store::Objects::new(places.objects()).path(hash);
            let declared = bundles.declared(dir_name, &stored, base.contract());
            declared.assessed().and_then(|assessed| assessed.manifest.clone())
        });
        for (event, halted) in halted {
            hooks.entry(event).or_default().extend(halted);
        }
        let (layers, config_files, config_stamps) = config_layers(places, project_root);
        Self {
            generation,
            base: Arc::clone(base),
            project_root: project_root.to_owned(),
            config: ConfigView::new(layers, Arc::clone(&composition.registry)),
            config_files,
            composition,
            overlays,
            hooks,
            warnings: records.warnings.clone(),
            records,
            followed: Followed::default(),
            config_stamps,
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
            && self.overlays.iter().all(|overlay| !overlay.look.agreed || overlay.look.is_same_content())
    }

    /// [`Snapshot::is_fresh`] for callers that compare the content of a bundle themselves before anything of it runs.
    pub(crate) fn is_fresh_for_verified_use(&self) -> bool {
        self.surroundings_look_the_same()
            && self.overlays.iter().all(|overlay| overlay.look.is_same_for_verified_use(&overlay.bundle))
    }

    /// [`Snapshot::is_fresh`], apart from the bundles.
    pub(super) fn rest_is_fresh(&self) -> bool {
        self.look_again.is_none_or(|at| Instant::now() < at) && self.surroundings_look_the_same()
    }

    fn surroundings_look_the_same(&self) -> bool {
        !self.followed.put_off
            && unchanged(&self.records.stamps, Stamp::of)
            && unchanged(&self.config_stamps, Stamp::of)
            && unchanged(&self.followed.stamps, Stamp::of_link)
    }

    /// Everything that was found, as it was handed to composition.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.overlays.iter().map(|overlay| &overlay.candidate)
    }

    /// What is recorded here and not known to upstream.
    pub(crate) fn own(&self) -> &OwnState {
        &self.records.own
    }

    /// Whether other configuration or other records were read than for `other`.
    pub(crate) fn config_differs(&self, other: &Self) -> bool {
        !self.config.is_same(&other.config)
            || !(Arc::ptr_eq(&self.records, &other.records) || self.own() == other.own())
    }

    /// Which skills are installed and on the surface of the host with this configuration folder.
    pub(crate) fn enabled_skills(&self, config_home: Option<&Path>) -> EnabledSkills {
        let read =
            |name: &str| config_home.and_then(|home| bounded_read::read(&home.join(name), MAX_FILE).ok());
        let marker = read(".gsd-profile").and_then(|bytes| String::from_utf8(bytes).ok());
        let surface = read(".gsd-surface.json")
            .and_then(|bytes| gsdd_core::json::parse_lenient(&bytes))
            .and_then(|document| SurfaceFile::parse(&document));
        // Most hosts have neither, and then the answer does not depend on it.
        let universe = match (&marker, &surface) {
            (None, None) => SkillUniverse::default(),
            _ => universe(&self.base, &self.composition),
        };
        EnabledSkills::resolve(&universe, marker.as_deref(), surface.as_ref())
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
        self.own()
            .taken(&overlay.root, &overlay.dir_name)
            .is_some_and(|taken| overlay.agreed.as_ref() == Some(&taken.content_hash) && taken.fits(digest))
    }

    /// The installed bundle of an accepted capability.
    pub(crate) fn accepted(&self, id: &str) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.accepted && overlay.dir_name == id)
    }

    /// Ledger entries by scope word and id.
    pub(crate) fn ledger_entries(&self) -> BTreeMap<(String, String), Entry> {
        scan::ledger_ids(&self.records.roots)
    }
}

fn unchanged(stamps: &[(PathBuf, Stamp)], look: impl Fn(&Path) -> Stamp) -> bool {
    stamps.iter().all(|(path, stamp)| look(path) == *stamp)
}

fn judged(found: Vec<Arc<Found>>, composition: &Composition) -> Vec<Overlay> {
    let accepted: HashSet<&str> = composition.accepted.iter().map(CapabilityId::as_str).collect();
    let is_accepted = |found: &Found| {
        accepted.contains(found.dir_name.as_str())
            && composition.registry.get(&found.dir_name).is_some_and(|composed| composed.scope == found.scope)
    };
    found.into_iter().map(|found| Overlay { accepted: is_accepted(&found), found }).collect()
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
        if overlay.accepted || overlay.ledger != LedgerState::Committed {
            continue;
        }
        let taken = own.taken(&overlay.root, &overlay.dir_name).filter(|taken| taken.revoked_at.is_none());
        let Some(taken) = taken else { continue };
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
        let same_manifest = || match (&self.manifest, &other.manifest) {
            (None, None) => true,
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            _ => false,
        };
        let same_finding = || {
            same_manifest()
                && self.ledger == other.ledger
                && self.consent == other.consent
                && self.agreed == other.agreed
                && self.destination == other.destination
        };
        self.accepted == other.accepted && (Arc::ptr_eq(&self.found, &other.found) || same_finding())
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
