//! Levels of verification and signatures of publishers: what each source proves, who is believed, and what stops when
//! another one signs, nobody does, or less is known.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gsd_tests::{Bundle, HttpsServer, MinisignKey, Outcome, Reply, World, put, sri, text_of};
use serde_json::{Value, json};

/// A server of files that a test can change.
struct Shelf {
    server: HttpsServer,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Shelf {
    fn of(world: &World) -> Self {
        let files = Arc::<Mutex<BTreeMap<String, Vec<u8>>>>::default();
        let served = Arc::clone(&files);
        let server = HttpsServer::start(&[], move |seen| match served.lock().unwrap().get(&seen.target) {
            Some(bytes) if bytes == b"broken" => Reply::status(500),
            Some(bytes) => Reply::ok(bytes.clone()),
            None => Reply::status(404),
        });
        server.listed_in(world);
        Self { server, files }
    }

    fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(path.to_owned(), bytes.into());
    }

    fn drop(&self, path: &str) {
        self.files.lock().unwrap().remove(path);
    }

    /// Publishes a version at `/acme-lint.tgz`, signed by `key` if there is one.
    fn publish(&self, bundle: &Bundle, key: Option<&MinisignKey>) -> Vec<u8> {
        let archive = bundle.packed("");
        self.put("/acme-lint.tgz", archive.clone());
        match key {
            Some(key) => {
                self.put("/acme-lint.tgz.minisig", key.sign(&archive, "timestamp:1\tfile:acme-lint.tgz"));
            }
            None => self.drop("/acme-lint.tgz.minisig"),
        }
        archive
    }

    fn url(&self) -> String {
        self.server.url("/acme-lint.tgz")
    }

    fn run(&self, world: &World, args: &[&str]) -> Outcome {
        self.server.trusted_by(world, world.gsdctl(args.iter().copied())).run()
    }

    fn install(&self, world: &World) -> Outcome {
        self.run(world, &["install", &self.url(), "--yes"])
    }
}

fn lint(world: &World, version: &str) -> Bundle {
    world.bundle("acme-lint").with("version", version.into()).with_refusal()
}

fn know(world: &World, name: &str, key: &MinisignKey) {
    world.gsdctl(["config", "set", &format!("publishers.{name}"), &key.public()]).run().succeeds();
}

fn row(world: &World) -> Value {
    let listed = world.gsdctl(["list", "--json"]).run().succeeds().json();
    listed["data"].as_array().unwrap().iter().find(|row| row["id"] == "acme-lint").unwrap().clone()
}

#[track_caller]
fn is_at(world: &World, version: &str, level: &str) {
    let row = row(world);
    assert_eq!((&row["version"], &row["level"]), (&json!(version), &json!(level)), "{row}");
}

fn state_file(world: &World) -> std::path::PathBuf {
    let homes = std::fs::read_dir(world.path("home/.local/state/gsd")).unwrap().flatten();
    homes.map(|home| home.path().join("state.json")).find(|path| path.exists()).unwrap()
}

#[test]
fn a_signed_archive_of_a_known_publisher_has_the_level_signature_everywhere() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    know(&world, "acme", &key);
    let inspected = shelf.run(&world, &["inspect", &shelf.url(), "--json"]).succeeds().json();
    assert_eq!(inspected["data"]["level"], "signature");
    assert_eq!(inspected["data"]["signer"]["name"], "acme");
    let planned = shelf.run(&world, &["install", &shelf.url(), "--dry-run", "--json"]).succeeds().json();
    assert_eq!((&planned["data"]["level"], &planned["data"]["stops"]), (&json!("signature"), &json!([])));
    shelf
        .install(&world)
        .succeeds()
        .says("Where it comes from: a publisher whose key is known signed these bytes (signature)")
        .says(&format!("signed by acme, {} (key id {})", key.public(), key.key_id()))
        .says("signed comment: timestamp:1");
    is_at(&world, "1.0.0", "signature");
    world.gsdctl(["list"]).run().succeeds().prints("signature");
    let consents = world.gsdctl(["consent", "list", "--json"]).run().succeeds().json();
    let consent = &consents["data"][0];
    assert_eq!((&consent["level"], &consent["signer"]["key"]), (&json!("signature"), &json!(key.public())));
    let installed = world.gsdctl(["inspect", "acme-lint", "--json"]).run().succeeds().json();
    assert_eq!(installed["data"]["level"], "signature");
    // Other bytes in its place are not what was signed.
    put(world.path("home/.gsd/capabilities/acme-lint/more.md"), "x");
    let installed = world.gsdctl(["inspect", "acme-lint", "--json"]).run().succeeds().json();
    assert_eq!((&installed["data"]["level"], &installed["data"]["signer"]), (&json!("none"), &Value::Null));
    let changed = row(&world);
    assert_eq!((&changed["status"], &changed["level"]), (&json!("changed"), &json!("none")));
    // To agree to what lies there is to accept that nobody signed it.
    let granted = world.gsdctl(["consent", "grant", "acme-lint", "--yes", "--json"]).run().exits(5).json();
    assert_eq!(granted["error"]["code"], "signature.missing", "{granted}");
}

