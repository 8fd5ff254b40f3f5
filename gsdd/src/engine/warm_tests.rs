//! A snapshot taken with what is remembered is the one that would be taken without: whatever changes on the disk,
//! and however it is changed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "support of tests: a panic is the report"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use gsdd_core::bundle::budget::MAX_BYTES;
use gsdd_core::consent::{ConsentRecord, record_key};
use gsdd_core::ids::CapabilityId;
use gsdd_core::registry::{Base, BaseParts, View};
use gsdd_core::version::HostVersion;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::bundles::{Bundles, Declared};
use super::change::{changed_in_place, names, same_places};
use super::looks::Seen;
use super::snapshot::Snapshot;
use crate::fs::atomic::{self, Mode};
use crate::store::{Places, ScopeRoot};

/// Nothing is shipped here: what the cache remembers is about installed bundles.
static BASE: LazyLock<Arc<Base>> = LazyLock::new(|| {
    let base = Base::build(BaseParts { gsd_version: HostVersion::new(1, 10, 0), ..BaseParts::default() });
    Arc::new(base.unwrap_or_else(|_| panic!("an empty base composes")))
});

const IDS: [&str; 4] = ["acorn", "birch", "cedar", "drift"];

#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    TakesASkill,
    RequiresAcorn,
    Invalid,
    NotJson,
    Gate,
    Fragment,
    Keys,
}

#[derive(Clone, Copy, Debug)]
enum Agreement {
    Fitting,
    Other,
    None,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Committed,
    Pending,
    None,
}

#[derive(Clone, Debug)]
enum Change {
    Put { project: bool, id: usize, shape: Shape, in_place: bool },
    Remove { project: bool, id: usize },
    EditFragment { project: bool, id: usize },
    RemoveManifest { project: bool, id: usize },
    Ledger { project: bool, id: usize, entry: Entry },
    Consent { id: usize, agreement: Agreement },
    Planning(bool),
}

fn change() -> impl Strategy<Value = Change> {
    let place = || (any::<bool>(), 0..IDS.len());
    let shape = prop_oneof![
        Just(Shape::Plain),
        Just(Shape::TakesASkill),
        Just(Shape::RequiresAcorn),
        Just(Shape::Invalid),
        Just(Shape::NotJson),
        Just(Shape::Gate),
        Just(Shape::Fragment),
        Just(Shape::Keys),
    ];
    let agreement = prop_oneof![Just(Agreement::Fitting), Just(Agreement::Other), Just(Agreement::None)];
    let entry = prop_oneof![Just(Entry::Committed), Just(Entry::Pending), Just(Entry::None)];
    prop_oneof![
        6 => (place(), shape, any::<bool>())
            .prop_map(|((project, id), shape, in_place)| Change::Put { project, id, shape, in_place }),
        2 => place().prop_map(|(project, id)| Change::Remove { project, id }),
        2 => place().prop_map(|(project, id)| Change::EditFragment { project, id }),
        1 => place().prop_map(|(project, id)| Change::RemoveManifest { project, id }),
        3 => (place(), entry).prop_map(|((project, id), entry)| Change::Ledger { project, id, entry }),
        3 => (0..IDS.len(), agreement).prop_map(|(id, agreement)| Change::Consent { id, agreement }),
        1 => any::<bool>().prop_map(Change::Planning),
    ]
}

/// A home and a project.
struct Disk {
    root: tempfile::TempDir,
    /// Grows with each write, and so does what is written: no two versions of a file have the same size.
    writes: usize,
    consents: Map<String, Value>,
    ledgers: [Map<String, Value>; 2],
}

