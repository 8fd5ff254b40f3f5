//! OCI registries: a real one, and one that asks for tokens, sends blobs elsewhere, and lies.

use std::sync::{Arc, Mutex};

use gsd_tests::{
    HttpsServer, OciRegistry, Outcome, Reply, Seen, World, oci_digest, oci_manifest, put, sri, text_of,
};
use serde_json::{Value, json};

fn archive(world: &World, version: &str) -> Vec<u8> {
    world.bundle("acme-lint").with("version", version.into()).with_refusal().packed("")
}

fn ledger_entry(world: &World) -> Value {
    let ledger: Value = serde_json::from_str(&text_of(world.path("home/.gsd-capabilities.json"))).unwrap();
    ledger["entries"]["acme-lint"].clone()
}

#[test]
fn a_bundle_comes_from_a_real_registry_by_tag_and_by_digest() {
    let world = World::new();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    let layer = archive(&world, "1.0.0");
    let Some(registry) = OciRegistry::with(&world, "acme/lint", "v1", &layer) else { return };
    let manifest = oci_digest(oci_manifest(&layer).to_string().as_bytes());
    let before = world.tree();
    let host = registry.host();
    for reference in [":v1".to_owned(), format!("@{manifest}"), format!(":v1@{manifest}")] {
        let source = format!("oci://{host}/acme/lint{reference}");
        let run =
            world.gsdctl(["install", &source, "--yes"]).env("SSL_CERT_FILE", world.path("authority.pem"));
        run.run().succeeds();
        let entry = ledger_entry(&world);
        assert_eq!((&entry["source"], &entry["integrity"]), (&json!(source), &json!(sri(&layer))));
        let hook = world.hook_of(&world.path("home/.claude/settings.json"), "PreToolUse");
        hook.input(gsd_tests::write_of("/x")).run().exits(0).prints("acme-lint refuses");
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
        world.is_as(&before, &reference);
    }
    for (reference, exit) in
        [(":v2", 7), ("@sha256:0000000000000000000000000000000000000000000000000000000000000000", 7)]
    {
        let source = format!("oci://{host}/acme/lint{reference}");
        let run =
            world.gsdctl(["install", &source, "--yes"]).env("SSL_CERT_FILE", world.path("authority.pem"));
        run.run().exits(exit).says("nothing at");
    }
    world.is_as(&before, "what is not there");
}

/// What a made-up registry serves; everything can be changed.
struct Shelf {
    manifest: String,
    layer: Vec<u8>,
    /// Where tokens are given; `None` for a registry without tokens.
    realm: Option<String>,
    /// Name and password that the token service wants, in base64.
    login: Option<String>,
}

struct Registry {
    server: HttpsServer,
    shelf: Arc<Mutex<Shelf>>,
}

