//! What must hold for every set of candidates.

#![expect(clippy::unwrap_used, reason = "functions that several tests share")]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/overlay.rs"]
mod overlay;

use std::sync::Arc;

use gsdd_core::compose::{
    Candidate, Composition, ConsentVerdict, Known, LedgerState, ManifestRead, Scope, SkipReason,
    check_install, check_set, compose, compose_after,
};
use gsdd_core::manifest::{Document, Manifest, assess};
use gsdd_core::registry::{Base, HostContract, View};
use overlay::{base, feature, gate, global, project, step};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

/// Three shipped capabilities that own something of every kind.
fn shipped() -> Base {
    let mut atlas = feature("atlas");
    atlas["tier"] = json!("core");
    atlas["skills"] = json!(["s0"]);
    atlas["agents"] = json!(["a0"]);
    atlas["commands"] = json!([{"family": "f0", "module": "m.cjs", "router": "r"}]);
    atlas["config"] = json!({"k0.on": {"type": "boolean", "default": true, "description": "On."}});
    atlas["steps"] = json!([step("plan:pre", &["X0"], &[])]);
    let mut quill = feature("quill");
    quill["requires"] = json!(["atlas"]);
    quill["gates"] = json!([gate("ship:pre")]);
    let mut tide = feature("tide");
    tide["tier"] = json!("standard");
    tide["contributions"] = json!([contribution("plan:pre", &["Y0"], &[])]);
    base(&[atlas, quill, tide])
}

fn contribution(point: &str, produces: &[&str], consumes: &[&str]) -> Value {
    json!({"point": point, "into": "planner", "fragment": {"inline": "x"}, "produces": produces, "consumes": consumes})
}

/// Mostly names of their own, now and then one that is taken or reserved.
const IDS: [&str; 10] =
    ["acorn", "birch", "cedar", "dune", "elm", "fig", "gorse", "hazel", "atlas", "gsd-ivy"];
const POINTS: [&str; 3] = ["plan:pre", "plan:post", "ship:pre"];
const ARTIFACTS: [&str; 7] = ["X0", "X1", "X2", "X3", "X4", "X5", "PLAN.md"];

fn names(kind: &'static str) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((0..12_u8).prop_map(move |n| format!("{kind}{n}")), 0..2)
}

fn artifacts() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(ARTIFACTS.to_vec(), 0..2)
}

fn manifest() -> impl Strategy<Value = Value> {
    let surfaces = (names("s"), names("a"), names("f"), names("k"));
    let hooks = (
        prop::collection::vec((select(POINTS.to_vec()), artifacts(), artifacts()), 0..2),
        prop::collection::vec((artifacts(), artifacts()), 0..2),
        prop::collection::vec(select(POINTS.to_vec()), 0..2),
    );
    let rest = (
        select(IDS.to_vec()),
        prop_oneof![1 => Just("core"), 2 => Just("standard"), 5 => Just("full")],
        subsequence(vec!["acorn", "birch", "cedar", "dune", "elm", "atlas", "ghost"], 0..2),
        prop_oneof![18 => Just(">=1.0.0"), 1 => Just(">=9.0.0"), 1 => Just("nonsense 1")],
    );
    (surfaces, hooks, rest).prop_map(
        |((skills, agents, families, keys), (steps, contributions, gates), rest)| {
            let (id, tier, requires, engines) = rest;
            let mut manifest = feature(id);
            manifest["tier"] = json!(tier);
            manifest["requires"] = json!(requires);
            manifest["engines"] = json!({"gsd": engines});
            manifest["skills"] = json!(skills);
            manifest["agents"] = json!(agents);
            manifest["commands"] = families
                .iter()
                .map(|family| json!({"family": family, "module": "m.cjs", "router": "r"}))
                .collect();
            for key in keys {
                let slice = json!({"type": "boolean", "default": true, "description": "On."});
                manifest["config"][format!("{key}.on")] = slice;
            }
            manifest["steps"] = steps.iter().map(|(point, out, needed)| step(point, out, needed)).collect();
            manifest["contributions"] =
                contributions.iter().map(|(out, needed)| contribution("plan:pre", out, needed)).collect();
            manifest["gates"] = gates.iter().map(|point| gate(point)).collect();
            manifest
        },
    )
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let verdict = prop_oneof![
        8 => Just(ConsentVerdict::Granted),
        1 => Just(ConsentVerdict::Missing),
        1 => Just(ConsentVerdict::Changed),
    ];
    let ledger = prop_oneof![
        8 => Just(LedgerState::Committed),
        1 => Just(LedgerState::Absent),
        1 => Just(LedgerState::Pending),
    ];
    (manifest(), any::<bool>(), verdict, ledger).prop_map(|(manifest, local, verdict, ledger)| {
        let candidate = if local { project(&manifest, verdict) } else { global(&manifest) };
        Candidate { ledger, ..candidate }
    })
}

