//! Ledgers, the consent store and our own records in every shape in which they can't be used: whoever would change
//! something is refused with the file and a remedy, nothing is changed or begun anew, and hosts are not bothered.

use std::path::{Path, PathBuf};

use gsd_tests::{Tree, World, bytes_of, link, put, set_mode, write_of};
use serde_json::{Value, json};

/// Which file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    GlobalLedger,
    ProjectLedger,
    Consent,
    Own,
}

/// One damage, done to a file that was in order.
struct Damage {
    name: &'static str,
    does: fn(&Path, &World),
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&bytes_of(path)).unwrap()
}

fn entry_of(ledger: &Value) -> Value {
    ledger["entries"].as_object().unwrap().values().next().unwrap().clone()
}

/// Damages that any of the files can have.
const ANY: [Damage; 8] = [
    Damage { name: "empty", does: |path, _| put(path, "") },
    Damage {
        name: "cut off",
        does: |path, _| {
            let bytes = bytes_of(path);
            put(path, &bytes[..bytes.len() / 2]);
        },
    },
    Damage { name: "another shape", does: |path, _| put(path, "[]") },
    Damage {
        name: "a dangling link",
        does: |path, world| {
            std::fs::remove_file(path).unwrap();
            link(path, world.path("nowhere"));
        },
    },
    Damage {
        name: "a FIFO",
        does: |path, _| {
            std::fs::remove_file(path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        },
    },
    Damage {
        name: "a folder",
        does: |path, _| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        },
    },
    Damage {
        name: "larger than anything",
        does: |path, _| {
            std::fs::File::options().write(true).open(path).unwrap().set_len(65 << 20).unwrap();
        },
    },
    Damage {
        name: "not UTF-8",
        does: |path, _| {
            let mut bytes = bytes_of(path);
            bytes[1] = 0xff;
            put(path, bytes);
        },
    },
];