#[test]
fn t74_a_signature_that_does_not_fit_refuses_and_is_never_the_same_as_none() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    let mut archive = shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    know(&world, "acme", &key);
    let before = world.tree();
    // One byte more behind the signed ones is another archive.
    archive.push(0);
    shelf.put("/acme-lint.tgz", archive.clone());
    shelf.install(&world).exits(5).says("can't be relied on");
    let refused = |shelf: &Shelf| {
        let outcome = shelf.run(&world, &["install", &shelf.url(), "--yes", "--json"]).exits(5).json();
        assert_eq!(outcome["error"]["code"], "signature.invalid", "{outcome}");
        world.is_as(&before, "refused");
        outcome["error"].to_string()
    };
    archive.pop();
    shelf.put("/acme-lint.tgz", archive.clone());
    let good = key.sign(&archive, "timestamp:1");
    shelf.put("/acme-lint.tgz.minisig", good.replace("timestamp:1", "timestamp:2"));
    refused(&shelf);
    shelf.put("/acme-lint.tgz.minisig", "untrusted comment: cut off\n");
    refused(&shelf);
    // Somebody else, with a key id of their own, and with a stolen one.
    shelf.put("/acme-lint.tgz.minisig", MinisignKey::new().sign(&archive, ""));
    let error = refused(&shelf);
    assert!(error.contains("which is not known here") && error.contains("publishers.NAME"), "{error}");
    shelf.put("/acme-lint.tgz.minisig", key.impostor().sign(&archive, ""));
    refused(&shelf);
    // A key file beside it does not take the place of a key that is known.
    let impostor = key.impostor();
    shelf.put("/acme-lint.tgz.minisig", impostor.sign(&archive, ""));
    shelf.put("/minisign.pub", impostor.public_file());
    refused(&shelf);
    shelf.put("/acme-lint.tgz.minisig", good);
    shelf.install(&world).succeeds();
    is_at(&world, "1.0.0", "signature");
}

#[test]
fn t161_a_key_that_comes_along_is_shown_binds_and_counts_from_the_second_time_on() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    shelf.put("/minisign.pub", key.public_file());
    shelf
        .install(&world)
        .succeeds()
        .says("(transport)")
        .says(&format!("signed by {} (key id {})", key.public(), key.key_id()))
        .says("first seen now");
    is_at(&world, "1.0.0", "transport");
    // Seeing the same bytes twice makes nobody known.
    shelf.run(&world, &["update", "acme-lint", "--yes"]).succeeds().prints("current");
    is_at(&world, "1.0.0", "transport");
    shelf.publish(&lint(&world, "1.1.0"), Some(&key));
    // From now on the recorded key counts, and not what lies beside the archive.
    shelf.put("/minisign.pub", MinisignKey::new().public_file());
    shelf
        .run(&world, &["update", "acme-lint", "--yes"])
        .succeeds()
        .says("the same key as for what you agreed to");
    is_at(&world, "1.1.0", "signature");
}