/// Candidates as they can stand on a disk: one folder of a name per root.
fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    prop::collection::vec(candidate(), 0..12).prop_map(|mut all| {
        let mut seen = std::collections::HashSet::new();
        all.retain(|one| seen.insert(one.bundle_dir.clone()));
        all
    })
}

fn views(composition: &Composition) -> Value {
    composition.registry.view(View::All, None)
}

fn rows(composition: &Composition) -> Vec<(String, Scope, Option<&SkipReason>)> {
    let skips = composition.skips.iter().map(|skip| (skip.id.clone(), skip.scope, Some(&skip.reason)));
    let overlays = composition.registry.capabilities().iter().filter(|one| one.scope != Scope::FirstParty);
    skips.chain(overlays.map(|one| (one.id().to_string(), one.scope, None))).collect()
}

fn was_accepted(composition: &Composition, candidate: &Candidate) -> bool {
    let mut overlays = composition.registry.capabilities().iter();
    overlays.any(|one| one.id().as_str() == candidate.dir_name && one.scope == candidate.scope)
}

/// One member of a manifest with another value, or the whole set around it.
fn edited(all: &[Candidate], at: usize, edit: usize, value: &Value) -> Vec<Candidate> {
    let mut all = all.to_vec();
    let Some(one) = at.checked_rem(all.len()).and_then(|at| all.get_mut(at)) else { return all };
    let ManifestRead::Read(assessed) = &one.manifest else { return all };
    let Some(mut raw) = assessed.document.as_ref().map(Document::read) else { return all };
    match edit {
        0 => raw["version"] = json!("7.7.7"),
        1 => raw["description"] = json!("Another one."),
        2 => raw["title"] = json!("Another one"),
        3 => raw["hooks"] = json!([{"event": "Stop", "script": "s.sh"}]),
        4 => one.ledger = LedgerState::Pending,
        5 => one.consent = ConsentVerdict::Changed,
        6 => raw["nonsense"] = json!(1),
        other => {
            let members = [
                "skills",
                "agents",
                "commands",
                "config",
                "steps",
                "contributions",
                "gates",
                "requires",
                "tier",
                "engines",
            ];
            let name = members[other % members.len()];
            raw[name] = value[name].clone();
        }
    }
    let bytes = raw.to_string();
    one.manifest =
        ManifestRead::Read(Arc::new(assess(&one.dir_name, bytes.as_bytes(), &HostContract::builtin())));
    all
}

