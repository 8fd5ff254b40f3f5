//! Interruptions drawn by lot: what is done, where, how it is cut off and when all follow from a number, except where the
//! machine's own timing is the point.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gsd_tests::signal_process;
use rustix::process::Signal;

use crate::scene::{OPERATIONS, PLACES, Place, Scene};

/// Seeds of an ordinary run; `GSD_TEST_SEEDS` asks for more of them.
const SEEDS: u64 = 300;

/// How an operation is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    /// The daemon is killed at an effect.
    AtEffect,
    /// The same, and the daemon that settles it is killed too.
    Twice,
    /// Client and daemon are killed after some time.
    AfterTime,
    /// A process that works without the daemon is killed at an effect.
    Private,
    /// An effect fails.
    Refused,
    /// The disk fills up.
    Full,
}

const CUTS: [Cut; 7] =
    [Cut::AtEffect, Cut::Twice, Cut::AfterTime, Cut::AfterTime, Cut::Private, Cut::Refused, Cut::Full];

/// Numbers that look random and follow from a seed.
struct Lot(u64);

impl Lot {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds have nothing in common afterwards (the finalizer of SplitMix64).
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Random times around the one that an operation takes on a machine that is sometimes busy.
#[derive(Clone, Copy)]
struct Delays {
    limit_us: u64,
}

impl Delays {
    fn draw(self, lot: &mut Lot) -> Duration {
        Duration::from_micros(lot.below(usize::try_from(self.limit_us).unwrap()) as u64)
    }

    /// An operation that was cut off gets more time on the average, one that came to its end gets less.
    fn learn(&mut self, ended: bool) {
        let part = self.limit_us / 8;
        self.limit_us =
            if ended { self.limit_us - part } else { self.limit_us + part }.clamp(1000, 4_000_000);
    }
}

/// One thread's world for a place, with what is known of its operations.
struct Known {
    scene: Scene,
    effects: [usize; 3],
    delays: [Delays; 3],
}

impl Known {
    fn new(place: Place) -> Self {
        let mut scene = Scene::new(place);
        let mut delays = [Delays { limit_us: 0 }; 3];
        let mut effects = [0; 3];
        for (at, operation) in OPERATIONS.into_iter().enumerate() {
            effects[at] = scene.count(operation);
            scene.go_to(operation.states().0);
            let begun = Instant::now();
            scene.ask(operation).succeeds();
            scene.state = operation.states().1;
            delays[at].limit_us = u64::try_from(begun.elapsed().as_micros()).unwrap() * 5 / 4;
        }
        Self { scene, effects, delays }
    }

    /// Plays one seed; says where it came out: 0 before, 1 after.
    fn play(&mut self, seed: u64, which: usize, cut: Cut, lot: &mut Lot) -> usize {
        let operation = OPERATIONS[which];
        let (from, to) = operation.states();
        self.scene.go_to(from);
        let world = &self.scene.world;
        let effects = lot.below(self.effects[which] + 1);
        let mut what = format!("seed {seed}, {cut:?} after {effects} effects");
        match cut {
            Cut::AfterTime => {
                let delay = self.delays[which].draw(lot);
                what = format!("seed {seed}, killed after {delay:?}");
                let ended = self.scene.kill_after(operation, delay);
                self.delays[which].learn(ended);
            }
            Cut::AtEffect | Cut::Twice => {
                let daemon = world.start_daemon();
                world.break_at(&format!("kill {effects}"));
                let outcome = self.scene.ask(operation);
                if world.broke_at().is_ok() {
                    self.scene.wait_for_the_end(&[daemon]);
                } else {
                    outcome.succeeds();
                }
                if cut == Cut::Twice {
                    let again = lot.below(40);
                    what += &format!(" and after {again} of the recovery");
                    world.break_at(&format!("kill {again}"));
                    let _ = world.gsdctl(["list"]).run();
                    for pid in world.daemons() {
                        signal_process(pid, Signal::KILL);
                        self.scene.wait_for_the_end(&[pid]);
                    }
                }
            }
            Cut::Private => {
                world.break_at(&format!("kill {effects}"));
                let command = self.scene.command(operation);
                let command = command.iter().map(String::as_str);
                let _ = world.gsdctl(command).arg("--no-daemon").run();
                world.break_at("");
                // A daemon that runs settles it before the next change, one that starts settles it at once.
                for pid in world.daemons() {
                    signal_process(pid, Signal::KILL);
                    self.scene.wait_for_the_end(&[pid]);
                }
            }
            Cut::Refused | Cut::Full => {
                let _ = world.start_daemon();
                let word = if cut == Cut::Full { "full" } else { "eio" };
                world.break_at(&format!("{word} {effects}"));
                let outcome = self.scene.ask(operation);
                world.break_at("");
                what += &format!(", exit {}", outcome.exit);
                world.gsdctl(["daemon", "stop"]).run().succeeds();
            }
        }
        self.scene.settle(operation, &what);
        if seed.is_multiple_of(3) {
            self.scene.check(&what);
        }
        usize::from(self.scene.state == to)
    }
}

#[test]
fn t154_t155_whatever_is_cut_off_at_random_gives_the_state_before_or_after() {
    let seeds = std::env::var("GSD_TEST_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let threads = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let table: Mutex<BTreeMap<(String, String), [u32; 2]>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut worlds: [Option<Known>; 3] = [None, None, None];
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    let mut lot = Lot::new(seed);
                    let place = lot.below(PLACES.len());
                    let which = lot.below(OPERATIONS.len());
                    let cut = lot.pick(&CUTS);
                    let known = worlds[place].get_or_insert_with(|| Known::new(PLACES[place]));
                    let reached = known.play(seed, which, cut, &mut lot);
                    let row = (format!("{:?}", OPERATIONS[which]), format!("{cut:?}"));
                    table.lock().unwrap().entry(row).or_default()[reached] += 1;
                    if seed % 500 == 499 {
                        let _ = writeln!(std::io::stderr(), "{} of {seeds}", seed + 1);
                    }
                }
            });
        }
    });
    let table = table.into_inner().unwrap();
    println!("{:<10} {:<10} {:>7} {:>7}", "operation", "cut off", "before", "after");
    let mut all = [0, 0];
    for ((operation, cut), [before, after]) in &table {
        println!("{operation:<10} {cut:<10} {before:>7} {after:>7}");
        all[0] += before;
        all[1] += after;
    }
    println!("{seeds} seeds in {:.0} s, {threads} threads: {all:?}", begun.elapsed().as_secs_f64());
    assert_eq!(u64::from(all[0] + all[1]), seeds);
    assert!(all.iter().all(|count| u64::from(*count) * 10 > seeds), "no variety: {all:?}");
}
