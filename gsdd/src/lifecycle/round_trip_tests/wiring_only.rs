//! Placing and editing alone: what is planned for one place is carried out, planned again, and taken out.

use std::fs;
use std::path::Path;

use gsdd_core::lifecycle::Step;
use gsdd_core::projection::{self, HostPlaces};
use gsdd_core::runtime::{Descriptor, WiringScope};

use super::random::{Lot, document, produced};
use super::{difference, put, temporary, tree};
use crate::apply::{Tools, perform};
use crate::engine::{BaseSource, load_base};
use crate::lifecycle::wiring::{WiringPlan, plan_wiring};
use crate::store::{Objects, OwnState, TargetKey};

const CASES: u64 = 10_000;

fn carry_out(plan: &WiringPlan) {
    let objects = Objects::new("/nowhere".into());
    let tools = Tools { objects: &objects, journal: Path::new("/nowhere"), now: "", umask: 0o022 };
    for step in plan.files.iter().chain(&plan.documents) {
        perform(step, &tools).unwrap();
    }
    for folder in &plan.emptied {
        perform(&Step::DropFolder { path: folder.clone() }, &tools).unwrap();
    }
}

/// How a case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// Something of the person's is in the way.
    Refused,
    /// It brings nothing that the host has a place for.
    Nothing,
    /// Files of its own alone.
    Files,
    /// Documents of the person were edited.
    Documents,
}

fn round_trip(seed: u64, root: &Path, descriptor: &Descriptor) -> Went {
    let mut lot = Lot::new(seed);
    let scope = if lot.one_in(2) { WiringScope::Global } else { WiringScope::Project };
    let (home, project) = (root.join("home"), root.join("proj"));
    for file in [
        home.join(".claude/settings.json"),
        home.join(".claude.json"),
        project.join(".claude/settings.local.json"),
        project.join(".mcp.json"),
    ] {
        if let Some(text) = document(&mut lot) {
            put(&file, &text);
        }
    }
    let places = HostPlaces {
        config_home: home.join(".claude"),
        moved: false,
        project_root: (scope == WiringScope::Project).then(|| project.clone()),
        launcher_word: "\"$HOME\"/.gsd/bin/gsdctl".to_owned(),
        launcher_path: home.join(".gsd/bin/gsdctl"),
    };
    let scope_root = if scope == WiringScope::Global { &home } else { &project };
    let key = TargetKey { runtime: descriptor.id.clone(), scope, root: scope_root.clone() };
    let ids: &[&str] = if lot.one_in(3) { &["acme-one", "acme-two"] } else { &["acme-one"] };
    let before = tree(root, &[]);
    let mut state = OwnState::default();
    let mut went = Went::Nothing;
    for id in ids {
        let placement = projection::place(descriptor, scope, &places, &produced(&mut lot, id));
        let plan = plan_wiring(&mut state, &key, id, Some(&placement), descriptor);
        if !plan.conflicts.is_empty() {
            assert!(difference(&before, &tree(root, &[])).is_empty() || ids[0] != *id, "seed {seed}");
            return Went::Refused;
        }
        went = match (plan.files.is_empty(), plan.documents.is_empty()) {
            (_, false) => Went::Documents,
            (false, true) if went != Went::Documents => Went::Files,
            _ => went,
        };
        carry_out(&plan);
        let installed = tree(root, &[]);
        let recorded = state.clone();
        let again = plan_wiring(&mut state, &key, id, Some(&placement), descriptor);
        assert!(again.conflicts.is_empty(), "seed {seed}: {:?}", again.conflicts);
        assert!(
            again.files.is_empty() && again.documents.is_empty(),
            "seed {seed}: planned again: {:?} {:?}",
            again.files,
            again.documents
        );
        carry_out(&again);
        assert_eq!(difference(&installed, &tree(root, &[])), "", "seed {seed}: installed again");
        assert_eq!(state, recorded, "seed {seed}: recorded again");
    }
    let order: Vec<&&str> = if lot.one_in(2) { ids.iter().collect() } else { ids.iter().rev().collect() };
    for id in order {
        let plan = plan_wiring(&mut state, &key, id, None, descriptor);
        assert!(plan.stuck.is_empty() && plan.not_wired.is_empty(), "seed {seed}: {:?}", plan.stuck);
        carry_out(&plan);
    }
    assert_eq!(difference(&before, &tree(root, &[])), "", "seed {seed}: installed and removed");
    assert!(!state.anything_wired(), "seed {seed}");
    went
}

#[test]
fn ten_thousand_host_files_come_back_to_the_byte() {
    let shipped = load_base(&BaseSource::Embedded).unwrap();
    let wired: Vec<&Descriptor> =
        shipped.descriptors.values().filter(|descriptor| descriptor.surfaces.is_some()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let went: Vec<Went> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let wired = &wired;
                scope.spawn(move || {
                    let dir = temporary();
                    let mut went = Vec::new();
                    for seed in (0..CASES).filter(|seed| seed % threads == thread) {
                        for folder in ["home", "proj"] {
                            let _ = fs::remove_dir_all(dir.path().join(folder));
                            fs::create_dir(dir.path().join(folder)).unwrap();
                        }
                        let host = wired[usize::try_from(seed).unwrap() % wired.len()];
                        went.push(round_trip(seed, dir.path(), host));
                    }
                    went
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted: Went| went.iter().filter(|went| **went == wanted).count();
    let [refused, nothing, files, documents] =
        [Went::Refused, Went::Nothing, Went::Files, Went::Documents].map(count);
    println!("refused {refused}, nothing {nothing}, files {files}, documents {documents}");
    assert!(documents > 8000 && refused < 500, "too little was tried");
}
