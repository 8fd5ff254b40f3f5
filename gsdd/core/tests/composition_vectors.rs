//! The composition scenarios: what is accepted, what is left out and why, which gates are missing.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test makes the scenario on disk, and a broken vector file should stop it"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::collections::BTreeMap;
use std::fs;

use gsdd_core::compose::{Composition, Scope, compose};
use gsdd_core::registry::{Base, BaseManifest, BaseParts, CentralConfig, HostContract, View};
use gsdd_core::version::HostVersion;
use serde_json::{Map, Value, json};
use support::world::World;
use support::{Table, repository, text, vectors};

fn base(version: &str) -> Base {
    let folder = repository().join("tests/vectors/composition/base");
    let mut manifests = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let dir = entry.unwrap().path();
        let mut fragments = BTreeMap::new();
        for file in fs::read_dir(dir.join("fragments")).into_iter().flatten() {
            let path = file.unwrap().path();
            let name = format!("fragments/{}", path.file_name().unwrap().to_str().unwrap());
            fragments.insert(name, fs::read_to_string(&path).unwrap());
        }
        manifests.push(BaseManifest {
            dir_name: dir.file_name().unwrap().to_str().unwrap().to_owned(),
            bytes: fs::read(dir.join("capability.json")).unwrap(),
            fragments,
        });
    }
    let list = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let clusters = vectors("composition/support/clusters.json");
    let profiles = vectors("composition/support/profiles.json");
    Base::build(BaseParts {
        manifests,
        contract: HostContract::from_json(&vectors("composition/support/host-contract.json")).unwrap(),
        central: CentralConfig::from_json(&vectors("composition/support/central-config.json")).unwrap(),
        clusters: clusters.as_object().unwrap().iter().map(|(name, s)| (name.clone(), list(s))).collect(),
        profiles: profiles
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, skills)| (name.clone(), skills.is_array().then(|| list(skills))))
            .collect(),
        gsd_version: HostVersion::parse(version).unwrap(),
    })
    .unwrap()
}

/// The result in the shape of `expect`.
fn observed(composition: &Composition, base: &Base, root: &str) -> Map<String, Value> {
    let registry = &composition.registry;
    let overlay = |scope: Scope| scope != Scope::FirstParty;
    let runtimes = registry.runtimes().filter(|r| overlay(r.scope)).map(|r| r.id().as_str());
    let families = registry.families().filter(|f| overlay(f.owner.scope));
    let skipped = composition.skips.iter().map(|skip| {
        let mut row = json!({"id": skip.id, "scope": skip.scope.as_str(), "rule": skip.reason.category()});
        let details = skip.reason.details();
        if skip.reason.kind().is_none() && !details.is_empty() {
            row["detail"] = json!(details);
        }
        row
    });
    let blocked = composition.blocked_gates.iter().map(|gate| json!({"point": gate.point, "capId": gate.id}));
    let roots = composition.command_roots.iter().map(|(id, dir)| {
        (id.to_string(), json!(dir.strip_prefix(root).unwrap_or(dir).trim_start_matches('/')))
    });
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    put("overlayAttached", json!(composition.overlay_attached));
    put("accepted", json!(composition.accepted.iter().map(ToString::to_string).collect::<Vec<_>>()));
    put("acceptedRuntimes", json!(runtimes.collect::<Vec<_>>()));
    let families = families.map(|f| (f.command.family.clone(), json!(f.owner.id().as_str())));
    put("families", Value::Object(families.collect()));
    put("skipped", json!(skipped.collect::<Vec<_>>()));
    put("blockedGates", json!(blocked.collect::<Vec<_>>()));
    put("gateCaps", json!(composition.gate_caps));
    put("commandRoots", Value::Object(roots.collect()));
    put("diagnostics", json!(composition.diagnostics.len()));
    assert_eq!(
        registry.capabilities().len(),
        base.registry().capabilities().len() + composition.accepted.len()
    );
    result
}

