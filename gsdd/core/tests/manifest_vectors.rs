//! The manifest vectors, in full: verdicts observed from upstream against ours.

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
use std::sync::Arc;

use gsdd_core::compose::{
    Candidate, ConsentVerdict, FragmentRead, LedgerState, ManifestRead, Scope, compose,
};
use gsdd_core::ids::reserved_prefix;
use gsdd_core::manifest::{Assessed, Manifest, Strictness, assess, assess_as};
use gsdd_core::registry::{Base, BaseManifest, BaseParts, CentralConfig, HostContract, LoopPoint, View};
use gsdd_core::version::{EngineRange, HostVersion, has_range_shape, is_full_semver};
use serde_json::{Value, json};
use support::{Table, cases, set, text, vectors};

fn contract() -> HostContract {
    let contract = HostContract::from_json(&vectors("manifest/host-contract.json")).unwrap();
    assert_eq!(contract, HostContract::builtin());
    contract
}

fn bytes_of(case: &Value) -> Vec<u8> {
    match case.get("manifest_raw") {
        Some(raw) => raw.as_str().unwrap().as_bytes().to_vec(),
        None => case["manifest"].to_string().into_bytes(),
    }
}

fn rules_of(assessed: &Assessed) -> BTreeSet<String> {
    assessed.problems.iter().map(|problem| problem.rule.as_str().to_owned()).collect()
}

fn shown(rules: &BTreeSet<String>) -> String {
    if rules.is_empty() { "valid".to_owned() } else { rules.iter().cloned().collect::<Vec<_>>().join(" ") }
}

/// Whether our rules are an answer that the case allows.
fn allowed(case: &Value, ours: &BTreeSet<String>) -> bool {
    let expected = set(&case["rules"]);
    let composed = set(&case["compose_rules"]);
    let alternatives = set(&case["alt_rules"]);
    let strict = if case["composes"] == json!(false) { &composed } else { &expected };
    if ours == strict || (!ours.is_empty() && ours.is_subset(&alternatives)) {
        return true;
    }
    match (text(case, "policy"), text(case, "compose_policy")) {
        // Either verdict is fine; when upstream accepts, so are the rules by which we refuse.
        ("may-reject", _) => true,
        ("may-accept", _) | (_, "may-accept") => ours.is_empty(),
        _ => false,
    }
}

#[test]
fn single_manifests() {
    let mut table = Table::new(&[
        "text/",
        "envelope/",
        "feature/",
        "config-slice/",
        "loop-hooks/",
        "runtime/",
        "reviewer/",
    ]);
    let contract = contract();
    for file in ["text", "envelope", "feature", "config-slice", "loop-hooks", "runtime", "reviewer"] {
        let file = format!("single-{file}.json");
        for case in cases(&format!("manifest/{file}")) {
            let assessed = assess(text(&case, "dir_name"), &bytes_of(&case), &contract);
            let ours = rules_of(&assessed);
            assert_eq!(assessed.manifest.is_some(), ours.is_empty(), "{}", case["name"]);
            let warnings = case["warnings"].as_u64().unwrap_or(0);
            let agrees =
                allowed(&case, &ours) && (!ours.is_empty() || assessed.warnings.len() as u64 == warnings);
            let expected = format!("{} {} {}", case["rules"], case["compose_rules"], case["policy"]);
            table.case(&file, text(&case, "name"), agrees, &shown(&ours), &expected);
            for problem in &assessed.problems {
                assert!(problem.line > 0 && problem.column > 0, "{}: {problem:?}", case["name"]);
            }
        }
    }
    table.finish();
}

/// The manifests of a set; shipped ones, so that only upstream's rules apply.
fn manifests(case: &Value, contract: &HostContract) -> Result<Vec<Arc<Manifest>>, String> {
    let mut all = Vec::new();
    for entry in case["manifests"].as_array().unwrap() {
        let assessed = assess_as(Strictness::Shipped, text(entry, "dir_name"), &bytes_of(entry), contract);
        all.push(assessed.manifest.clone().ok_or_else(|| shown(&rules_of(&assessed)))?);
    }
    Ok(all)
}

#[test]
fn sets_of_manifests() {
    let mut table = Table::new(&["cross/"]);
    let contract = contract();
    let central = CentralConfig::from_json(&vectors("manifest/central-config-keys.json")).unwrap();
    for case in cases("manifest/cross.json") {
        let ours = match manifests(&case, &contract) {
            Ok(all) => {
                let verdict = |order: Vec<&Manifest>| -> BTreeSet<String> {
                    let found = gsdd_core::compose::check_set(&order, &contract, &central);
                    found.iter().map(|(_, problem)| problem.rule.as_str().to_owned()).collect()
                };
                let forward = verdict(all.iter().map(Arc::as_ref).collect());
                let backward = verdict(all.iter().rev().map(Arc::as_ref).collect());
                assert_eq!(forward, backward, "{}", case["name"]);
                forward
            }
            Err(rules) => rules.split(' ').map(str::to_owned).collect(),
        };
        let expected = format!("{} {} {}", case["rules"], case["compose_rules"], case["policy"]);
        let mut strict = set(&case["rules"]);
        if case["composes"] == json!(false) {
            strict.extend(set(&case["compose_rules"]));
        }
        let agrees = ours == strict || allowed(&case, &ours);
        table.case("cross.json", text(&case, "name"), agrees, &shown(&ours), &expected);
    }
    table.finish();
}