/// Damages that only mean something in one of them.
fn special(record: Record) -> Vec<Damage> {
    match record {
        Record::GlobalLedger | Record::ProjectLedger => vec![
            Damage {
                name: "version 2",
                does: |path, _| {
                    let mut ledger = json_of(path);
                    ledger["version"] = "2".into();
                    put(path, ledger.to_string());
                },
            },
            Damage {
                name: "8 MiB and a byte",
                does: |path, _| {
                    let mut bytes = bytes_of(path);
                    bytes.resize((8 << 20) + 1, b' ');
                    put(path, bytes);
                },
            },
            Damage {
                name: "4097 entries",
                does: |path, _| {
                    let mut ledger = json_of(path);
                    for at in 0..4096 {
                        let id = format!("n{at}");
                        ledger["entries"][&id] = json!({"id": id, "version": "1.0.0", "source": "", "integrity": "",
                        "files": [], "sharedEdits": []});
                    }
                    put(path, ledger.to_string());
                },
            },
            Damage {
                name: "a key that is not its id",
                does: |path, _| {
                    let mut ledger = json_of(path);
                    ledger["entries"]["acme-other"] = entry_of(&ledger);
                    put(path, ledger.to_string());
                },
            },
            Damage {
                name: "an id that climbs",
                does: |path, _| {
                    let mut ledger = json_of(path);
                    ledger["entries"]["../../x"] = entry_of(&ledger);
                    ledger["entries"]["../../x"]["id"] = "../../x".into();
                    put(path, ledger.to_string());
                },
            },
            Damage {
                name: "an intent of another kind",
                does: |path, _| {
                    let mut ledger = json_of(path);
                    let mut entry = entry_of(&ledger);
                    entry["_pending"] = json!({"kind": "erase"});
                    let id = entry["id"].as_str().unwrap().to_owned();
                    ledger["entries"][id] = entry;
                    put(path, ledger.to_string());
                },
            },
        ],
        Record::Consent => vec![
            Damage {
                name: "version 2",
                does: |path, _| {
                    let mut store = json_of(path);
                    store["version"] = "2".into();
                    put(path, store.to_string());
                },
            },
            Damage {
                name: "4097 records",
                does: |path, _| {
                    let mut store = json_of(path);
                    for at in 0..4097 {
                        store["records"][format!("k{at}")] = json!({});
                    }
                    put(path, store.to_string());
                },
            },
            Damage { name: "writable by others", does: |path, _| set_mode(path, 0o666) },
            Damage {
                name: "a link",
                does: |path, world| {
                    std::fs::rename(path, world.path("tmp/consent.json")).unwrap();
                    link(path, world.path("tmp/consent.json"));
                },
            },
        ],
        Record::Own => vec![
            Damage {
                name: "a newer version",
                does: |path, _| {
                    let mut state = json_of(path);
                    state["version"] = 99.into();
                    put(path, state.to_string());
                },
            },
            Damage {
                name: "members of other types",
                does: |path, _| {
                    put(path, r#"{"version": 1, "taken": []}"#);
                },
            },
        ],
    }
}

/// The folder of our records in this world.
fn state_folder(world: &World) -> PathBuf {
    let homes = std::fs::read_dir(world.path("home/.local/state/gsd")).unwrap().flatten();
    homes.map(|home| home.path()).find(|home| home.join("writer.lock").exists()).unwrap()
}

/// Everything, our own records too; without what comes and goes with a daemon.
fn all_of(world: &World) -> Tree {
    // Contents that can't be proven any more are told to the audit log.
    let audit = state_folder(world).join("audit");
    let audit = audit.strip_prefix(world.path("")).unwrap().to_string_lossy().into_owned();
    Tree::of(&world.path(""), &["run", "tmp", "bin", "home/.local/state/gsd/logs", &audit])
}

/// What is installed in which scope.
const INSTALLED: [(&str, &str); 2] = [("global", "acme-lint"), ("project", "acme-local")];

/// A world with a capability in each scope, and newer versions of them at their sources.
fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    for (scope, id) in INSTALLED {
        let spec = world.bundle(id).with_refusal().spec();
        let install = ["install", &spec, "--scope", scope, "--runtime", "claude", "--yes"];
        world.gsdctl(install).run().succeeds();
        let _ = world.bundle(id).with("version", "1.1.0".into()).with_refusal();
    }
    let _ = world.bundle("acme-more").with_refusal();
    world
}

