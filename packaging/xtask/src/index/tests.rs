use gsd_tests::{HttpsServer, Reply, World, bytes_of, text_of};

use super::*;

#[test]
fn what_is_built_is_served_installed_and_updated() {
    let world = World::new();
    let out = world.path("index");
    let bundles = world.path("src");
    let lint = world.bundle("acme-lint").with_refusal().with_skill("acme-lint");
    let other = world.bundle("acme-log").with_file("empty/.keep", "");
    assert_eq!(build(&bundles, &out, Some("Ours"), None).unwrap(), ["acme-lint 1.0.0", "acme-log 1.0.0"]);
    assert_eq!(build(&bundles, &out, None, None).unwrap(), Vec::<String>::new(), "the same again");
    let served = out.clone();
    let server = HttpsServer::start(&[], move |seen| {
        let file = served.join(seen.target.trim_start_matches("/index/"));
        if file.is_file() { Reply::ok(bytes_of(file)) } else { Reply::status(404) }
    });
    server.listed_in(&world);
    let run = |args: &[&str]| server.trusted_by(&world, world.gsdctl(args.iter().copied())).run();
    run(&["config", "set", "registries.ours", &server.url("/index/")]).succeeds();
    run(&["install", "acme-lint@ours", "--yes"]).succeeds().prints("acme-lint 1.0.0");
    run(&["install", "acme-log@ours", "--yes"]).succeeds();
    let signer = gsd_tests::MinisignKey::new();
    let publisher = Publisher { name: Some("Acme".to_owned()), key: Some(signer.public()) };
    drop(lint.with("version", "1.1.0".into()).with("compatVersions", json!({"1.0.0": ">=1.6.0"})));
    assert_eq!(build(&bundles, &out, None, Some(&publisher)).unwrap(), ["acme-lint 1.1.0"]);
    run(&["update", "acme-lint", "--yes"]).succeeds().prints("acme-lint 1.1.0");
    let resolved = run(&["source", "resolve", "acme-lint@ours", "--json"]).succeeds().json();
    assert_eq!(
        (&resolved["data"]["publisher"], &resolved["data"]["title"]),
        (&json!("Acme"), &json!("Title of acme-lint"))
    );
    // What is signed afterwards is taken along, if it is signed by that key.
    let archive = out.join("archives/acme-lint-1.1.0.tgz");
    let signature = out.join("archives/acme-lint-1.1.0.tgz.minisig");
    gsd_tests::put(&signature, gsd_tests::MinisignKey::new().sign(&bytes_of(&archive), ""));
    let refused = build(&bundles, &out, None, None).unwrap_err().to_string();
    assert!(refused.contains("acme-lint-1.1.0.tgz.minisig"), "{refused}");
    gsd_tests::put(&signature, signer.sign(&bytes_of(&archive), "timestamp:1"));
    assert_eq!(build(&bundles, &out, None, None).unwrap(), ["acme-lint 1.1.0 signed"]);
    assert_eq!(build(&bundles, &out, None, None).unwrap(), Vec::<String>::new(), "the same again");
    let inspected = run(&["inspect", "acme-lint@ours", "--json"]).succeeds().json();
    assert_eq!(inspected["data"]["level"], json!("signature"), "{inspected}");
    drop(other.with_file("more.md", "more"));
    let refused = build(&bundles, &out, None, None).unwrap_err().to_string();
    assert!(refused.contains("what is published does not change"), "{refused}");
}

#[test]
fn packing_is_reproducible() {
    let world = World::new();
    let _ = world.bundle("acme-lint").with_refusal().with_file("a/b.md", "x");
    let archive = |out: &str| {
        build(&world.path("src"), &world.path(out), None, None).unwrap();
        bytes_of(world.path(out).join("archives/acme-lint-1.0.0.tgz"))
    };
    let first = archive("one");
    gsd_tests::put(world.path("src/acme-lint/a/b.md"), "x");
    assert_eq!(archive("two"), first);
    assert_eq!(text_of(world.path("one/config.json")), "{\"format\":1}\n");
}