#[test]
fn t148_t161_another_signer_stops_an_update_until_that_very_key_is_accepted() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let (key, thief) = (MinisignKey::new(), MinisignKey::new());
    know(&world, "acme", &key);
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    shelf.install(&world).succeeds();
    shelf.publish(&lint(&world, "1.1.0"), Some(&thief));
    shelf.put("/minisign.pub", thief.public_file());
    let before = world.tree();
    let code = |outcome: &Outcome| outcome.json()["error"]["code"].clone();
    let stopped = shelf.run(&world, &["update", "acme-lint", "--yes", "--json"]).exits(5);
    assert_eq!(code(&stopped), "signature.identity_changed");
    // An agreement to what runs is none to who signed it, in an update or an install over it.
    let planned = shelf.run(&world, &["update", "acme-lint", "--dry-run", "--json"]).succeeds();
    let stops = planned.json()["data"]["stops"].clone();
    assert_eq!(stops[0]["accept"], json!(["--accept-signer", thief.public()]), "{stops}");
    assert_eq!(stops.as_array().unwrap().len(), 1, "{stops}");
    let digest = planned.stderr.split("digest").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    for what in [["update", "acme-lint"], ["install", &shelf.url()]] {
        let agreed = [what.as_slice(), &["--consent", &digest, "--json"]].concat();
        assert_eq!(code(&shelf.run(&world, &agreed).exits(5)), "signature.identity_changed");
    }
    for other in [key.public().as_str(), "unsigned", "yes"] {
        let args = ["update", "acme-lint", "--yes", "--json", "--accept-signer", other];
        assert_eq!(code(&shelf.run(&world, &args).exits(5)), "signature.identity_changed");
    }
    let all = shelf.run(&world, &["update", "--all", "--yes", "--json"]).exits(12).json();
    let item = &all["data"]["items"][0];
    assert_eq!(item["error"]["code"], "signature.identity_changed", "{all}");
    world.is_as(&before, "stopped");
    // The command that is offered proceeds, with everything in it.
    let offered = shelf.run(&world, &["update", "acme-lint"]).exits(5);
    assert!(
        offered.stderr.contains(&format!("--accept-signer {} --consent {digest}", thief.public())),
        "{}",
        offered.stderr
    );
    let args = ["update", "acme-lint", "--accept-signer", &thief.public(), "--consent", &digest];
    shelf.run(&world, &args).succeeds();
    is_at(&world, "1.1.0", "transport");
    // Going back to what was agreed to is nothing to accept.
    world.gsdctl(["rollback", "acme-lint", "--yes"]).run().succeeds();
    is_at(&world, "1.0.0", "signature");
}

#[test]
fn t148_signed_before_and_unsigned_now_stops() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    know(&world, "acme", &key);
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    shelf.install(&world).succeeds();
    let bundle = lint(&world, "1.1.0");
    shelf.publish(&bundle, None);
    let stopped = shelf.run(&world, &["update", "acme-lint", "--yes", "--json"]).exits(5).json();
    assert_eq!(stopped["error"]["code"], "signature.missing", "{stopped}");
    // A page in its place, and a server that fails, are told and are no signature either.
    shelf.put("/acme-lint.tgz.minisig", "<html>not here</html>");
    shelf
        .run(&world, &["update", "acme-lint", "--yes"])
        .exits(5)
        .says("is no signature; it counts as unsigned");
    shelf.put("/acme-lint.tgz.minisig", "broken");
    shelf.run(&world, &["update", "acme-lint", "--yes"]).exits(5).says("could not be found out (status 500)");
    // Somebody else's copy under the same id is no way around it.
    let stopped = shelf.run(&world, &["install", &bundle.spec(), "--yes", "--json"]).exits(5).json();
    assert_eq!(stopped["error"]["code"], "signature.missing", "{stopped}");
    is_at(&world, "1.0.0", "signature");
    shelf.drop("/acme-lint.tgz.minisig");
    shelf.run(&world, &["update", "acme-lint", "--yes", "--accept-signer", "unsigned"]).succeeds();
    is_at(&world, "1.1.0", "transport");
}