fn check(record: Record) {
    let world = world();
    let more = world.path("src/acme-more").display().to_string();
    let file = match record {
        Record::GlobalLedger => world.path("home/.gsd-capabilities.json"),
        Record::ProjectLedger => world.path("proj/.gsd-capabilities.json"),
        Record::Consent => world.path("home/.gsd/consent.json"),
        Record::Own => state_folder(&world).join("state.json"),
    };
    let installed = match record {
        Record::GlobalLedger => &INSTALLED[..1],
        Record::ProjectLedger | Record::Consent => &INSTALLED[1..],
        Record::Own => &INSTALLED[..],
    };
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let good = bytes_of(&file);
    // Root reads everything.
    let unreadable = Damage { name: "unreadable", does: |path, _| set_mode(path, 0) };
    let unreadable = (gsd_proto::private_dir::our_uid() != 0).then_some(unreadable);
    for damage in ANY.into_iter().chain(special(record)).chain(unreadable) {
        (damage.does)(&file, &world);
        let case = format!("{record:?}, {}", damage.name);
        let before = all_of(&world);
        let unchanged = |when: &str| {
            let difference = before.difference(&all_of(&world));
            assert!(difference.is_empty(), "{case}, {when}:\n{difference}");
        };
        for (scope, id) in installed {
            for change in [
                vec!["install", &more, "--scope", scope, "--runtime", "claude", "--yes"],
                vec!["update", id, "--scope", scope, "--yes"],
                vec!["remove", id, "--scope", scope],
            ] {
                let refused = world.gsdctl(change.iter().copied()).run();
                assert!(refused.exit > 0, "{case}, {change:?} was done\n{}", refused.stdout);
                assert!(refused.stderr.contains(&name), "{case}, {change:?}: {}", refused.stderr);
                assert!(refused.stderr.contains("fix:"), "{case}, {change:?}: {}", refused.stderr);
                unchanged(change[0]);
            }
        }
        // Who only looks is answered, and told.
        let listed = world.gsdctl(["list"]).run().succeeds();
        assert!(listed.stderr.contains(&name), "{case}: nobody is told: {}", listed.stderr);
        unchanged("list");
        let consents = world.gsdctl(["consent", "list"]).run().succeeds();
        assert!(consents.stderr.contains(&name), "{case}: nobody is told: {}", consents.stderr);
        unchanged("consent list");
        if matches!(record, Record::Consent | Record::Own) {
            let revoke = world.gsdctl(["consent", "revoke", "acme-local", "--scope", "project"]).run();
            assert!(revoke.exit > 0 && revoke.stderr.contains(&name), "{case}: {}", revoke.stderr);
            unchanged("consent revoke");
        }
        // A host is never bothered: the call passes or the guard answers.
        for scope in ["home", "proj"] {
            let hook = world.gsdctl(["hook", "PreToolUse", "--host", "claude"]).cwd(world.path(scope));
            hook.input(write_of("x")).run().succeeds();
        }
        unchanged("hook");
        if file.is_dir() {
            std::fs::remove_dir(&file).unwrap();
        } else {
            std::fs::remove_file(&file).unwrap();
        }
        put(&file, &good);
        set_mode(&file, if matches!(record, Record::Consent | Record::Own) { 0o600 } else { 0o644 });
    }
    assert_eq!(world.daemons().len(), 1, "it had to be started again");
    // In order again, everything works.
    for (scope, id) in INSTALLED {
        world.gsdctl(["update", id, "--scope", scope, "--yes"]).run().succeeds();
        world.gsdctl(["remove", id, "--scope", scope]).run().succeeds();
    }
}

#[test]
fn t135_t136_a_ledger_of_the_person_that_cannot_be_used() {
    check(Record::GlobalLedger);
}

#[test]
fn t135_t136_a_ledger_of_a_project_that_cannot_be_used() {
    check(Record::ProjectLedger);
}

#[test]
fn t137_a_consent_store_that_cannot_be_used() {
    check(Record::Consent);
}

#[test]
fn t188_records_of_ours_that_cannot_be_used() {
    check(Record::Own);
}

#[test]
fn a_journal_that_cannot_be_read_is_set_aside_and_nothing_is_done_for_it() {
    let world = world();
    let folder = state_folder(&world).join("journal");
    let entry = folder.join("acme-lint.1.json");
    let stray = json!({"umask": 18, "verb": "install", "id": "acme-lint", "roots": [world.home()],
        "steps": [{"step": "remove-file", "path": "/etc/hostname", "before": "", "why": "x"}]});
    let steps: [&dyn Fn(); 6] = [
        &|| put(&entry, ""),
        &|| put(&entry, "{\"umask\":18"),
        &|| put(&entry, stray.to_string()),
        &|| assert!(std::process::Command::new("mkfifo").arg(&entry).status().unwrap().success()),
        &|| std::fs::create_dir(&entry).unwrap(),
        &|| link(&entry, world.path("nowhere")),
    ];
    for step in steps {
        world.gsdctl(["daemon", "stop"]).run().succeeds();
        let before = all_of(&world);
        step();
        world.gsdctl(["list"]).run().succeeds();
        let left = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name());
        let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
        assert!(!left.iter().any(|name| name.ends_with(".json")), "it is looked at for ever: {left:?}");
        let aside = folder.join("acme-lint.1.bad");
        if aside.is_dir() { std::fs::remove_dir(&aside) } else { std::fs::remove_file(&aside) }.unwrap();
        let difference =
            before.without_named("lock.note").difference(&all_of(&world).without_named("lock.note"));
        assert!(difference.is_empty(), "{difference}");
    }
    world.gsdctl(["update", "acme-lint", "--yes"]).run().succeeds();
}
