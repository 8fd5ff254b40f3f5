//! Packages of npm registries: a registry on loopback that a test fills, without npm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gsd_tests::{Bundle, HttpsServer, Outcome, Reply, Seen, World, put, sri, text_of};
use serde_json::{Value, json};

/// What a registry holds: packuments by name, archives by path.
#[derive(Default)]
struct Shelf {
    packuments: BTreeMap<String, Value>,
    archives: BTreeMap<String, Vec<u8>>,
    token: Option<String>,
}

struct Registry {
    server: HttpsServer,
    shelf: Arc<Mutex<Shelf>>,
}

impl Registry {
    /// A registry that `~/.npmrc` names as the default one.
    fn of(world: &World) -> Self {
        let shelf = Arc::<Mutex<Shelf>>::default();
        let served = Arc::clone(&shelf);
        let server = HttpsServer::start(&[], move |seen| answer(&served.lock().unwrap(), seen));
        server.listed_in(world);
        let registry = Self { server, shelf };
        registry.npmrc(world, "");
        registry
    }

    fn npmrc(&self, world: &World, more: &str) {
        put(world.path("home/.npmrc"), format!("registry={}\n{more}", self.server.url("/")));
    }

    /// Publishes a version and makes it the latest; `dist` replaces members of its description.
    fn publish(&self, name: &str, version: &str, archive: Vec<u8>, more: &Value) {
        let path = format!("/{name}/-/{version}.tgz");
        let mut release = json!({
            "name": name, "version": version,
            "dist": {"tarball": self.server.url(&path), "integrity": sri(&archive)},
        });
        merge(&mut release, more);
        let mut shelf = self.shelf.lock().unwrap();
        shelf.archives.insert(path, archive);
        let packument = shelf
            .packuments
            .entry(name.to_owned())
            .or_insert_with(|| json!({"name": name, "dist-tags": {}, "versions": {}}));
        packument["dist-tags"]["latest"] = json!(version);
        packument["versions"][version] = release;
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Value)) {
        change(self.shelf.lock().unwrap().packuments.get_mut(name).unwrap());
    }

    fn run(&self, world: &World, args: &[&str]) -> Outcome {
        self.server.trusted_by(world, world.gsdctl(args.iter().copied())).run()
    }

    fn install(&self, world: &World, spec: &str) -> Outcome {
        self.run(world, &["install", spec, "--yes"])
    }
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().unwrap() {
        match (into.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(_)) => merge(inner, value),
            _ => into[key] = value.clone(),
        }
    }
}

fn answer(shelf: &Shelf, seen: &Seen) -> Reply {
    let wanted = shelf.token.as_ref().map(|token| format!("Bearer {token}"));
    if wanted.is_some() && seen.header("authorization") != wanted.as_deref() {
        return Reply::status(401);
    }
    let name = seen.target.trim_start_matches('/').replace("%2f", "/");
    match (shelf.packuments.get(&name), shelf.archives.get(&seen.target)) {
        (Some(packument), _) => Reply::ok(packument.to_string()),
        (None, Some(archive)) => Reply::ok(archive.clone()),
        (None, None) => Reply::status(404),
    }
}

fn lint(world: &World, version: &str) -> Bundle {
    world.bundle("acme-lint").with("version", json!(version)).with_refusal()
}

fn packed(world: &World, version: &str) -> Vec<u8> {
    lint(world, version).with_file("package.json", "{}").packed("package/")
}

fn entry(world: &World) -> Value {
    let ledger: Value = serde_json::from_str(&text_of(world.path("home/.gsd-capabilities.json"))).unwrap();
    ledger["entries"]["acme-lint"].clone()
}

