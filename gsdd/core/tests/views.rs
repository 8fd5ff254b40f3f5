//! Every view of the registry: each part of the whole can be asked for by itself.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test reads files, and a broken vector file should stop it"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::collections::{BTreeMap, BTreeSet};

use gsdd_core::compose::compose;
use gsdd_core::registry::{Base, BaseManifest, BaseParts, View};
use gsdd_core::version::HostVersion;
use serde_json::Value;
use support::cases;

fn base_of(case: &Value) -> Option<Base> {
    let shipped = case["manifests"].as_array().unwrap().iter().map(|entry| BaseManifest {
        dir_name: entry["dir_name"].as_str().unwrap().to_owned(),
        bytes: entry["manifest"].to_string().into_bytes(),
        fragments: BTreeMap::new(),
    });
    let gsd_version = HostVersion::new(1, 10, 0);
    Base::build(BaseParts { manifests: shipped.collect(), gsd_version, ..BaseParts::default() }).ok()
}

fn bases() -> Vec<Base> {
    cases("manifest/derived-views.json").iter().filter_map(base_of).collect()
}

#[test]
fn each_part_of_the_whole_is_a_view() {
    let names = [
        ("capabilities", View::Capabilities),
        ("bySkill", View::BySkill),
        ("byAgent", View::ByAgent),
        ("byLoopPoint", View::ByLoopPoint),
        ("configKeys", View::ConfigKeys),
        ("configSchema", View::Config),
        ("runtimes", View::Runtimes),
        ("commandFamilies", View::Families),
        ("capabilityClusters", View::Clusters),
        ("profileMembership", View::Profiles),
    ];
    let bases = bases();
    assert!(bases.len() > 10);
    for base in bases {
        let all = base.registry().view(View::All, None);
        let members: BTreeSet<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
        let expected: BTreeSet<&str> = names.iter().map(|(name, _)| *name).chain(["version"]).collect();
        assert_eq!(members, expected);
        for (name, view) in names {
            assert_eq!(all[name], base.registry().view(view, None), "{name}");
        }
    }
}

#[test]
fn the_closure_has_a_row_for_each_capability() {
    let mut compared = 0;
    for case in cases("manifest/derived-views.json") {
        let Some(expected) = case["views"]["requires_closure"].as_object() else { continue };
        let Some(base) = base_of(&case) else { continue };
        let closure = base.registry().view(View::RequiresClosure, None);
        assert_eq!(closure.as_object().unwrap().len(), base.registry().capabilities().len());
        for (id, required) in expected {
            assert_eq!(&closure[id], required, "{}: {id}", case["name"]);
            compared += 1;
        }
    }
    assert!(compared > 10);
}

#[test]
fn words_are_unique_and_the_account_is_a_view_of_its_own() {
    let words: BTreeSet<&str> = View::ALL.iter().map(|(word, _)| *word).collect();
    assert_eq!(words.len(), View::ALL.len());
    for (word, view) in View::ALL {
        assert_eq!(View::parse(word), Some(view));
    }
    assert_eq!(View::parse("none"), None);
    let base = bases().remove(0);
    let composition = compose(&base, &[]);
    let account = composition.registry.view(View::Overlay, Some(&composition));
    let members: BTreeSet<&str> = account.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["blockedGates", "commandRoots", "diagnostics", "incompatibleGateCapIds", "warnings"];
    assert_eq!(members, BTreeSet::from(expected));
}