fn answer(seen: &Seen, shelf: &Shelf) -> Reply {
    let host = seen.header("host").unwrap_or_default();
    let authorization = seen.header("authorization");
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    if path == "/token" {
        assert!(
            query.contains("service=registry") && query.contains("scope=repository%3Aacme%2Flint%3Apull"),
            "{query}"
        );
        let wanted = shelf.login.as_ref().map(|login| format!("Basic {login}"));
        if wanted.is_some() && wanted.as_deref() != authorization {
            return Reply::status(401);
        }
        return Reply::ok(r#"{"token": "t0ken", "access_token": "t0ken", "expires_in": 300}"#);
    }
    if path.starts_with("/cdn/") {
        return Reply::ok(shelf.layer.clone());
    }
    if let Some(realm) = shelf.realm.as_ref().filter(|_| authorization != Some("Bearer t0ken")) {
        let challenge =
            format!(r#"Bearer realm="{realm}",service="registry",scope="repository:acme/lint:pull,push""#);
        return Reply::status(401).with("www-authenticate", &challenge);
    }
    if path.starts_with("/v2/acme/lint/manifests/") {
        Reply::ok(shelf.manifest.clone())
    } else if path.starts_with("/v2/acme/lint/blobs/") {
        // As registries do that keep their blobs in the store of a cloud.
        Reply::redirect(&format!("https://{}/cdn/blob", host.replace("localhost", "127.0.0.1")))
    } else {
        Reply::status(404)
    }
}

impl Registry {
    fn with(world: &World, layer: Vec<u8>) -> Self {
        let manifest = oci_manifest(&layer).to_string();
        let shelf = Arc::new(Mutex::new(Shelf { manifest, layer, realm: None, login: None }));
        let served = Arc::clone(&shelf);
        let server = HttpsServer::start(&[], move |seen| answer(seen, &served.lock().unwrap()));
        server.listed_in(world);
        shelf.lock().unwrap().realm = Some(server.url("/token"));
        Self { server, shelf }
    }

    fn source(&self, reference: &str) -> String {
        format!("oci://localhost:{}/acme/lint{reference}", self.server.port())
    }

    fn run(&self, world: &World, args: &[&str]) -> Outcome {
        self.server.trusted_by(world, world.gsdctl(args.iter().copied())).run()
    }

    fn install(&self, world: &World, reference: &str) -> Outcome {
        self.run(world, &["install", &self.source(reference), "--yes"])
    }

    fn change(&self, change: impl FnOnce(&mut Shelf)) {
        change(&mut self.shelf.lock().unwrap());
    }
}

#[test]
fn t65_a_token_is_asked_for_and_goes_to_the_registry_only() {
    let world = World::new();
    let registry = Registry::with(&world, archive(&world, "1.0.0"));
    registry.install(&world, ":v1").succeeds();
    let seen = registry.server.seen();
    let sent: Vec<(&str, Option<&str>)> = seen
        .iter()
        .map(|seen| (seen.target.split('?').next().unwrap_or_default(), seen.header("authorization")))
        .collect();
    let blob = format!("/v2/acme/lint/blobs/{}", oci_digest(&registry.shelf.lock().unwrap().layer));
    assert_eq!(
        sent,
        [
            ("/v2/acme/lint/manifests/v1", None),
            ("/token", None),
            ("/v2/acme/lint/manifests/v1", Some("Bearer t0ken")),
            (blob.as_str(), Some("Bearer t0ken")),
            ("/cdn/blob", None),
        ]
    );
    // Nothing of it is kept.
    for file in ["home/.gsd-capabilities.json", "home/.gsd/capabilities/acme-lint/capability.json"] {
        assert!(!text_of(world.path(file)).contains("t0ken"));
    }
}

#[test]
fn a_login_of_the_person_is_used_for_its_registry() {
    let world = World::new();
    let registry = Registry::with(&world, archive(&world, "1.0.0"));
    let login = "bWU6cHc=";
    registry.change(|shelf| shelf.login = Some(login.to_owned()));
    registry.install(&world, ":v1").exits(9).says("wants authentication");
    let auths = json!({"auths": {format!("localhost:{}", registry.server.port()): {"auth": login}}});
    put(world.path("home/.docker/config.json"), auths.to_string());
    registry.install(&world, ":v1").succeeds();
    let leaked = registry.server.seen().into_iter().filter(|seen| {
        !seen.target.starts_with("/token")
            && seen.header("authorization").is_some_and(|sent| sent.contains(login))
    });
    assert_eq!(leaked.count(), 0);
}

#[test]
fn t62_t64_a_token_service_is_judged_like_any_host() {
    let world = World::new();
    let registry = Registry::with(&world, archive(&world, "1.0.0"));
    for (realm, exit, says) in [
        ("http://localhost/token", 4, "not an https URL"),
        ("https://169.254.169.254/token", 4, "link-local"),
        ("https://10.0.0.1/token", 4, "private address"),
        ("https://u:p@localhost/token", 4, "user name or password"),
        ("nonsense", 9, "token service"),
    ] {
        registry.change(|shelf| shelf.realm = Some(realm.to_owned()));
        registry.install(&world, ":v1").exits(exit).says(says);
    }
}

#[test]
fn what_a_registry_sends_has_the_digest_it_was_asked_for_or_is_not_used() {
    let world = World::new();
    let registry = Registry::with(&world, archive(&world, "1.0.0"));
    let before = world.tree();
    let digest = oci_digest(registry.shelf.lock().unwrap().manifest.as_bytes());
    // Another archive than the manifest names; it would be refused for its content, if anybody looked.
    registry.change(|shelf| shelf.layer = b"no archive".to_vec());
    registry.install(&world, ":v1").exits(5).says("the archive does not have the digest");
    // Another manifest than the one named.
    registry.change(|shelf| shelf.manifest.push(' '));
    registry.install(&world, &format!("@{digest}")).exits(5).says("the manifest does not have the digest");
    for (manifest, says) in [
        (json!({"schemaVersion": 2, "manifests": []}), "several platforms"),
        (json!({"schemaVersion": 2, "layers": []}), "has 0 layers"),
        (json!([]), "not an OCI manifest"),
    ] {
        registry.change(|shelf| shelf.manifest = manifest.to_string());
        registry.install(&world, ":v1").exits(2).says(says);
    }
    world.is_as(&before, "nothing was used");
}

#[test]
fn t74_a_tag_may_move_and_a_pin_or_a_digest_may_not() {
    let world = World::new();
    let first = archive(&world, "1.0.0");
    let registry = Registry::with(&world, first.clone());
    let source = registry.source(":v1");
    let resolved = registry.run(&world, &["source", "resolve", &source, "--json"]).succeeds().json();
    let exact = resolved["data"]["taken"]["exact"].as_str().unwrap();
    assert!(exact.ends_with(&oci_digest(oci_manifest(&first).to_string().as_bytes())), "{exact}");
    registry.run(&world, &["install", &source, "--integrity", &sri(&first), "--yes"]).succeeds();
    assert_eq!(crate::level_of(&world, "acme-lint"), "pin");
    let second = archive(&world, "1.1.0");
    registry.change(|shelf| {
        shelf.manifest = oci_manifest(&second).to_string();
        shelf.layer.clone_from(&second);
    });
    registry.run(&world, &["update", "acme-lint", "--yes"]).exits(5).says("pinned");
    registry.run(&world, &["remove", "acme-lint"]).succeeds();
    registry.change(|shelf| {
        shelf.manifest = oci_manifest(&first).to_string();
        shelf.layer.clone_from(&first);
    });
    registry.install(&world, ":v1").succeeds();
    registry.change(|shelf| {
        shelf.manifest = oci_manifest(&second).to_string();
        shelf.layer = second;
    });
    registry.run(&world, &["update", "acme-lint", "--yes"]).succeeds();
    assert_eq!(ledger_entry(&world)["version"], "1.1.0");
    assert_eq!(crate::level_of(&world, "acme-lint"), "digest");
    let exact = exact.rsplit_once('@').unwrap().1;
    registry.run(&world, &["remove", "acme-lint"]).succeeds();
    registry.change(|shelf| {
        shelf.manifest = oci_manifest(&first).to_string();
        shelf.layer = first;
    });
    registry.install(&world, &format!("@{exact}")).succeeds();
    assert_eq!(crate::level_of(&world, "acme-lint"), "pin");
}