#[test]
fn a_package_is_installed_updated_and_goes_without_a_trace() {
    let world = World::new();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    let registry = Registry::of(&world);
    let (archive, next) = (packed(&world, "1.0.0"), packed(&world, "1.1.0"));
    let before = world.tree();
    let attested = json!({"dist": {"attestations": {"url": "https://registry.example/attestations/1"}}});
    registry.publish("@acme/lint", "1.0.0", archive.clone(), &attested);
    registry.install(&world, "npm:@acme/lint@^1").succeeds().says(&sri(&archive));
    // An attestation is recorded and not verified, so it is worth nothing.
    assert_eq!(crate::level_of(&world, "acme-lint"), "digest");
    assert_eq!(
        (&entry(&world)["source"], &entry(&world)["integrity"]),
        (&json!("npm:@acme/lint@^1"), &json!(sri(&archive)))
    );
    let states = std::fs::read_dir(world.path("home/.local/state/gsd")).unwrap().flatten();
    let state = states.map(|entry| entry.path().join("state.json")).find(|file| file.exists()).unwrap();
    let state = text_of(state);
    assert!(state.contains("attestations/1") && state.contains("\"version\": \"1.0.0\""), "{state}");
    let outdated = || registry.run(&world, &["outdated", "--json"]).succeeds().json()["data"][0].clone();
    assert_eq!((&outdated()["status"], &outdated()["latest"]), (&json!("current"), &json!("1.0.0")));
    registry.publish("@acme/lint", "1.1.0", next, &json!({}));
    assert_eq!((&outdated()["status"], &outdated()["latest"]), (&json!("outdated"), &json!("1.1.0")));
    registry.run(&world, &["outdated", "--exit-code"]).exits(11).prints("outdated");
    registry.run(&world, &["update", "acme-lint", "--yes"]).succeeds().prints("acme-lint 1.1.0");
    assert_eq!(entry(&world)["source"], "npm:@acme/lint@^1", "the wish stays what it was");
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    world.is_as(&before, "removed");
}

#[test]
fn t161_a_version_that_lost_its_attestation_waits_for_a_person() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    put(world.path("proj/.planning/config.json"), r#"{"capabilities": {"auto_update": true}}"#);
    let registry = Registry::of(&world);
    let quiet = |version: &str| world.bundle("acme-lint").with("version", version.into()).packed("package/");
    let attested = json!({"dist": {"attestations": {"url": "https://registry.example/attestations/1"}}});
    registry.publish("lint", "1.0.0", quiet("1.0.0"), &attested);
    registry.run(&world, &["install", "npm:lint", "--scope", "project", "--yes"]).succeeds();
    registry.publish("lint", "1.1.0", quiet("1.1.0"), &json!({}));
    let auto = || registry.run(&world, &["update", "acme-lint", "--auto"]);
    auto().exits(3).says("offered an attestation for the installed one, and offers none for it");
    registry.publish("lint", "1.2.0", quiet("1.2.0"), &attested);
    auto().succeeds().prints("acme-lint 1.2.0");
}

#[test]
fn t75_the_published_digest_is_compared_before_anything_is_unpacked() {
    let world = World::new();
    let registry = Registry::of(&world);
    registry.publish("lint", "1.0.0", packed(&world, "1.0.0"), &json!({}));
    let before = world.tree();
    // It would be refused for its content, if anybody looked at it.
    registry.shelf.lock().unwrap().archives.insert("/lint/-/1.0.0.tgz".to_owned(), b"no archive".to_vec());
    registry.install(&world, "npm:lint").exits(5).says("is not the published one").says(&sri(b"no archive"));
    for (integrity, why) in [
        (Value::Null, "sha1 at most"),
        (json!("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="), "sha1 at most"),
        (json!("sha512-short"), "malformed"),
    ] {
        registry.change("lint", |packument| packument["versions"]["1.0.0"]["dist"]["integrity"] = integrity);
        registry.install(&world, "npm:lint").exits(5).says(why);
    }
    world.is_as(&before, "refused");
    let archive = packed(&world, "1.0.0");
    registry.shelf.lock().unwrap().archives.insert("/lint/-/1.0.0.tgz".to_owned(), archive.clone());
    let weaker = {
        use base64::Engine as _;
        use sha2::Digest as _;
        format!("sha384-{}", base64::engine::general_purpose::STANDARD.encode(sha2::Sha384::digest(&archive)))
    };
    registry.change("lint", |packument| packument["versions"]["1.0.0"]["dist"]["integrity"] = json!(weaker));
    registry.install(&world, "npm:lint").succeeds();
    assert_eq!(entry(&world)["integrity"], sri(&archive), "recorded in the one form that ledgers have");
}

#[test]
fn the_authority_in_the_persons_npmrc_is_trusted_for_their_registry() {
    let world = World::new();
    let registry = Registry::of(&world);
    registry.publish("lint", "1.0.0", packed(&world, "1.0.0"), &json!({}));
    let install = || world.gsdctl(["install", "npm:lint", "--yes"]).run();
    install().exits(9).says("certificate");
    registry.npmrc(&world, &format!("cafile={}\n", world.path("authority.pem").display()));
    install().succeeds();
    registry.npmrc(&world, "cafile=/nowhere.pem\n");
    install().exits(2).says("the file that cafile of your .npmrc names");
}

