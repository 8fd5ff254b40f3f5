//! Each sees the other's locks.

use gsd_tests::{World, wait_for};

use crate::other_side::OtherSide;

#[test]
fn their_lock_is_waited_for_and_ours_is_one_for_them() {
    let world = World::new();
    std::fs::create_dir_all(world.path("proj/.git")).unwrap();
    std::fs::create_dir_all(world.path("proj/.gsd/capabilities")).unwrap();
    let they = OtherSide(&world);
    let spec = world.bundle("acme-lint").with_refusal().spec();
    let install = ["install", &spec, "--scope", "project", "--runtime", "claude", "--yes"];
    let held = they.hold("proj/.gsd/capabilities/.lock");
    let refused = world.gsdctl(install).args(["--timeout", "500ms"]).run().exits(8);
    let refused = refused.says("waiting for another operation").says("gives up after 500ms");
    assert!(refused.stderr.contains(&format!("held by process {}", held.pid())), "{}", refused.stderr);
    drop(held);

    // While the consent store is theirs, the project is ours.
    let held = they.hold("home/.gsd/.consent.lock");
    let client = world.gsdctl(install).spawn();
    let lock = world.path("proj/.gsd/capabilities/.lock");
    wait_for("our lock", || lock.exists());
    let judged = they.run("lock", &[&lock.display().to_string()]);
    for member in ["held", "shape", "verified", "line"] {
        assert_eq!(judged[member], true, "{member}: {judged}");
    }
    assert_eq!(judged["pid"], world.daemons()[0], "{judged}");
    drop(held);
    let output = client.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(they.run("lock", &[&lock.display().to_string()])["why"], "free");
    assert_eq!(they.judge("acme-lint")["granted"], true);
}
