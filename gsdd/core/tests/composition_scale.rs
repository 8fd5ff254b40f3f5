//! What composing costs: `cargo test --release -p gsdd-core --test composition_scale -- --ignored --nocapture`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a measurement needs a clock"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/overlay.rs"]
mod overlay;

use std::time::{Duration, Instant};

use gsdd_core::compose::{Candidate, ConsentVerdict, compose};
use gsdd_core::registry::Base;
use overlay::{base, feature, gate, global, project, step};
use serde_json::{Value, json};

/// A capability of ordinary size.
fn ordinary(id: &str) -> Value {
    let mut manifest = feature(id);
    manifest["description"] = json!("Something that a capability of ordinary size says about itself.");
    manifest["skills"] = json!([id, format!("{id}-more")]);
    manifest["agents"] = json!([format!("{id}-agent")]);
    manifest["hooks"] = json!([{"event": "PreToolUse", "script": "hooks/check.sh", "matcher": "Write|Edit"}]);
    manifest["commands"] = json!([{"family": format!("x-{id}"), "module": "m.cjs", "router": "run"}]);
    let slice = json!({"type": "boolean", "default": true, "description": "Whether it is on."});
    manifest["config"][format!("{id}.enabled")] = slice;
    manifest["steps"] = json!([step("plan:pre", &[&format!("{id}.md")], &["CONTEXT.md"])]);
    manifest["contributions"] = json!([{"point": "plan:pre", "into": "planner",
        "fragment": {"inline": "A few words for the planner."}, "produces": [], "consumes": [format!("{id}.md")]}]);
    manifest["gates"] = json!([gate("ship:pre")]);
    manifest
}

fn shipped() -> Base {
    base(&(0..44).map(|n| ordinary(&format!("shipped-{n:02}"))).collect::<Vec<_>>())
}

/// Makes candidate `n` of `count`.
type Shape = fn(usize, usize) -> Candidate;

/// The shapes of sets that could cost more than their size.
fn shapes() -> Vec<(&'static str, Shape)> {
    fn id(n: usize) -> String {
        format!("c{n:04}")
    }
    vec![
        ("independent", |n, _| global(&ordinary(&id(n)))),
        ("each requires the one before", |n, _| {
            let mut manifest = ordinary(&id(n));
            manifest["requires"] = if n > 0 { json!([id(n - 1)]) } else { json!([]) };
            global(&manifest)
        }),
        ("each requires the one after", |n, count| {
            let mut manifest = ordinary(&id(n));
            manifest["requires"] = if n + 1 < count { json!([id(n + 1)]) } else { json!([]) };
            global(&manifest)
        }),
        ("a chain whose end is missing", |n, _| {
            let mut manifest = ordinary(&id(n));
            manifest["requires"] = json!([id(n + 1)]);
            global(&manifest)
        }),
        ("all claim one skill", |n, _| {
            let mut manifest = ordinary(&id(n));
            manifest["skills"] = json!(["one"]);
            global(&manifest)
        }),
        ("a chain of artifacts, backwards", |n, _| {
            let mut manifest = ordinary(&id(n));
            manifest["steps"] = json!([step("plan:pre", &[&format!("A{n}")], &[&format!("A{}", n + 1)])]);
            global(&manifest)
        }),
        ("contributions that all feed all", |n, _| {
            let mut manifest = ordinary(&id(n));
            let flow = if n % 2 == 0 { (json!(["X"]), json!([])) } else { (json!([]), json!(["X"])) };
            manifest["contributions"][0]["produces"] = flow.0;
            manifest["contributions"][0]["consumes"] = flow.1;
            global(&manifest)
        }),
        ("all in one circle", |n, count| {
            let mut manifest = ordinary(&id(n));
            manifest["requires"] = json!([id((n + 1) % count)]);
            global(&manifest)
        }),
        ("pairs that crowd each other out", |n, _| {
            let mut manifest = ordinary(&id(n));
            manifest["skills"] = json!([format!("shared-{}", n / 2)]);
            manifest["requires"] = if n % 2 == 0 { json!([id(n + 3)]) } else { json!([]) };
            global(&manifest)
        }),
        ("a project nobody agreed to", |n, _| project(&ordinary(&id(n)), ConsentVerdict::Missing)),
    ]
}

