//! Bundles that are large, and what is staged of any: what a person allows, and what is left behind.

use gsd_proto::api::capability::{Commit, CommitParams, Consent, Stage, StageParams, StageResult};
use gsd_proto::client::CallError;
use gsd_tests::{World, alive, bytes_of, put, set_mode, signal_process, wait_for, write_of};
use rustix::process::Signal;

/// Folders in which a content is being written, or waits for an answer.
fn staged(world: &World) -> Vec<std::path::PathBuf> {
    let homes = std::fs::read_dir(world.path("home/.local/share/gsd")).into_iter().flatten().flatten();
    let objects = homes.filter_map(|home| std::fs::read_dir(home.path().join("objects")).ok()).flatten();
    let names = objects.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    names.map(|entry| entry.path()).collect()
}

fn params(world: &World, spec: &str) -> StageParams {
    let mut params = StageParams { spec: spec.to_owned(), ..StageParams::default() };
    params.ctx.cwd = world.project();
    params.ctx.env.insert("HOME".to_owned(), world.home().to_string_lossy().into_owned());
    params
}

fn agreed(staged: &StageResult) -> CommitParams {
    let consent = Consent { digest: staged.consent_digest.clone(), blanket: false };
    CommitParams { ticket: staged.ticket.clone(), consent: Some(consent), ..CommitParams::default() }
}

#[test]
fn t28_a_bundle_above_the_limit_of_the_format_is_for_who_allows_it() {
    let world = World::new();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    let bundle = world.bundle("acme-lint").with_refusal();
    put(bundle.path("data/large"), vec![b'x'; 17 * 1024 * 1024]);
    let spec = bundle.spec();
    let install = || world.gsdctl(["install", &spec, "--yes"]).run();
    let before = world.tree();
    install().exits(2).says("more than 16777216 bytes").says("gsdctl config set limits.bundle_bytes");
    world.gsdctl(["hash", &spec]).run().exits(2).says("limits.bundle_bytes");
    world.is_as(&before, "a refusal");
    assert_eq!(staged(&world), [] as [std::path::PathBuf; 0]);
    // What a project says about it is nobody's word.
    put(world.path("proj/.config/gsd/config.toml"), "limits.bundle_bytes = 20000000\n");
    put(world.path("proj/.planning/config.json"), "{\"limits\": {\"bundle_bytes\": 20000000}}\n");
    install().exits(2);
    world.gsdctl(["config", "set", "limits.bundle_bytes", "2000000000"]).run().exits(2).says("1 GiB");
    world.gsdctl(["config", "set", "limits.bundle_bytes", "20000000"]).run().succeeds();
    install().succeeds();
    // What is agreed to runs, whatever is allowed now.
    world.gsdctl(["config", "unset", "limits.bundle_bytes"]).run().succeeds();
    // What is large takes a moment to be looked at for the first time, and a hook does not wait for ever.
    wait_for("a refusal", || {
        let hook = world.hook_of(&world.path("home/.claude/settings.json"), "PreToolUse");
        hook.input(write_of("/x")).run().succeeds().stdout.contains("acme-lint refuses")
    });
    world.gsdctl(["ledger", "verify"]).run().succeeds();
    put(world.path("home/.gsd/capabilities/acme-lint/data/large"), vec![b'y'; 17 * 1024 * 1024]);
    wait_for("a change to be noticed", || {
        world.gsdctl(["list"]).run().succeeds().stdout.contains(" changed ")
    });
    world.gsdctl(["remove", "acme-lint"]).run().succeeds();
}

#[test]
fn t041_what_changes_between_the_answer_and_the_commit_is_not_installed() {
    let world = World::new();
    let bundle = world.bundle("acme-lint").with_refusal().with_file("data/words.txt", "words\n");
    let spec = bundle.spec();
    let _ = world.start_daemon();
    for file in ["hooks/refuse.sh", "data/words.txt"] {
        let mut client = world.client();
        let answer = client.call::<Stage>(&params(&world, &spec)).unwrap();
        let [folder] = staged(&world).try_into().unwrap();
        let before = world.tree();
        let at = folder.join(file);
        let mut bytes = bytes_of(&at);
        bytes[0] ^= 1;
        set_mode(&at, 0o600);
        put(&at, &bytes);
        let refused = client.call::<Commit>(&agreed(&answer)).unwrap_err();
        let CallError::Remote { error, .. } = refused else { panic!("{refused:?}") };
        assert!(error.cause.iter().any(|why| why.contains("changed")), "{error:?}");
        world.is_as(&before, file);
        assert!(!world.path("home/.gsd/capabilities/acme-lint").exists());
        world.gsdctl(["install", &spec, "--yes"]).run().succeeds();
        world.gsdctl(["remove", "acme-lint"]).run().succeeds();
    }
}

#[test]
fn t37_a_staged_bundle_goes_with_its_daemon() {
    let world = World::new();
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let pid = world.start_daemon();
    world.client().call::<Stage>(&params(&world, &spec)).unwrap();
    assert_eq!(staged(&world).len(), 1);
    signal_process(pid, Signal::KILL);
    wait_for("the end of the daemon", || !alive(pid));
    assert_eq!(staged(&world).len(), 1, "nobody is there who could");
    let _ = world.start_daemon();
    wait_for("a tidy store", || staged(&world).is_empty());
    // One that ends in order does it itself.
    let pid = world.daemons()[0];
    world.client().call::<Stage>(&params(&world, &spec)).unwrap();
    world.gsdctl(["daemon", "stop"]).run().succeeds();
    wait_for("the end of the daemon", || !alive(pid));
    assert_eq!(staged(&world).len(), 0);
}