#[test]
fn t94_scripts_of_a_package_are_told_and_never_run() {
    let world = World::new();
    let registry = Registry::of(&world);
    let marker = world.path("tmp/ran");
    let scripts = json!({"scripts": {"preinstall": format!("touch {0}", marker.display()), "postinstall": format!("touch {0}", marker.display())}});
    let archive = lint(&world, "1.0.0").with_file("package.json", &scripts.to_string()).packed("package/");
    registry.publish("lint", "1.0.0", archive, &json!({"hasInstallScript": true, "deprecated": "use other"}));
    let told = registry.install(&world, "npm:lint").succeeds();
    told.says("lint@1.0.0 has install scripts for npm; they are not run")
        .says("is deprecated by its publisher: use other");
    assert!(!marker.exists());
}

#[test]
fn t98_dependencies_are_told_and_not_installed() {
    let world = World::new();
    let registry = Registry::of(&world);
    let needs = json!({"dependencies": {"left-pad": "^1", "other": "2"}});
    registry.publish("lint", "1.0.0", packed(&world, "1.0.0"), &needs);
    let told = registry.install(&world, "npm:lint").succeeds();
    told.says("depends on 2 other packages, which are not installed");
    let asked: Vec<String> = registry.server.seen().into_iter().map(|seen| seen.target).collect();
    assert!(asked.iter().all(|target| target.starts_with("/lint")), "{asked:?}");
}

#[test]
fn t65_a_token_goes_to_its_own_registry_and_nowhere_else() {
    let world = World::new();
    let registry = Registry::of(&world);
    let elsewhere = HttpsServer::start(&[], {
        let archive = packed(&world, "1.0.0");
        move |_| Reply::ok(archive.clone())
    });
    let port = registry.server.port();
    put(
        world.path("home/.config/gsd/policy.toml"),
        format!("[network]\nprivate_hosts = [\"localhost:{port}\", \"localhost:{}\"]\n", elsewhere.port()),
    );
    let both = format!("{}{}", authority(&world, &registry.server), authority(&world, &elsewhere));
    put(world.path("authority.pem"), both);
    registry.npmrc(&world, &format!("//localhost:{port}/:_authToken=${{NPM_TOKEN}}\n"));
    registry.shelf.lock().unwrap().token = Some("s3cret".to_owned());
    let away = json!({"dist": {"tarball": elsewhere.url("/lint.tgz")}});
    registry.publish("lint", "1.0.0", packed(&world, "1.0.0"), &away);
    let run = |token: &str| {
        let run = world.gsdctl(["install", "npm:lint", "--yes"]);
        registry.server.trusted_by(&world, run).env("NPM_TOKEN", token).run()
    };
    run("wrong").exits(9).says("wants authentication for lint").says(":_authToken=");
    let told = run("s3cret").succeeds();
    assert!(registry.server.seen().iter().any(|seen| seen.header("authorization") == Some("Bearer s3cret")));
    assert!(!elsewhere.seen().is_empty());
    assert!(elsewhere.seen().iter().all(|seen| seen.header("authorization").is_none()));
    // Nor is it told, or kept.
    assert!(!told.stderr.contains("s3cret") && !told.stdout.contains("s3cret"));
    let mut folders = vec![world.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let bytes = gsd_tests::bytes_of(entry.path());
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("s3cret"), "{}", entry.path().display());
            }
        }
    }
}

fn authority(world: &World, server: &HttpsServer) -> String {
    let file = world.path("tmp/authority.pem");
    server.write_authority(&file);
    text_of(file)
}

#[test]
fn t97_a_project_moves_no_package_to_another_registry() {
    let world = World::new();
    let registry = Registry::of(&world);
    registry.publish("@acme/lint", "1.0.0", packed(&world, "1.0.0"), &json!({}));
    let evil = HttpsServer::start(&[], |_| Reply::status(500));
    let port = registry.server.port();
    registry.npmrc(&world, &format!("//localhost:{port}/:_authToken=s3cret\n"));
    let project = format!(
        "@acme:registry={0}\nregistry={0}\n//localhost:{1}/:_authToken=${{NPM_TOKEN}}\ncafile=./evil.pem\n",
        evil.url("/"),
        evil.port()
    );
    put(world.path("proj/.npmrc"), project);
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    let told = registry.run(&world, &["install", "npm:@acme/lint", "--scope", "project", "--yes"]).succeeds();
    told.says("your own .npmrc says").says("cafile of the project's .npmrc is not used");
    assert!(evil.seen().is_empty());
}

