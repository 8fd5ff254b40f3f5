//! Every effect of a plan fails once, in this process: the state before or the state after, and never a mix.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::lifecycle::{FileBytes, Plan, Step, Verb};
use serde_json::{Map, Value};

use super::executor::{Tools, apply, perform};
use super::journal::{self, recover};
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;
use crate::fs::fault::{Armed, Word};
use crate::fs::staging::{Room, Staging};
use crate::store::{Objects, UpstreamLock, shared_files};

const NOW: &str = "2026-01-01T00:00:00.000Z";
const UMASK: u32 = 0o022;

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    atomic::write(path, text.as_bytes(), Mode::Keep(UMASK)).unwrap();
}

/// Path to what lies there: bytes with their mode, or the target of a link, or that it is a folder.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let kind = if metadata.file_type().is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                open.push(path.clone());
                format!("folder {:o}", metadata.mode())
            } else {
                let bytes = bounded_read::read(&path, bounded_read::MAX_FILE).unwrap();
                format!("file {:o} {}", metadata.mode(), String::from_utf8_lossy(&bytes))
            };
            found.insert(path, kind);
        }
    }
    found
}

fn entry(version: &str, pending: bool) -> Value {
    let entry = Entry {
        id: CapabilityId::parse("acme-lint").unwrap(),
        version: version.to_owned(),
        source: "./x".to_owned(),
        integrity: String::new(),
        files: vec![".gsd/capabilities/acme-lint".to_owned()],
        shared_edits: Vec::new(),
        pending: pending.then(|| gsdd_core::ledger::Pending {
            kind: gsdd_core::ledger::PendingKind::Upgrade,
            backup_name: None,
            shared_files: Vec::new(),
            extra: Map::new(),
        }),
        extra: Map::new(),
    };
    entry.to_value()
}

fn consent(content: &str) -> Value {
    let id = CapabilityId::parse("acme-lint").unwrap();
    let mut record = shared_files::consent_record("/proj", &id, "", "[[],[],[]]", content, None);
    record["consentedAt"] = NOW.into();
    record
}

/// A home with version 1, objects beside it, and the plan that makes it version 2 with every kind of step.
struct Case {
    dir: tempfile::TempDir,
    objects: Objects,
    plan: Plan,
}

impl Case {
    fn new() -> Self {
        // Flushing is what this test is full of, and a disk takes its time.
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
        let home = dir.path().join("home");
        let at = |path: &str| home.join(path);
        let objects = Objects::new(dir.path().join("objects"));
        let room = Room { objects: dir.path().join("objects"), max_bytes: 100 };
        let mut bundle = Staging::new(&room).unwrap();
        for (path, text) in [("capability.json", "{}"), ("hooks/a.sh", "#!/bin/sh\n"), ("docs/deep/b", "b")] {
            let path = gsdd_core::bundle::check_member(path.as_bytes()).unwrap();
            bundle.add_bytes(&path, false, text.as_bytes()).unwrap();
        }
        let bundle = bundle.finish("").unwrap();
        let hash = bundle.content_hash().clone();
        objects.keep(&bundle).unwrap();

        put(&at(".gsd/capabilities/acme-lint/capability.json"), "{\"version\":1}");
        put(&at(".gsd/capabilities/acme-lint/old/file"), "old");
        put(&at("host/settings.json"), "{ // mine\n}\n");
        put(&at("host/old-skill/SKILL.md"), "old skill");
        fs::create_dir_all(at(".gsd/bin")).unwrap();
        std::os::unix::fs::symlink("/old/client", at(".gsd/bin/gsdctl")).unwrap();
        let ledger = at(".gsd-capabilities.json");
        shared_files::put_ledger_entry(&ledger, "acme-lint", Some(&entry("1.0.0", false)), NOW, UMASK)
            .unwrap();
        let store = at(".gsd/consent.json");
        shared_files::put_consent_record(&store, "/proj", "acme-lint", Some(&consent("sha512-1"))).unwrap();

        let write = |path: &str, before: Option<&str>, after: &str| Step::WriteFile {
            path: at(path),
            before: before.map(|text| FileBytes(text.as_bytes().to_vec())),
            after: FileBytes(after.as_bytes().to_vec()),
            mode: None,
            why: "a test".to_owned(),
        };
        let ledger_step = |before: Value, after: Value, commit| Step::Ledger {
            path: ledger.clone(),
            id: "acme-lint".to_owned(),
            before: Some(before),
            after: Some(after),
            commit,
        };
        let live = at(".gsd/capabilities/acme-lint");
        let staging = at(".gsd/capabilities/.staging/acme-lint-1-1");
        let backup = at(".gsd/capabilities/acme-lint.upgrading-1-1");
        let steps = vec![
            Step::MakeFolder { path: at("host/skills") },
            ledger_step(entry("1.0.0", false), entry("1.0.0", true), false),
            Step::MakeFolder { path: at(".gsd/capabilities/.staging") },
            Step::PlaceTree { path: staging.clone(), object: hash.as_str().to_owned() },
            Step::Move { from: live.clone(), to: backup.clone() },
            Step::Move { from: staging, to: live },
            ledger_step(entry("1.0.0", true), entry("2.0.0", false), true),
            Step::Consent {
                path: store,
                root: "/proj".to_owned(),
                id: "acme-lint".to_owned(),
                before: Some(consent("sha512-1")),
                after: Some(consent("sha512-2")),
            },
            Step::Link {
                path: at(".gsd/bin/gsdctl"),
                before: Some("/old/client".into()),
                after: Some("/new/client".into()),
            },
            write("host/skills/SKILL.md", None, "new skill"),
            Step::RemoveFile {
                path: at("host/old-skill/SKILL.md"),
                before: FileBytes(b"old skill".to_vec()),
                why: "a test".to_owned(),
            },
            write("host/settings.json", Some("{ // mine\n}\n"), "{ // mine\n\"a\": 1}\n"),
            Step::DropTree { path: backup },
            Step::DropFolder { path: at(".gsd/capabilities/.staging") },
            Step::DropFolder { path: at("host/old-skill") },
        ];
        let plan = Plan { verb: Verb::Update, id: "acme-lint".to_owned(), roots: vec![home], steps };
        Self { dir, objects, plan }
    }