fn base_of(manifests: &Value) -> Result<Base, String> {
    let shipped = manifests.as_array().unwrap().iter().map(|entry| BaseManifest {
        dir_name: text(entry, "dir_name").to_owned(),
        bytes: bytes_of(entry),
        fragments: BTreeMap::new(),
    });
    let central = CentralConfig::default();
    let gsd_version = HostVersion::new(1, 10, 0);
    let parts = BaseParts { manifests: shipped.collect(), central, gsd_version, ..BaseParts::default() };
    Base::build(parts).map_err(|problems| {
        let rules: BTreeSet<String> =
            problems.iter().map(|problem| problem.problem.rule.as_str().to_owned()).collect();
        shown(&rules)
    })
}

#[test]
fn orders_at_loop_points() {
    let mut table = Table::new(&["ordering/"]);
    for case in cases("manifest/ordering.json") {
        let mut reversed = case["manifests"].as_array().unwrap().clone();
        reversed.reverse();
        let expected = &case["by_loop_point"];
        let ours = [case["manifests"].clone(), Value::Array(reversed)].map(|list| match base_of(&list) {
            Ok(base) => orders(&base),
            Err(rules) => json!(rules),
        });
        let [forward, backward] = &ours;
        assert_eq!(forward, backward, "{}", case["name"]);
        let agrees = forward == expected;
        table.case("ordering.json", text(&case, "name"), agrees, &forward.to_string(), &expected.to_string());
    }
    table.finish();
}

fn orders(base: &Base) -> Value {
    let mut points = json!({});
    for point in LoopPoint::ALL {
        let hooks = base.registry().hooks_at(point);
        let mut kinds = json!({});
        let mut put = |kind: &str, list: Vec<String>| {
            if !list.is_empty() {
                kinds[kind] = json!(list);
            }
        };
        put("steps", hooks.steps.iter().map(|w| format!("{}#{}", w.owner_id(), w.hook.index)).collect());
        let contributions = hooks.contributions.iter();
        put("contributions", contributions.map(|w| format!("{}#{}", w.owner_id(), w.hook.index)).collect());
        put("gates", hooks.gates.iter().map(|w| format!("{}#{}", w.owner_id(), w.hook.index)).collect());
        if kinds.as_object().is_some_and(|kinds| !kinds.is_empty()) {
            points[point.as_str()] = kinds;
        }
    }
    points
}

#[test]
fn derived_views() {
    let mut table = Table::new(&["derived/"]);
    for case in cases("manifest/derived-views.json") {
        let (agrees, ours) = match base_of(&case["manifests"]) {
            Ok(base) => views_agree(&base, &case["views"]),
            Err(rules) => (false, rules),
        };
        table.case("derived-views.json", text(&case, "name"), agrees, &ours, &case["views"].to_string());
    }
    table.finish();
}

fn views_agree(base: &Base, expected: &Value) -> (bool, String) {
    let registry = base.registry();
    let all = registry.view(View::All, None);
    let mut points = registry.view(View::ByLoopPoint, None);
    let present: Vec<String> = points.as_object().unwrap().keys().cloned().collect();
    points.as_object_mut().unwrap().retain(|_, kinds| {
        kinds.as_object().unwrap().values().any(|list| !list.as_array().unwrap().is_empty())
    });
    let mut runtimes: Vec<&str> = registry.runtimes().map(|runtime| runtime.id().as_str()).collect();
    runtimes.sort_unstable();
    let closures: BTreeMap<&str, Vec<String>> = registry
        .capabilities()
        .iter()
        .map(|capability| {
            let closure = registry.requires_closure(capability.id().as_str());
            (capability.id().as_str(), closure.iter().map(ToString::to_string).collect())
        })
        .collect();
    let ours = json!({
        "capability_ids": base.ids().map(ToString::to_string).collect::<Vec<_>>(),
        "by_skill": all["bySkill"],
        "by_agent": all["byAgent"],
        "by_loop_point": points,
        "loop_points_present": present,
        "config_keys": all["configKeys"],
        "config_schema": all["configSchema"],
        "runtimes": runtimes,
        "command_families": all["commandFamilies"],
        "clusters": all["capabilityClusters"],
        "profile_membership": all["profileMembership"],
        "requires_closure": closures,
    });
    let differing: Vec<&String> = expected
        .as_object()
        .unwrap()
        .keys()
        .filter(|view| ours[view.as_str()] != expected[view.as_str()])
        .collect();
    let owners: BTreeSet<&str> = LoopPoint::ALL
        .into_iter()
        .flat_map(|point| registry.hooks_at(point).gates)
        .map(|gate| gate.owner_id().as_str())
        .collect();
    let shown = differing.iter().map(|view| match view.as_str() {
        "by_loop_point" => format!("by_loop_point: gates of {owners:?}"),
        view => format!("{view}: {}", ours[view]),
    });
    (differing.is_empty(), shown.collect::<Vec<_>>().join("; "))
}