#[test]
fn t74_a_drop_of_the_level_stops_and_each_source_has_its_own() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let archive = shelf.publish(&lint(&world, "1.0.0"), None);
    let url = shelf.url();
    shelf.run(&world, &["install", &url, "--yes", "--integrity", &sri(&archive)]).succeeds();
    is_at(&world, "1.0.0", "pin");
    let folder = lint(&world, "1.1.0");
    let stopped = shelf.run(&world, &["install", &folder.spec(), "--yes", "--json"]).exits(5).json();
    assert_eq!(stopped["error"]["code"], "signature.downgrade", "{stopped}");
    assert!(stopped["error"].to_string().contains(r#""--accept-level","none""#), "{stopped}");
    for wrong in ["pin", "transport", "yes"] {
        let args = ["install", &folder.spec(), "--yes", "--accept-level", wrong];
        shelf.run(&world, &args).exits(5);
    }
    is_at(&world, "1.0.0", "pin");
    shelf.run(&world, &["install", &folder.spec(), "--yes", "--accept-level", "none"]).succeeds();
    is_at(&world, "1.1.0", "none");
    // More is no question.
    shelf.publish(&lint(&world, "1.2.0"), None);
    shelf.install(&world).succeeds();
    is_at(&world, "1.2.0", "transport");
}

#[test]
fn at_a_terminal_each_stop_is_a_question_of_its_own_and_the_default_is_no() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let archive = shelf.publish(&lint(&world, "1.0.0"), None);
    shelf.run(&world, &["install", &shelf.url(), "--yes", "--integrity", &sri(&archive)]).succeeds();
    let folder = lint(&world, "1.1.0").spec();
    let before = world.tree();
    for answer in ["<enter>", "no<enter>", "<end>", "yes<enter><enter>", "y<enter>yes<enter>"] {
        let asked = world.at_terminal(answer, ["install", &folder]).exits(13);
        assert!(asked.stdout.contains("This is not about what it runs."), "{}", asked.stdout);
        world.is_as(&before, answer);
    }
    world.at_terminal("yes<enter>yes<enter>", ["install", &folder]).exits(0);
    is_at(&world, "1.1.0", "none");
}

#[test]
fn a_signed_comment_is_provenance_when_the_manifest_agrees() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    know(&world, "acme", &key);
    let commit = "2f1c9e0c1f0f5b8d8a3d9b7d6c5b4a3928171605";
    let provenance = json!({"sourceRepo": "https://forge.example/acme/lint", "commit": commit});
    let archive = shelf.publish(&lint(&world, "1.0.0").with("provenance", provenance.clone()), Some(&key));
    // The manifest alone raises nothing.
    shelf.install(&world).succeeds();
    is_at(&world, "1.0.0", "signature");
    let says = |repository: &str| format!("timestamp:1 repository:{repository} commit:{commit}");
    shelf.put("/acme-lint.tgz.minisig", key.sign(&archive, &says("https://forge.example/acme/other")));
    shelf.install(&world).succeeds().says("the signature names the commit");
    is_at(&world, "1.0.0", "signature");
    shelf.put("/acme-lint.tgz.minisig", key.sign(&archive, &says("https://forge.example/acme/lint.git")));
    shelf.install(&world).succeeds();
    is_at(&world, "1.0.0", "provenance");
    shelf.publish(&lint(&world, "1.1.0").with("provenance", provenance), Some(&key));
    let stopped = shelf.run(&world, &["update", "acme-lint", "--yes", "--json"]).exits(5).json();
    assert_eq!(stopped["error"]["code"], "signature.downgrade", "{stopped}");
}