/// The members that differ, in a short form.
fn differences(ours: &Map<String, Value>, expected: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (member, value) in ours {
        let empty = if value.is_object() { json!({}) } else { json!([]) };
        if value == expected.get(member).unwrap_or(&empty) {
            continue;
        }
        let short = match member.as_str() {
            "skipped" => listed(value, |row| {
                let detail: Vec<&str> =
                    row["detail"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let tail = if detail.is_empty() { String::new() } else { format!("/{}", detail.join("+")) };
                format!("{}:{}{tail}", text(row, "id"), text(row, "rule"))
            }),
            "blockedGates" => listed(value, |row| format!("{}@{}", text(row, "capId"), text(row, "point"))),
            "accepted" | "gateCaps" => listed(value, |row| row.as_str().unwrap_or_default().to_owned()),
            _ => value.to_string(),
        };
        lines.push(format!("{member}={short}"));
    }
    lines
}

fn listed(value: &Value, form: impl Fn(&Value) -> String) -> String {
    let rows: Vec<String> = value.as_array().into_iter().flatten().map(form).collect();
    format!("[{}]", rows.join(" "))
}

fn is_root() -> bool {
    let output = std::process::Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

#[test]
fn scenarios() {
    let mut table = Table::new(&["composition/"]);
    let mut files: Vec<_> = fs::read_dir(repository().join("tests/vectors/composition/cases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let root_user = is_root();
    for file in files {
        let case = vectors(&format!("composition/cases/{file}"));
        let group = text(&case, "id").split('-').next().unwrap().to_owned();
        // Questions about `set` are played through the programs, in the journeys.
        for section in ["loop", "state", "list", "predicate", "cli", "dispatch"] {
            if case.get(section).is_some() {
                table.pending(&group);
            }
        }
        let unprivileged = case["needs"].as_array().is_some_and(|needs| needs.contains(&json!("non-root")));
        if unprivileged && root_user {
            table.pending(&group);
            continue;
        }
        let world = World::new(&case);
        let base = base(text(&case["run"], "hostVersion"));
        let mut candidates = world.candidates(&case, base.contract());
        let composition = compose(&base, &candidates);
        candidates.reverse();
        let reversed = compose(&base, &candidates);
        assert_eq!(composition.skips, reversed.skips, "{file}");
        assert_eq!(composition.accepted, reversed.accepted, "{file}");
        let ours = observed(&composition, &base, world.root.to_str().unwrap());
        let lines = differences(&ours, &case["expect"]);
        let name = format!("composition/{}", text(&case, "id"));
        table.case(&group, &name, lines.is_empty(), &lines.join("; "), &case["expect"].to_string());
    }
    table.finish();
}

#[test]
fn base_registry_has_the_recorded_shape() {
    let mut expected = vectors("composition/registry/base.json");
    if let Some(inner) = expected.get("registry") {
        expected = inner.clone();
    }
    assert_same_views(&base("1.10.0").registry().view(View::All, None), &expected);
}

#[test]
fn composed_registry_has_the_recorded_shape() {
    let recorded = vectors("composition/registry/three-overlays.json");
    let mut tree = Vec::new();
    for overlay in recorded["overlays"].as_array().unwrap() {
        let path = format!("home/.gsd/capabilities/{}/capability.json", text(overlay, "id"));
        tree.push(json!({"path": path, "type": "file", "json": overlay}));
    }
    for (path, content) in recorded["files"].as_object().into_iter().flatten() {
        let path =
            if path.starts_with("home/") { path.clone() } else { format!("home/.gsd/capabilities/{path}") };
        tree.push(json!({"path": path, "type": "file", "content": content}));
    }
    let mut entries = json!({});
    for id in recorded["committed"].as_array().unwrap() {
        let id = id.as_str().unwrap();
        entries[id] = json!({"id": id, "version": "0.3.0", "source": "x", "integrity": "", "files": [], "sharedEdits": []});
    }
    let ledger = json!({"version": "1", "entries": entries});
    tree.push(json!({"path": "home/.gsd-capabilities.json", "type": "file", "json": ledger}));
    tree.push(json!({"path": "proj/.planning", "type": "dir"}));
    let case = json!({"id": "three-overlays", "tree": tree,
        "run": {"home": "home", "gsdHome": "home", "cwd": "proj", "hostVersion": "1.10.0"}});
    let world = World::new(&case);
    let base = base("1.10.0");
    let composition = compose(&base, &world.candidates(&case, base.contract()));
    let root = world.root.to_str().unwrap();
    let ours = composition.registry.view(View::All, Some(&composition)).to_string().replace(root, "${ROOT}");
    assert_same_views(&serde_json::from_str(&ours).unwrap(), &recorded["registry"]);
}

fn assert_same_views(ours: &Value, expected: &Value) {
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(ours), names(expected));
    for (view, value) in expected.as_object().unwrap() {
        assert_eq!(ours[view], *value, "{view}");
        if let Some(entries) = value.as_object() {
            assert_eq!(names(&ours[view]), entries.keys().cloned().collect::<Vec<_>>(), "order of {view}");
        }
    }
}