fn fastest(base: &Base, candidates: &[Candidate]) -> Duration {
    let once = || {
        let start = Instant::now();
        let composition = compose(base, candidates);
        let took = start.elapsed();
        assert_eq!(
            composition.skips.len() + composition.registry.capabilities().len(),
            candidates.len() + base.registry().capabilities().len()
        );
        took
    };
    (0..20).map(|_| once()).min().unwrap()
}

#[test]
#[ignore = "a measurement, for release builds"]
fn cost_grows_with_the_set() {
    let base = shipped();
    println!("{:<34} {:>9} {:>9} {:>6}", "shape", "500", "1000", "ratio");
    for (name, shape) in shapes() {
        let [half, full] = [500, 1000].map(|count| {
            let candidates: Vec<Candidate> = (0..count).map(|n| shape(n, count)).collect();
            fastest(&base, &candidates)
        });
        let ratio = full.as_secs_f64() / half.as_secs_f64();
        println!("{name:<34} {half:>9.1?} {full:>9.1?} {ratio:>6.2}");
        assert!(half < Duration::from_millis(150), "{name}");
    }
}

/// Judging is done for every manifest that changed; composing for the whole set.
#[test]
#[ignore = "a measurement, for release builds"]
fn judging_one_manifest_and_composing_again() {
    let base = shipped();
    let bytes = serde_json::to_vec_pretty(&ordinary("acorn")).unwrap();
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let judging = median(
        (0..2001)
            .map(|_| {
                time(&mut || {
                    std::hint::black_box(gsdd_core::manifest::assess("acorn", &bytes, base.contract()));
                })
            })
            .collect(),
    );
    println!("judging {} bytes: {judging:.1?}", bytes.len());
    let mut candidates: Vec<Candidate> = (0..1000).map(|n| global(&ordinary(&format!("c{n:04}")))).collect();
    let again = median(
        (0..51)
            .map(|round| {
                candidates[500] = global(&ordinary("c0500"));
                candidates[500].demoted = round % 2 == 1;
                time(&mut || {
                    std::hint::black_box(compose(&base, &candidates));
                })
            })
            .collect(),
    );
    println!("composing 1,000 of which one changed: {again:.1?}");
    assert!(judging < Duration::from_micros(200) && again < Duration::from_millis(50));
}

/// One hostile manifest of a few megabytes must not hold up an install check, which runs before anybody agreed.
#[test]
#[ignore = "a measurement, for release builds"]
fn hostile_manifests_end_soon() {
    let base = shipped();
    let names = |from: usize, n: usize| (from..from + n).map(|n| format!("A{n}")).collect::<Vec<_>>();
    let of_steps = |make: &dyn Fn(usize) -> Value, n: usize| {
        let mut manifest = feature("acorn");
        manifest["steps"] = (0..n).map(make).collect();
        manifest
    };
    let hook = |point: &str, produces: Vec<String>, consumes: Vec<String>| {
        json!({"point": point, "ref": {"command": "noop"}, "produces": produces, "consumes": consumes,
            "onError": "skip"})
    };
    let pair = |n: usize| match n % 2 {
        0 => hook("ship:post", names(0, 1), vec![]),
        _ => hook("plan:pre", vec![], names(0, 1)),
    };
    for (name, manifest) in [
        ("late makers, early users", of_steps(&pair, 15_000)),
        ("one long chain", of_steps(&|n| hook("plan:pre", names(n, 1), names(n + 1, 1)), 12_000)),
        ("everything feeds everything", of_steps(&|_| hook("plan:pre", names(0, 200), names(0, 200)), 450)),
        ("wide layers", of_steps(&|n| hook("plan:pre", names(n * 10, 10), names((n + 1) * 10, 10)), 7_000)),
    ] {
        let start = Instant::now();
        let candidate = global(&manifest);
        let assessed = start.elapsed();
        let problems = gsdd_core::compose::check_install(&base, &[], &candidate).len();
        println!("{name:<34} assessed {assessed:>9.1?} all {:>9.1?} problems {problems}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(2), "{name}");
    }
}

#[test]
#[ignore = "a measurement, for release builds"]
fn memory_per_capability() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let base = shipped();
    let before = resident();
    let candidates: Vec<Candidate> = (0..4000).map(|n| global(&ordinary(&format!("m{n:04}")))).collect();
    let read = resident();
    let composition = compose(&base, &candidates);
    let composed = resident();
    println!("assessed: {} bytes each", (read - before) / 4000);
    println!("composed: {} bytes each", (composed - before) / 4000);
    assert_eq!(composition.accepted.len(), 4000);
    assert!((composed - before) / 4000 < 20 * 1024);
}