#[test]
fn folders_and_repositories_are_signed_by_the_hash_of_their_content() {
    let world = World::new();
    let key = MinisignKey::new();
    know(&world, "acme", &key);
    let repository = world.repository("caps.git");
    let folder = repository.folder().join("sets/acme-lint");
    drop(Bundle::at(&folder, "acme-lint").with_refusal());
    let line = world.gsdctl(["hash", &folder.display().to_string()]).run().succeeds().stdout;
    let signature = repository.folder().join("sets/acme-lint.minisig");
    put(&signature, key.sign(line.as_bytes(), ""));
    let local = folder.display().to_string();
    world.gsdctl(["install", &local, "--yes"]).run().succeeds();
    is_at(&world, "1.0.0", "signature");
    // It lies beside the content and is no part of it.
    assert!(!world.path("home/.gsd/capabilities/acme-lint.minisig").exists());
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    let commit = repository.commit();
    let source = "https://forge.example/caps.git//sets/acme-lint";
    world.gsdctl(["install", source, "--yes"]).run().succeeds();
    is_at(&world, "1.0.0", "signature");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    put(folder.join("more.md"), "not signed");
    repository.commit();
    for changed in [local.as_str(), source] {
        let refused = world.gsdctl(["install", changed, "--yes", "--json"]).run().exits(5).json();
        assert_eq!(refused["error"]["code"], "signature.invalid", "{refused}");
    }
    // What is followed while it changes can't be signed.
    world.gsdctl(["install", &local, "--link", "--yes"]).run().succeeds();
    is_at(&world, "1.0.0", "none");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    std::fs::remove_file(&signature).unwrap();
    repository.commit();
    for (source, level) in [
        ("https://forge.example/caps.git//sets/acme-lint".to_owned(), "transport"),
        (format!("https://forge.example/caps.git//sets/acme-lint#sha:{commit}"), "signature"),
    ] {
        world.gsdctl(["install", &source, "--yes"]).run().succeeds();
        is_at(&world, "1.0.0", level);
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    }
}

#[test]
fn t77_the_key_of_a_registry_is_the_only_one_that_will_do() {
    let world = World::new();
    let key = MinisignKey::new();
    let bundle = lint(&world, "1.0.0");
    let archive = bundle.packed("");
    let hash = world.gsdctl(["hash", &bundle.spec()]).run().succeeds().stdout;
    let index = world.path("index");
    put(index.join("config.json"), "{\"format\": 1}");
    put(index.join("archives/acme-lint.tgz"), &archive);
    let publish = |signer: &MinisignKey, named: Option<&MinisignKey>| {
        let mut entry = json!({
            "format": 1, "name": "acme-lint", "publisher": {"name": "Acme"},
            "versions": [{
                "version": "1.0.0", "archive": "archives/acme-lint.tgz", "integrity": sri(&archive),
                "contentHash": hash.trim(), "signature": signer.sign(&archive, ""),
            }],
        });
        if let Some(named) = named {
            entry["publisher"]["key"] = json!(named.public());
        }
        put(index.join("entries/05/acme-lint.json"), entry.to_string());
    };
    world.gsdctl(["config", "set", "registries.corp", &index.display().to_string()]).run().succeeds();
    let install = || world.gsdctl(["install", "acme-lint@corp", "--yes", "--json"]).run();
    let refused = || assert_eq!(install().exits(5).json()["error"]["code"], "signature.invalid");
    publish(&key.impostor(), Some(&key));
    refused();
    // A key that the person knows is none that the registry names.
    let mine = MinisignKey::new();
    know(&world, "mine", &mine);
    publish(&mine, Some(&key));
    refused();
    publish(&key, None);
    refused();
    publish(&key, Some(&key));
    install().succeeds();
    is_at(&world, "1.0.0", "signature");
    let resolved = world.gsdctl(["source", "resolve", "acme-lint@corp", "--json"]).run().succeeds().json();
    assert_eq!(resolved["data"]["publisher_key"], json!(key.public()));
}

#[test]
fn t161_an_update_by_itself_never_passes_a_stop() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("proj/.planning/config.json"), r#"{"capabilities": {"auto_update": true}}"#);
    let shelf = Shelf::of(&world);
    let (key, thief) = (MinisignKey::new(), MinisignKey::new());
    know(&world, "acme", &key);
    know(&world, "thief", &thief);
    // Nothing to agree to in it: only the signer is in the way.
    let quiet = |version: &str| world.bundle("acme-lint").with("version", version.into());
    shelf.publish(&quiet("1.0.0"), Some(&key));
    let run = |args: &[&str]| shelf.run(&world, args);
    run(&["install", &shelf.url(), "--scope", "project", "--yes"]).succeeds();
    shelf.publish(&quiet("1.1.0"), Some(&thief));
    let waits = run(&["update", "acme-lint", "--auto", "--json"]).exits(3).json();
    assert_eq!(waits["error"]["code"], "update.waits", "{waits}");
    assert!(waits["error"]["message"].as_str().unwrap().contains("thief"), "{waits}");
    shelf.publish(&quiet("1.1.0"), Some(&key));
    run(&["update", "acme-lint", "--auto"]).succeeds();
    is_at(&world, "1.1.0", "signature");
}