    fn with_tools<T>(&self, work: impl FnOnce(&Tools<'_>) -> T) -> T {
        let journal = self.dir.path().join("journal");
        work(&Tools { objects: &self.objects, journal: &journal, now: NOW, umask: UMASK })
    }

    fn home(&self) -> BTreeMap<PathBuf, String> {
        let below = self.dir.path().join("home");
        tree(&below)
            .into_iter()
            .map(|(path, what)| (path.strip_prefix(&below).unwrap().to_owned(), what))
            .collect()
    }

    fn journal(&self) -> usize {
        fs::read_dir(self.dir.path().join("journal")).map_or(0, Iterator::count)
    }
}

/// `word` comes true at every effect in turn, until a run passes untouched.
fn break_everywhere(word: Word) {
    let before = Case::new().home();
    let done = Case::new();
    done.with_tools(|tools| apply(&done.plan, tools)).unwrap().close();
    let after = done.home();
    assert_ne!(before, after);
    assert_eq!(done.journal(), 0);
    let mut outcomes = [0_usize; 3];
    for effects in 0.. {
        let case = Case::new();
        let armed = Armed::after(effects, word);
        let outcome = case.with_tools(|tools| apply(&case.plan, tools).map(super::Done::close));
        let struck = armed.has_struck();
        drop(armed);
        // A lock that could not be removed keeps nobody out.
        drop(UpstreamLock::consent(&case.dir.path().join("home/.gsd")).unwrap());
        let when = format!("{word:?} after {effects} effects: {outcome:?}");
        match &outcome {
            Err(failure) if failure.left.is_empty() => {
                assert_eq!(case.home(), before, "{when}");
                assert_eq!(case.journal(), 0, "{when}");
                outcomes[0] += 1;
            }
            // The next sweep has it easier than the undo had.
            Err(_) => {
                assert_ne!(case.journal(), 0, "{when}");
                case.with_tools(recover);
                assert!([&before, &after].contains(&&case.home()), "{when}: {:#?}", case.home());
                outcomes[1] += 1;
            }
            Ok(()) => {
                case.with_tools(recover);
                assert_eq!(case.home(), after, "{when}");
                outcomes[2] += 1;
            }
        }
        let settled = case.home();
        case.with_tools(recover);
        assert_eq!(case.home(), settled, "a second sweep, {when}");
        assert_eq!(case.journal(), 0, "{when}");
        if !struck {
            assert!(effects > 30, "only {effects} effects");
            println!("{word:?}: {effects} effects; taken back, left to the sweep, done: {outcomes:?}");
            return;
        }
    }
}

/// Killed right behind the commit point, and before the next start the person edits what comes after it.
#[test]
fn what_can_not_be_finished_any_more_is_taken_back() {
    let before = Case::new().home();
    let case = Case::new();
    let settings = case.dir.path().join("home/host/settings.json");
    case.with_tools(|tools| {
        journal::begin(&case.plan, tools.journal, UMASK).unwrap();
        for step in &case.plan.steps[..=case.plan.commit_at()] {
            perform(step, tools).unwrap();
        }
        put(&settings, "{ \"of the person\": true }");
        let recovered = recover(tools);
        assert!(recovered.iter().all(|one| !one.finished && one.left.is_empty()), "{recovered:?}");
    });
    let edited = "file 100644 { \"of the person\": true }".to_owned();
    let mut expected = before;
    expected.insert("host/settings.json".into(), edited);
    assert_eq!(case.home(), expected);
    assert_eq!(case.journal(), 0);
}

#[test]
fn d14_eio_at_any_effect_gives_the_state_before_or_after() {
    break_everywhere(Word::Eio);
}

#[test]
fn d14_a_disk_that_fills_up_at_any_write_gives_the_state_before_or_after() {
    break_everywhere(Word::Full);
}
