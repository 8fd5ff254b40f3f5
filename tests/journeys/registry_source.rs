//! Named registries: an index in a folder, on a web server and in a repository; its digests are enforced, and only the
//! person can name one.

use std::path::{Path, PathBuf};

use gsd_tests::{Bundle, HttpsServer, Reply, World, bytes_of, put, sri, text_of};
use serde_json::{Value, json};

/// An index in a folder of the world, with `acme-lint` in it.
struct Index {
    folder: PathBuf,
    versions: Vec<Value>,
}

/// Where the entry of `acme-lint` lies: the digits are the first ones of its SHA-256.
const ENTRY: &str = "entries/05/acme-lint.json";

impl Index {
    fn at(folder: PathBuf) -> Self {
        put(folder.join("config.json"), "{\"format\": 1}");
        let index = Self { folder, versions: Vec::new() };
        index.save();
        index
    }

    fn save(&self) {
        let entry = json!({
            "format": 1, "name": "acme-lint", "title": "Lints",
            "publisher": {"name": "Acme", "key": format!("RWQ{}", "x".repeat(53))},
            "versions": self.versions,
        });
        put(self.folder.join(ENTRY), entry.to_string());
    }

    /// Adds a version whose archive lies in the index.
    fn with(mut self, world: &World, version: &str, more: &Value) -> Self {
        let bundle = lint(world, version);
        let archive = bundle.packed("");
        let path = format!("archives/acme-lint-{version}.tgz");
        put(self.folder.join(&path), &archive);
        let mut row = json!({
            "version": version, "archive": path, "integrity": sri(&archive), "contentHash": hash(world, &bundle),
        });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.versions.push(row);
        self.save();
        self
    }

    fn change(&mut self, change: impl FnOnce(&mut Value)) {
        change(self.versions.last_mut().unwrap());
        self.save();
    }
}

fn lint(world: &World, version: &str) -> Bundle {
    world.bundle("acme-lint").with("version", json!(version)).with_refusal()
}

fn hash(world: &World, bundle: &Bundle) -> Value {
    world.gsdctl(["hash", &bundle.spec(), "--json"]).run().succeeds().json()["data"]["content_hash"].clone()
}

fn entry(world: &World) -> Value {
    let ledger: Value = serde_json::from_str(&text_of(world.path("home/.gsd-capabilities.json"))).unwrap();
    ledger["entries"]["acme-lint"].clone()
}

fn use_registry(world: &World, place: &str) {
    world.gsdctl(["config", "set", "registries.corp", place]).run().succeeds();
}

#[test]
fn an_index_in_a_folder_is_installed_from_and_updated_from() {
    let world = World::new();
    let index = Index::at(world.path("index")).with(&world, "1.0.0", &json!({}));
    use_registry(&world, &index.folder.display().to_string());
    let run = |args: &[&str]| world.gsdctl(args.iter().copied()).run();
    run(&["install", "acme-lint@corp", "--yes", "--offline"]).succeeds().prints("acme-lint 1.0.0");
    assert_eq!(crate::level_of(&world, "acme-lint"), "digest");
    assert_eq!(
        (&entry(&world)["source"], &entry(&world)["integrity"]),
        (&json!("acme-lint@corp"), &index.versions[0]["integrity"])
    );
    let status = || run(&["outdated", "--json"]).succeeds().json()["data"][0].clone();
    assert_eq!(status()["status"], "current");
    let index = index
        .with(&world, "1.1.0", &json!({"engines": {"gsd": ">=1.6"}}))
        .with(&world, "1.2.0", &json!({"yanked": "deletes too much"}))
        .with(&world, "2.0.0", &json!({"engines": {"gsd": ">=99"}}));
    assert_eq!((&status()["status"], &status()["latest"]), (&json!("outdated"), &json!("1.1.0")));
    let resolved = run(&["source", "resolve", "acme-lint@corp", "--json"]).succeeds().json();
    let data = &resolved["data"];
    let verdicts: Vec<&str> =
        data["considered"].as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["needs-gsd", "yanked", "taken", "lower"]);
    assert_eq!((&data["publisher"], &data["taken"]["version"]), (&json!("Acme"), &json!("1.1.0")));
    run(&["update", "acme-lint", "--yes"])
        .succeeds()
        .says("acme-lint 2.0.0 needs GSD >=99")
        .prints("acme-lint 1.1.0");
    run(&["install", "acme-lint@corp@1.2.0", "--yes"]).exits(7).says("yanked: deletes too much");
    drop(index);
}

#[test]
fn t77_both_digests_of_an_index_are_enforced() {
    let world = World::new();
    let mut index = Index::at(world.path("index")).with(&world, "1.0.0", &json!({}));
    use_registry(&world, &index.folder.display().to_string());
    let before = world.gsdctl(["list", "--json"]).run().succeeds().json();
    let install = || world.gsdctl(["install", "acme-lint@corp", "--yes"]).run();
    let good = index.versions[0].clone();
    index.change(|row| row["integrity"] = json!(sri(b"other")));
    install().exits(5).says("does not have the pinned digest");
    index.change(|row| {
        *row = good.clone();
        row["contentHash"] = json!(sri(b"other"));
    });
    install().exits(5).says("has another content than the registry says");
    index.change(|row| drop(row.as_object_mut().unwrap().remove("integrity")));
    install().exits(7).says("an archive needs `integrity`");
    index.change(|row| {
        *row = good.clone();
        row["version"] = json!("1.0.1");
    });
    // The entry and the manifest in the archive disagree about the version.
    install().exits(5).says("the registry calls it 1.0.1, and its manifest says 1.0.0");
    assert_eq!(world.gsdctl(["list", "--json"]).run().succeeds().json()["data"], before["data"]);
    index.change(|row| *row = good);
    install().succeeds();
    // The same version of the same index with other bytes is no release.
    let other = lint(&world, "1.0.0").with("title", json!("Other")).packed("");
    put(world.path("index/archives/acme-lint-1.0.0.tgz"), &other);
    let other_hash = hash(&world, &lint(&world, "1.0.0").with("title", json!("Other")));
    index.change(|row| {
        row["integrity"] = json!(sri(&other));
        row["contentHash"] = other_hash;
    });
    world
        .gsdctl(["update", "acme-lint", "--yes"])
        .run()
        .exits(5)
        .says("has other bytes than when it was taken before");
}