/// Everything that composition says.
fn account(composition: &Composition) -> String {
    let Composition {
        registry, accepted, skips, blocked_gates, gate_caps, diagnostics, command_roots, ..
    } = composition;
    let texts: Vec<_> =
        registry.capabilities().iter().map(|one| (&one.step_bodies, &one.contribution_bodies)).collect();
    format!(
        "{}\n{texts:?}\n{accepted:?}\n{skips:?}\n{blocked_gates:?}\n{gate_caps:?}\n{diagnostics:?}\n{command_roots:?}",
        registry.view(View::All, Some(composition))
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every shipped name keeps its owner, and every shipped capability stays.
    #[test]
    fn first_party_always_wins(candidates in candidates()) {
        let base = shipped();
        let composition = compose(&base, &candidates);
        let registry = &composition.registry;
        prop_assert_eq!(registry.skill_owner("s0").unwrap().as_str(), "atlas");
        prop_assert_eq!(registry.agent_owner("a0").unwrap().as_str(), "atlas");
        prop_assert_eq!(registry.family("f0").unwrap().owner.id().as_str(), "atlas");
        prop_assert_eq!(registry.config_entry("k0.on").unwrap().owner.id().as_str(), "atlas");
        for (ours, theirs) in base.registry().capabilities().iter().zip(registry.capabilities()) {
            prop_assert!(Arc::ptr_eq(ours, theirs));
        }
    }

    /// Every candidate is either accepted or left out, once.
    #[test]
    fn every_candidate_has_one_fate(candidates in candidates()) {
        let composition = compose(&shipped(), &candidates);
        prop_assert_eq!(rows(&composition).len(), candidates.len());
        prop_assert!(!composition.skips.iter().any(|skip| skip.reason == SkipReason::ProcessingFault));
    }

    /// The order in which folders are listed changes nothing.
    #[test]
    fn knowing_the_set_before_changes_nothing(
        candidates in candidates(),
        edits in prop::collection::vec((any::<usize>(), 0..17_usize, manifest()), 1..5),
    ) {
        let base = shipped();
        let mut before = candidates;
        let mut composed = compose(&base, &before);
        for (at, edit, value) in edits {
            let after = edited(&before, at, edit, &value);
            let known_candidates: Vec<&Candidate> = before.iter().collect();
            let known = Known { candidates: &known_candidates, composition: &composed };
            let (warm, cold) = (compose_after(&base, &after.iter().collect::<Vec<_>>(), Some(known)), compose(&base, &after));
            prop_assert_eq!(account(&warm), account(&cold));
            (before, composed) = (after, warm);
        }
    }

    #[test]
    fn listing_order_does_not_matter(candidates in candidates(), seed in any::<usize>()) {
        let mut other = candidates.clone();
        if !other.is_empty() {
            let middle = seed % other.len();
            other.rotate_left(middle);
            other[..middle].reverse();
        }
        let (a, b) = (compose(&shipped(), &candidates), compose(&shipped(), &other));
        prop_assert_eq!(views(&a), views(&b));
        prop_assert_eq!(a.skips, b.skips);
        prop_assert_eq!(a.blocked_gates, b.blocked_gates);
    }

    /// The accepted set breaks no rule.
    #[test]
    fn the_result_is_consistent(candidates in candidates()) {
        let base = shipped();
        let composition = compose(&base, &candidates);
        let set: Vec<&Manifest> =
            composition.registry.capabilities().iter().map(|one| one.manifest.as_ref()).collect();
        let found = check_set(&set, base.contract(), base.central());
        prop_assert!(found.is_empty(), "{:?}", found.iter().map(|(m, p)| (&m.id, p)).collect::<Vec<_>>());
    }

    /// Whoever is left out for the sake of the set could not have been added to what was accepted.
    #[test]
    fn nobody_is_left_out_without_need(candidates in candidates()) {
        let base = shipped();
        let composition = compose(&base, &candidates);
        let (accepted, skipped): (Vec<&Candidate>, Vec<&Candidate>) =
            candidates.iter().partition(|one| was_accepted(&composition, one));
        for one in skipped.iter().filter(|one| one.ledger != LedgerState::Pending && !one.is_unconsented()) {
            prop_assert!(!check_install(&base, &accepted, one).is_empty(), "{}", one.dir_name);
        }
    }

    /// A candidate that is left out leaves no trace in the views.
    #[test]
    fn skipped_candidates_leave_no_trace(candidates in candidates()) {
        let with = compose(&shipped(), &candidates);
        let accepted: Vec<Candidate> =
            candidates.iter().filter(|one| was_accepted(&with, one)).cloned().collect();
        let without = compose(&shipped(), &accepted);
        prop_assert_eq!(views(&with), views(&without));
        prop_assert_eq!(with.command_roots, without.command_roots);
        prop_assert!(without.skips.is_empty());
    }

    /// One more capability that shares nothing changes no other row.
    #[test]
    fn an_unrelated_capability_changes_no_other_row(candidates in candidates()) {
        let mut lone = feature("zinnia");
        lone["skills"] = json!(["zinnia"]);
        lone["steps"] = json!([step("plan:pre", &["ZINNIA.md"], &[])]);
        let before = compose(&shipped(), &candidates);
        let mut more = candidates.clone();
        more.push(global(&lone));
        let after = compose(&shipped(), &more);
        let others: Vec<_> = rows(&after).into_iter().filter(|(id, _, _)| id != "zinnia").collect();
        prop_assert_eq!(rows(&before), others);
        prop_assert_eq!(before.blocked_gates, after.blocked_gates);
    }

    /// Every gate of a candidate that is left out is reported; nothing an unconsented bundle says is repeated.
    #[test]
    fn lost_gates_are_reported(candidates in candidates()) {
        let composition = compose(&shipped(), &candidates);
        let declared: usize = candidates
            .iter()
            .filter(|one| !was_accepted(&composition, one))
            .map(|one| match &one.manifest {
                ManifestRead::Read(assessed) => assessed.gates.len(),
                ManifestRead::Missing | ManifestRead::Unreadable(_) => 0,
            })
            .sum();
        prop_assert_eq!(composition.blocked_gates.len(), declared);
        for skip in composition.skips.iter().filter(|skip| skip.unconsented) {
            prop_assert!(!skip.text().contains("nonsense") && !skip.text().contains("9.0.0"));
        }
    }

    /// Any bytes get an answer.
    #[test]
    fn any_bytes_are_assessed(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_total(&bytes);
    }

    /// A manifest with a piece of its text replaced gets an answer.
    #[test]
    fn any_mutation_is_assessed(
        manifest in manifest(),
        at in any::<prop::sample::Index>(),
        len in 0..12_usize,
        piece in select(vec!["", "null", "{}", "[]", "\"\"", "0", ",", "\"..\"", "[null]", "1e999", "\u{1}"]),
    ) {
        let mut bytes = manifest.to_string().into_bytes();
        let start = at.index(bytes.len());
        let end = bytes.len().min(start + len);
        bytes.splice(start..end, piece.bytes());
        check_total(&bytes);
    }
}

fn check_total(bytes: &[u8]) {
    let assessed = assess("acorn", bytes, &HostContract::builtin());
    assert_eq!(assessed.manifest.is_some(), assessed.problems.is_empty());
    for problem in &assessed.problems {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.fix.is_empty(), "{problem:?}");
    }
    let valid = assessed.manifest.is_some();
    let candidate =
        Candidate { manifest: ManifestRead::Read(Arc::new(assessed)), ..global(&feature("acorn")) };
    let composition = compose(&shipped(), &[candidate]);
    assert!(valid || composition.accepted.is_empty());
}