#[test]
fn fragments_are_materialised() {
    let mut table = Table::new(&["fragments/"]);
    let base = base_of(&json!([])).unwrap();
    for case in cases("manifest/fragments.json") {
        let assessed = assess(text(&case, "dir_name"), &bytes_of(&case), base.contract());
        let read = |path: &String| (path.clone(), read_fragment(&case, path));
        let candidate = Candidate {
            dir_name: text(&case, "dir_name").to_owned(),
            scope: Scope::Global,
            demoted: false,
            bundle_dir: "/bundle".to_owned(),
            ledger: LedgerState::Committed,
            consent: ConsentVerdict::NotNeeded,
            fragments: Arc::new(assessed.fragment_paths.iter().map(read).collect()),
            manifest: ManifestRead::Read(Arc::new(assessed)),
            config_home: None,
        };
        let composition = compose(&base, &[candidate]);
        let ours = match composition.skips.first() {
            Some(skip) => skip.reason.category().to_owned(),
            None => bodies(&composition.registry).to_string(),
        };
        let agrees = if case["valid"] == json!(true) {
            serde_json::from_str::<Value>(&ours).is_ok_and(|ours| ours == case["bodies"])
                || text(&case, "policy") == "may-reject"
        } else {
            !composition.skips.is_empty()
        };
        table.case("fragments.json", text(&case, "name"), agrees, &ours, &case["bodies"].to_string());
    }
    table.finish();
}

/// What the shell would find: regular files inside the bundle, links followed while they stay inside.
fn read_fragment(case: &Value, path: &str) -> FragmentRead {
    let path = path.trim_start_matches("./");
    if let Some(special) = case["special_files"][path].as_str() {
        return match special.split_once(':') {
            Some(("symlink", target)) => read_fragment(case, target),
            Some(("size", size)) => {
                let size: usize = size.parse().unwrap();
                if size as u64 > gsdd_core::json::MAX_BYTES {
                    FragmentRead::Refused("it is too large".to_owned())
                } else {
                    FragmentRead::Text("a".repeat(size).into())
                }
            }
            _ => FragmentRead::Refused("it is not a regular file of the bundle".to_owned()),
        };
    }
    match case["files"][path].as_str() {
        Some(text) => FragmentRead::Text(text.into()),
        None => FragmentRead::Refused("it does not exist".to_owned()),
    }
}

fn bodies(registry: &gsdd_core::registry::Registry) -> Value {
    let mut bodies = json!({});
    for capability in registry.capabilities() {
        for (kind, list) in
            [("steps", &capability.step_bodies), ("contributions", &capability.contribution_bodies)]
        {
            for (index, body) in list.iter().enumerate() {
                if let Some(body) = body {
                    bodies[format!("{kind}[{index}]")] = short(body);
                }
            }
        }
    }
    bodies
}

fn short(body: &str) -> Value {
    if body.len() > 1000 { json!({"length": body.len()}) } else { json!(body) }
}

#[test]
fn version_ranges() {
    let mut table = Table::new(&["semver/", "reserved/"]);
    for case in cases("manifest/semver.json") {
        let (version, range) = (text(&case, "version"), text(&case, "range"));
        assert_eq!(has_range_shape(range), case["range_shape_ok"].as_bool().unwrap(), "{range:?}");
        assert_eq!(is_full_semver(version), case["version_strict"].as_bool().unwrap(), "{version:?}");
        let ours = match EngineRange::parse(range) {
            Ok(range) => range.satisfies(HostVersion::parse_lossy(version)),
            // A range that nothing can satisfy is refused; the answer is the same.
            Err(_) => false,
        };
        let expected = case["satisfies"].as_bool().unwrap();
        let agrees = ours == expected || text(&case, "policy") == "may-differ";
        let name = format!("semver/{version} in {}", range.replace('|', "\\|"));
        table.case(
            "semver.json",
            &name.replace("\\|", "|"),
            agrees,
            &ours.to_string(),
            &expected.to_string(),
        );
    }
    for case in cases("manifest/reserved-prefix.json") {
        let ours = reserved_prefix(text(&case, "id")).is_some();
        let name = format!("reserved/{}", text(&case, "id"));
        let expected = case["reserved"].as_bool().unwrap();
        table.case("reserved-prefix.json", &name, ours == expected, &ours.to_string(), &expected.to_string());
    }
    table.finish();
}

#[test]
fn rule_table_has_every_published_rule() {
    for rule in vectors("manifest/rules.json")["rules"].as_array().unwrap() {
        let id = text(rule, "id");
        assert!(gsdd_core::manifest::rule_by_id(id).is_some(), "{id} is missing");
    }
}