impl Disk {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home/.gsd/capabilities", "proj/.git", "proj/.gsd/capabilities"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        Self { root, writes: 0, consents: Map::new(), ledgers: [Map::new(), Map::new()] }
    }

    fn places(&self) -> Places {
        let home = self.root.path().join("home");
        Places { user_home: home.clone(), data: home.join("data"), state: home.join("state"), gsd_home: home }
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("proj")
    }

    fn scope_root(&self, project: bool) -> ScopeRoot {
        if project { ScopeRoot::project(&self.project()) } else { self.places().global_root() }
    }

    fn bundle(&self, project: bool, id: usize) -> PathBuf {
        self.scope_root(project).bundles().join(IDS[id])
    }

    fn padding(&mut self) -> String {
        self.writes += 1;
        "x".repeat(self.writes)
    }

    fn write(path: &Path, bytes: &[u8], in_place: bool) {
        use std::io::Write as _;
        if in_place && path.exists() {
            std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
        } else {
            atomic::write(path, bytes, Mode::Exactly(0o600)).unwrap();
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Put { project, id, shape, in_place } => {
                let padding = self.padding();
                let bundle = self.bundle(*project, *id);
                std::fs::create_dir_all(bundle.join("f")).unwrap();
                Self::write(
                    &bundle.join("capability.json"),
                    manifest(IDS[*id], *shape, &padding).as_bytes(),
                    *in_place,
                );
            }
            Change::Remove { project, id } => drop(std::fs::remove_dir_all(self.bundle(*project, *id))),
            Change::EditFragment { project, id } => {
                let padding = self.padding();
                let folder = self.bundle(*project, *id).join("f");
                if folder.is_dir() {
                    Self::write(&folder.join("text.md"), padding.as_bytes(), padding.len().is_multiple_of(2));
                }
            }
            Change::RemoveManifest { project, id } => {
                drop(std::fs::remove_file(self.bundle(*project, *id).join("capability.json")));
            }
            Change::Ledger { project, id, entry } => self.put_entry(*project, IDS[*id], *entry),
            Change::Consent { id, agreement } => self.put_consent(*id, *agreement),
            Change::Planning(there) => {
                let folder = self.project().join(".planning");
                let _ = if *there { std::fs::create_dir(folder) } else { std::fs::remove_dir(folder) };
            }
        }
    }

    fn put_entry(&mut self, project: bool, id: &str, entry: Entry) {
        let padding = self.padding();
        let row = json!({
            "id": id, "version": "1.0.0", "source": padding, "integrity": "", "files": [], "sharedEdits": [],
        });
        let entries = &mut self.ledgers[usize::from(project)];
        match entry {
            Entry::Committed => drop(entries.insert(id.to_owned(), row)),
            Entry::Pending => {
                let mut row = row;
                row["_pending"] = json!(true);
                entries.insert(id.to_owned(), row);
            }
            Entry::None => drop(entries.remove(id)),
        }
        let document = json!({"version": 1, "entries": entries, "padding": padding}).to_string();
        Self::write(&self.scope_root(project).ledger(), document.as_bytes(), false);
    }

    fn put_consent(&mut self, id: usize, agreement: Agreement) {
        let padding = self.padding();
        let root =
            std::fs::canonicalize(self.project()).expect("the project exists").to_string_lossy().into_owned();
        let key = record_key(&root, IDS[id]);
        let hash = match agreement {
            Agreement::None => None,
            Agreement::Other => Some("0".repeat(64)),
            Agreement::Fitting => Bundles::default().content_hash(&self.bundle(true, id), || MAX_BYTES).ok(),
        };
        match hash {
            None => drop(self.consents.remove(&key)),
            Some(content_hash) => {
                let record = ConsentRecord {
                    project_root: root,
                    id: CapabilityId::parse(IDS[id]).expect("an id"),
                    integrity: String::new(),
                    disclosure_signature: String::new(),
                    content_hash,
                    consented_at: "2026-01-01T00:00:00.000Z".to_owned(),
                    reviewer_host: None,
                    extra: Map::new(),
                };
                self.consents.insert(key, record.to_value());
            }
        }
        let document = json!({"version": 1, "records": self.consents, "padding": padding}).to_string();
        Self::write(&self.places().consent_store(), document.as_bytes(), false);
    }

    fn take(&self, bundles: &Bundles) -> Snapshot {
        self.take_after(bundles, None)
    }

    fn take_after(&self, bundles: &Bundles, seen: Option<&Seen>) -> Snapshot {
        Snapshot::take(&BASE, &self.places(), &self.project(), bundles, 1, seen)
    }
}

fn manifest(id: &str, shape: Shape, padding: &str) -> String {
    let mut manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "T", "description": padding, "tier": "full",
        "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "config": {}, "steps": [], "contributions": [], "gates": [],
        "hooks": [{"event": "Stop", "script": "s.sh"}],
    });
    match shape {
        Shape::Plain => {}
        Shape::TakesASkill => manifest["skills"] = json!(["shared-skill"]),
        Shape::RequiresAcorn => manifest["requires"] = json!(["acorn"]),
        Shape::Invalid => manifest["tier"] = json!("huge"),
        Shape::NotJson => return format!("{{ {padding}"),
        Shape::Gate => {
            manifest["gates"] =
                json!([{"point": "ship:pre", "check": {"query": "q"}, "blocking": true, "onError": "halt"}]);
        }
        Shape::Fragment => {
            manifest["contributions"] = json!([{"point": "plan:pre", "into": "planner", "produces": [], "consumes": [],
                "fragment": {"path": "f/text.md"}}]);
        }
        Shape::Keys => {
            manifest["config"] =
                json!({"shared.key": {"type": "boolean", "default": true, "description": "D"}});
            manifest["activationKey"] = json!("shared.key");
        }
    }
    manifest.to_string()
}