#[test]
fn t86_a_tag_that_was_moved_is_told_and_waits_for_a_person() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("proj/.planning/config.json"), r#"{"capabilities": {"auto_update": true}}"#);
    let repository = world.repository("caps.git");
    let folder = repository.folder().join("acme-lint");
    let at = |version: &str| drop(Bundle::at(&folder, "acme-lint").with("version", version.into()));
    at("1.0.0");
    repository.commit();
    repository.git(&["tag", "v1"]);
    let source = "https://forge.example/caps.git//acme-lint#v1";
    world.gsdctl(["install", source, "--scope", "project", "--yes"]).run().succeeds();
    world.gsdctl(["update", "acme-lint", "--auto"]).run().succeeds();
    at("1.0.1");
    repository.commit();
    repository.git(&["tag", "-f", "v1"]);
    let waits = world.gsdctl(["update", "acme-lint", "--auto"]).run().exits(3);
    waits.says("its tag was moved to another commit");
    world.gsdctl(["update", "acme-lint"]).run().succeeds().says("the tag v1 names another commit");
    is_at(&world, "1.0.1", "transport");
}

#[test]
fn a_key_that_was_agreed_to_in_a_project_is_none_for_the_home() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    shelf.put("/minisign.pub", key.public_file());
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    shelf.run(&world, &["install", &shelf.url(), "--scope", "project", "--yes"]).succeeds();
    shelf.publish(&lint(&world, "1.1.0"), Some(&key));
    shelf
        .run(&world, &["update", "acme-lint", "--scope", "project", "--yes"])
        .succeeds()
        .says("the same key as");
    shelf.install(&world).succeeds().says("first seen now");
}

#[test]
fn t147_an_older_archive_of_the_same_signer_is_still_older() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let key = MinisignKey::new();
    know(&world, "acme", &key);
    shelf.publish(&lint(&world, "1.1.0"), Some(&key));
    shelf.install(&world).succeeds();
    // A signature says who, and not that it is the newest.
    shelf.publish(&lint(&world, "1.0.0"), Some(&key));
    let refused = shelf.run(&world, &["update", "acme-lint", "--yes", "--json"]).exits(8).json();
    assert_eq!(refused["error"]["code"], "update.downgrade", "{refused}");
    shelf.run(&world, &["update", "acme-lint", "--yes", "--allow-downgrade"]).succeeds();
    is_at(&world, "1.0.0", "signature");
}

#[test]
fn records_of_before_there_were_levels_are_read_and_get_one() {
    let world = World::new();
    let shelf = Shelf::of(&world);
    let archive = shelf.publish(&lint(&world, "1.0.0"), None);
    shelf.run(&world, &["install", &shelf.url(), "--yes", "--integrity", &sri(&archive)]).succeeds();
    world.gsdctl(["daemon", "stop"]).run().succeeds();
    let file = state_file(&world);
    let mut state: Value = serde_json::from_str(&text_of(&file)).unwrap();
    for taken in state["taken"].as_object_mut().unwrap().values_mut() {
        let from = taken["from"].as_object_mut().unwrap();
        assert_eq!(from.remove("carried"), Some(json!("pin")));
        from.insert("later".to_owned(), json!(1));
    }
    put(&file, state.to_string());
    is_at(&world, "1.0.0", "pin");
    shelf.run(&world, &["update", "acme-lint", "--yes"]).succeeds().prints("current");
    let state = text_of(&file);
    assert!(state.contains("later"), "{state}");
}