#[test]
fn an_index_on_a_web_server_costs_one_small_file_per_lookup() {
    let world = World::new();
    let index = Index::at(world.path("index")).with(&world, "1.0.0", &json!({}));
    let server = static_server(index.folder.clone());
    server.listed_in(&world);
    use_registry(&world, &server.url("/index"));
    let run = |args: &[&str]| server.trusted_by(&world, world.gsdctl(args.iter().copied())).run();
    run(&["source", "resolve", "acme-lint@corp"]).succeeds().prints("archives/acme-lint-1.0.0.tgz");
    let seen: Vec<String> = server.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(seen, [format!("/index/{ENTRY}")]);
    run(&["install", "acme-lint@corp", "--yes"]).succeeds();
    run(&["install", "acme-other@corp", "--yes"]).exits(7).says("has no capability acme-other");
    use_registry(&world, &server.url("/elsewhere/"));
    run(&["install", "acme-lint@corp", "--yes"])
        .exits(9)
        .says("there is no registry index")
        .says("gsdctl config list");
    run(&["install", "acme-lint@corp", "--offline"]).exits(9);
}

/// Serves the files of a folder below `/index/`, as any web server does.
fn static_server(folder: PathBuf) -> HttpsServer {
    HttpsServer::start(&[], move |seen| match seen.target.strip_prefix("/index/") {
        Some(path) if !path.contains("..") && folder.join(path).is_file() => {
            Reply::ok(bytes_of(folder.join(path)))
        }
        _ => Reply::status(404),
    })
}

#[test]
fn an_index_in_a_repository_leads_to_archives_commits_and_packages() {
    let world = World::new();
    let code = world.repository("lint.git");
    copy(Path::new(&lint(&world, "1.0.0").spec()), code.folder());
    let commit = code.commit();
    let repository = world.repository("index.git");
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let mut index = Index::at(repository.folder().join("caps")).with(&world, "0.9.0", &json!({}));
    let content = hash(&world, &lint(&world, "1.0.0"));
    index.versions.push(json!({
        "version": "1.0.0", "source": format!("git+https://forge.example/lint.git#{commit}"), "contentHash": content,
    }));
    index.save();
    repository.commit();
    use_registry(&world, "git+https://forge.example/index.git//caps#branch:main");
    world.gsdctl(["install", "acme-lint@corp@0.9.0", "--yes"]).run().succeeds().prints("acme-lint 0.9.0");
    let told = world.gsdctl(["update", "acme-lint", "--json"]).run().succeeds().json();
    assert_eq!(told["data"]["status"], "current", "a version that was named stays");
    let told = world.gsdctl(["install", "acme-lint@corp", "--yes"]).run().succeeds().says(&commit);
    told.prints("acme-lint 1.0.0");
    world.gsdctl(["install", "acme-gone@corp"]).run().exits(7).says("has no capability acme-gone");
    // What an index leads to is judged by the policy as if it had been typed.
    put(
        world.path("proj/.planning/config.json"),
        r#"{"capabilities":{"strict_known_registries":["caps.corp.example"]}}"#,
    );
    world.gsdctl(["install", "acme-lint@corp", "--yes"]).run().exits(4).says("strict_known_registries");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn only_the_person_names_registries() {
    let world = World::new();
    let index = Index::at(world.path("index")).with(&world, "1.0.0", &json!({}));
    let place = index.folder.display().to_string();
    for file in ["proj/.gsd/gsd.toml", "proj/.gsd/config.toml", "proj/gsd.toml"] {
        put(world.path(file), format!("default_registry = \"corp\"\n[registries]\ncorp = \"{place}\"\n"));
    }
    let install = |spec: &str| world.gsdctl(["install", spec, "--scope", "project", "--yes"]).run();
    install("acme-lint@corp").exits(7).says("never a project's").says("gsdctl config set registries.corp");
    install("acme-lint").exits(7).says("no default registry");
    // Where nobody knows where a registry is, no list has it.
    put(
        world.path("proj/.planning/config.json"),
        r#"{"capabilities":{"strict_known_registries":["h.example"]}}"#,
    );
    install("acme-lint@corp").exits(4).says("strict_known_registries");
    std::fs::remove_dir_all(world.path("proj/.planning")).unwrap();
    use_registry(&world, &place);
    install("acme-lint@corporate").exits(7).says("you have corp");
    install("acme-lint").exits(7);
    world.gsdctl(["config", "set", "default_registry", "corp"]).run().succeeds();
    install("acme-lint").succeeds();
    // A policy about hosts does not stop a folder of this machine.
    put(world.path("proj/.planning/config.json"), r#"{"capabilities":{"strict_known_registries":[]}}"#);
    install("acme-lint@corp").succeeds();
}