/// Everything that a reader can see of a snapshot.
fn account(snapshot: &Snapshot) -> String {
    let composition = &snapshot.composition;
    let mut account = composition.registry.view(View::All, Some(composition)).to_string();
    let _ = write!(
        account,
        "\n{:?}\n{:?}\n{:?}",
        composition.skips, composition.blocked_gates, composition.accepted
    );
    for overlay in &snapshot.overlays {
        let _ = write!(
            account,
            "\n{} {:?} {:?} {:?} {:?} {}",
            overlay.bundle.display(),
            overlay.scope,
            overlay.ledger,
            overlay.consent,
            overlay.agreed,
            overlay.accepted
        );
    }
    for (event, hooks) in &snapshot.hooks {
        for hook in hooks {
            let _ = write!(account, "\n{event} {} {}", hook.capability, hook.script);
        }
    }
    account
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_is_remembered_never_shows(changes in prop::collection::vec(change(), 1..16)) {
        let mut disk = Disk::new();
        let warm = Bundles::default();
        let mut before = Arc::new(disk.take(&warm));
        for change in &changes {
            disk.apply(change);
            // A recomposition that goes on from what was seen of the snapshot before.
            let remembered = match Seen::look(Arc::clone(&before)) {
                Ok(before) => before,
                Err(seen) => Arc::new(disk.take_after(&warm, Some(&seen))),
            };
            let fresh = disk.take(&Bundles::default());
            prop_assert_eq!(account(&remembered), account(&fresh), "after {:?}", change);
            prop_assert_eq!(account(&disk.take(&warm)), account(&fresh), "after {:?}", change);
            // The short way to tell what changed comes to the same.
            let shorter = same_places(&before, &remembered);
            prop_assert!(!shorter || changed_in_place(&before, &remembered) == names(&before, &remembered));
            // A reader of the old snapshot notices (D-03).
            prop_assert!(
                account(&before) == account(&remembered) || !before.is_fresh(),
                "{:?} was not noticed",
                change
            );
            // What changed a moment ago is looked at once more.
            prop_assert!(remembered.is_fresh() || (0..100).any(|_| disk.take(&warm).is_fresh()));
            before = remembered;
        }
    }
}

/// An agreement is to every byte of a bundle, so a snapshot that relies on it notices a change of any file.
#[test]
fn an_agreed_bundle_that_changes_anywhere_is_noticed() {
    let mut disk = Disk::new();
    let warm = Bundles::default();
    disk.apply(&Change::Put { project: true, id: 0, shape: Shape::Plain, in_place: false });
    disk.apply(&Change::Consent { id: 0, agreement: Agreement::Fitting });
    let agreed = disk.take(&warm);
    assert!(agreed.overlays[0].accepted && agreed.is_fresh());
    disk.apply(&Change::EditFragment { project: true, id: 0 });
    assert!(!agreed.is_fresh());
    assert!(!disk.take(&warm).overlays[0].accepted);
}

/// Two folders that appear within one step of the clock leave their parent looking the same.
#[test]
fn a_root_that_just_changed_is_looked_at_again() {
    let mut disk = Disk::new();
    let warm = Bundles::default();
    // A machine that is busy may take longer than a step between two lines.
    assert!((0..100).any(|_| {
        disk.apply(&Change::Put { project: false, id: 0, shape: Shape::Plain, in_place: false });
        disk.apply(&Change::Remove { project: false, id: 0 });
        let snapshot = disk.take(&warm);
        std::thread::sleep(std::time::Duration::from_millis(30));
        snapshot.looks_the_same() && !snapshot.is_fresh()
    }));
    assert!(disk.take(&warm).is_fresh());
}

/// What was read of each bundle, by the identity of the reading.
fn readings(disk: &Disk, bundles: &Bundles, count: usize) -> Vec<Arc<Declared>> {
    let folder = disk.scope_root(false).bundles();
    (0..count)
        .map(|index| {
            let name = format!("b{index}");
            bundles.declared(&name, &folder.join(&name), BASE.contract())
        })
        .collect()
}

#[test]
fn only_the_bundle_that_changed_is_read_and_judged_again() {
    const COUNT: usize = 40;
    let mut disk = Disk::new();
    let folder = disk.scope_root(false).bundles();
    for index in 0..COUNT {
        let name = format!("b{index}");
        std::fs::create_dir(folder.join(&name)).unwrap();
        Disk::write(
            &folder.join(&name).join("capability.json"),
            manifest(&name, Shape::Plain, "x").as_bytes(),
            false,
        );
    }
    let warm = Bundles::default();
    assert_eq!(disk.take(&warm).composition.accepted.len(), COUNT);
    let first = readings(&disk, &warm, COUNT);
    let again = |disk: &Disk| {
        let snapshot = disk.take(&warm);
        let judged: Vec<usize> = readings(disk, &warm, COUNT)
            .iter()
            .zip(&first)
            .enumerate()
            .filter(|(_, (now, before))| !Arc::ptr_eq(now, before))
            .map(|(index, _)| index)
            .collect();
        (snapshot.composition.accepted.len(), judged)
    };
    assert_eq!(again(&disk), (COUNT, vec![]));
    // Neither a ledger nor an agreement is a reason to read a manifest.
    disk.put_entry(false, "b3", Entry::Committed);
    disk.put_consent(0, Agreement::Other);
    assert_eq!(again(&disk), (COUNT, vec![]));
    Disk::write(&folder.join("b7/capability.json"), manifest("b7", Shape::Gate, "xx").as_bytes(), true);
    assert_eq!(again(&disk), (COUNT, vec![7]));
    Disk::write(&folder.join("b9/capability.json"), manifest("b9", Shape::Invalid, "xxx").as_bytes(), false);
    assert_eq!(again(&disk), (COUNT - 1, vec![7, 9]));
}