#[test]
fn versions_are_chosen_in_the_open() {
    let world = World::new();
    let registry = Registry::of(&world);
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        registry.publish("lint", version, packed(&world, version), &json!({}));
    }
    let newer = json!({"engines": {"gsd": ">=99"}});
    registry.publish("lint", "2.0.0", packed(&world, "2.0.0"), &newer);
    registry.change("lint", |packument| packument["versions"]["1.2.0"]["deprecated"] = json!("broken"));
    let before = world.tree();
    let resolved = registry.run(&world, &["source", "resolve", "npm:lint", "--json"]).succeeds().json();
    let data = &resolved["data"];
    assert_eq!(
        (&data["taken"]["version"], &data["taken"]["exact"]),
        (&json!("1.1.0"), &json!("npm:lint@1.1.0"))
    );
    let verdicts: Vec<&str> =
        data["considered"].as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["needs-gsd", "deprecated", "taken", "lower"]);
    registry
        .run(&world, &["source", "resolve", "npm:lint"])
        .succeeds()
        .prints("2.0.0            needs GSD >=99");
    registry.run(&world, &["source", "resolve", "npm:lint@^3"]).exits(7).prints("none of them");
    world.is_as(&before, "only resolved");
    registry
        .install(&world, "npm:lint")
        .succeeds()
        .says("lint 2.0.0 needs GSD >=99")
        .prints("acme-lint 1.1.0");
    registry.install(&world, "npm:lint@^3").exits(7).says("the newest ones are 2.0.0");
    registry.install(&world, "npm:lint@2.0.0").succeeds();
    registry.install(&world, "npm:nothing").exits(7).says("has no package nothing");
}

#[test]
fn the_version_that_its_author_names_for_this_level_is_taken() {
    let world = World::new();
    let registry = Registry::of(&world);
    let old = lint(&world, "1.4.0").packed("package/");
    registry.publish("lint", "1.4.0", old, &json!({}));
    let new = lint(&world, "2.0.0")
        .with("engines", json!({"gsd": ">=99.0.0"}))
        .with("compatVersions", json!({"1.4.0": ">=1.6.0", "1.0.0": ">=1.0.0"}))
        .packed("package/");
    registry.publish("lint", "2.0.0", new, &json!({}));
    let told = registry.install(&world, "npm:lint").succeeds().prints("acme-lint 1.4.0");
    told.says("acme-lint 2.0.0 needs GSD >=99.0.0").says("1.4.0 is taken instead");
    assert_eq!((&entry(&world)["source"], &entry(&world)["version"]), (&json!("npm:lint"), &json!("1.4.0")));
    let same = registry.run(&world, &["update", "acme-lint", "--json"]).succeeds().json();
    assert_eq!(same["data"]["status"], "current");
    registry.install(&world, "npm:lint@2.0.0").exits(6).says("needs GSD >=99.0.0");
}

#[test]
fn what_a_package_would_do_is_seen_without_installing_it() {
    let world = World::new();
    let registry = Registry::of(&world);
    let archive = packed(&world, "1.0.0");
    registry.publish("lint", "1.0.0", archive.clone(), &json!({}));
    let before = world.tree();
    let inspected = registry.run(&world, &["inspect", "npm:lint", "--json"]).succeeds().json();
    let data = &inspected["data"];
    assert_eq!(
        (&data["id"], &data["valid"], &data["resolved"]),
        (&json!("acme-lint"), &json!(true), &json!("1.0.0"))
    );
    assert_eq!(data["integrity"], sri(&archive));
    assert!(data["executable"].to_string().contains("hooks/refuse.sh"), "{data}");
    world.is_as(&before, "only looked at");
    let offline = registry.run(&world, &["inspect", "npm:lint", "--offline", "--json"]).exits(9).json();
    assert_eq!(offline["error"]["code"], "source.offline");
    let digest = data["consent_digest"].as_str().unwrap();
    registry.run(&world, &["install", "npm:lint", "--consent", digest]).succeeds();
    let installed = registry.run(&world, &["inspect", "acme-lint", "--json"]).succeeds().json();
    assert_eq!(installed["data"]["consent_digest"], digest);
    let broken = world.bundle("acme-broken").with("role", json!("nonsense"));
    let looked = registry.run(&world, &["inspect", &broken.spec(), "--json"]).succeeds().json();
    assert_eq!((&looked["data"]["valid"], &looked["data"]["id"]), (&json!(false), &json!("acme-broken")));
}
