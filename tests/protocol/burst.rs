//! FR-035: a burst of clients gives one daemon.

use std::time::{Duration, Instant};

use gsd_tests::World;

#[test]
fn fr035_two_clients_at_once_share_one_daemon() {
    burst(2);
}

#[test]
fn fr035_thirty_two_clients_share_one_daemon() {
    burst(32);
}

fn burst(clients: usize) {
    let world = World::new();
    let began = Instant::now();
    let pids: Vec<u64> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let status = world.gsdctl(["daemon", "start", "--json"]).run();
                    assert_eq!((status.exit, status.stderr.as_str()), (0, ""), "{}", status.stdout);
                    status.json()["data"]["pid"].as_u64().unwrap()
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    assert_eq!(world.daemons(), [u32::try_from(pids[0]).unwrap()]);
    // The worst client of the burst, with room for a busy machine.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn clients_that_come_while_it_ends_find_or_start_another() {
    let world = World::new();
    let first = world.start_daemon();
    std::thread::scope(|scope| {
        scope.spawn(|| world.gsdctl(["daemon", "stop"]).run().succeeds());
        for _ in 0..4 {
            scope.spawn(|| world.gsdctl(["daemon", "call", "daemon.status"]).run().succeeds());
        }
    });
    assert!(world.daemons().len() <= 1, "{:?} after {first}", world.daemons());
}
