//! What was agreed to is every bit of a bundle, and not how its manifest is spelled.

#![expect(clippy::unwrap_used, clippy::panic, reason = "support of tests: a panic is the report")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use gsdd_core::compose::ConsentVerdict;
use gsdd_core::consent::{ConsentRecord, record_key};
use gsdd_core::ids::CapabilityId;
use gsdd_core::registry::{Base, BaseParts};
use gsdd_core::version::HostVersion;
use serde_json::{Map, Value, json};

use super::bundles::{Bundles, NotRunnable};
use super::snapshot::Snapshot;
use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read;
use crate::fs::bundle_tree::BundleTree;
use crate::lifecycle::{digest_of, facts_of};
use crate::store::{Objects, OwnState, Places, ScopeRoot};
use gsdd_core::bundle::budget::MAX_BYTES;

static BASE: LazyLock<Arc<Base>> = LazyLock::new(|| {
    let base = Base::build(BaseParts { gsd_version: HostVersion::new(1, 10, 0), ..BaseParts::default() });
    Arc::new(base.unwrap_or_else(|_| panic!("an empty base composes")))
});

/// The person's own, and the project's.
const IDS: [[&str; 3]; 2] =
    [["acme-guard", "acme-plans", "acme-tools"], ["team-guard", "team-plans", "team-tools"]];

/// A home and a project with a set of capabilities each, all agreed to.
struct Machine {
    root: tempfile::TempDir,
    random: u64,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proj/.git")).unwrap();
        let machine = Self { root, random: 0x9e37_79b9_7f4a_7c15 };
        let mut taken = Map::new();
        let mut records = Map::new();
        for (place, ids) in machine.roots() {
            let mut entries = Map::new();
            for id in ids {
                let bundle = place.bundles().join(id);
                for (path, text) in files(id) {
                    write(&bundle.join(path), text.as_bytes());
                }
                let tree = BundleTree::read(&bundle, MAX_BYTES).unwrap();
                let hash = tree.content_hash();
                machine.objects().keep(&tree).unwrap();
                taken.insert(
                    OwnState::taken_key(&place.dir, id),
                    json!({"contentHash": hash.as_str(), "contentDigest": digest_of(&tree, &facts_of(&tree)),
                        "how": "installed", "at": "2026-01-01T00:00:00.000Z"}),
                );
                let record = ConsentRecord {
                    project_root: std::fs::canonicalize(&place.dir).unwrap().to_string_lossy().into_owned(),
                    id: CapabilityId::parse(id).unwrap(),
                    integrity: String::new(),
                    disclosure_signature: String::new(),
                    content_hash: hash.as_str().to_owned(),
                    consented_at: "2026-01-01T00:00:00.000Z".to_owned(),
                    reviewer_host: None,
                    extra: Map::new(),
                };
                records.insert(record_key(&record.project_root, id), record.to_value());
                entries.insert(
                    id.to_owned(),
                    json!({"id": id, "version": "1.0.0", "source": "/s", "integrity": "", "files": [], "sharedEdits": []}),
                );
            }
            let ledger = json!({"version": 1, "entries": entries});
            write(&place.ledger(), ledger.to_string().as_bytes());
        }
        let store = json!({"version": 1, "records": records});
        write(&machine.places().consent_store(), store.to_string().as_bytes());
        let state = json!({"version": 1, "taken": taken});
        write(&machine.places().own_state(), state.to_string().as_bytes());
        machine
    }

    fn places(&self) -> Places {
        let home = self.root.path().join("home");
        Places { user_home: home.clone(), data: home.join("data"), state: home.join("state"), gsd_home: home }
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("proj")
    }

    fn roots(&self) -> [(ScopeRoot, [&'static str; 3]); 2] {
        [(self.places().global_root(), IDS[0]), (ScopeRoot::project(&self.project()), IDS[1])]
    }

    fn objects(&self) -> Objects {
        Objects::new(self.places().objects())
    }

    /// Every file of every installed bundle.
    fn installed(&self) -> Vec<PathBuf> {
        self.roots()
            .iter()
            .flat_map(|(place, ids)| ids.map(|id| (place.bundles().join(id), id)))
            .flat_map(|(bundle, id)| files(id).into_iter().map(move |(path, _)| bundle.join(path)))
            .collect()
    }

    fn take(&self, bundles: &Bundles) -> Snapshot {
        Snapshot::take(&BASE, &self.places(), &self.project(), bundles, 1, None)
    }

    /// A number below `limit`; the same ones in every run.
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % u64::try_from(limit).unwrap()).unwrap()
    }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    atomic::write(path, bytes, Mode::Exactly(0o600)).unwrap();
}

/// Other bytes in the same file, as an editor or an attacker would put them there.
fn overwrite(path: &Path, bytes: &[u8], keep_time: bool) {
    use std::io::{Seek as _, Write as _};
    let mut file = File::options().write(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.rewind().unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(u64::try_from(bytes.len()).unwrap()).unwrap();
    if keep_time {
        file.set_modified(before).unwrap();
    }
}

/// Hooks, a command module, an MCP server; skills, an agent, a command document, a fragment; the manifests.
fn files(id: &str) -> Vec<(String, String)> {
    let mut manifest = json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": "T", "description": "D", "tier": "full",
        "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []}, "skills": [], "agents": [],
        "config": {}, "steps": [], "contributions": [], "gates": [], "hooks": [],
    });
    let mut files = Vec::new();
    match id.split_once('-').map(|(_, kind)| kind) {
        Some("guard") => {
            manifest["hooks"] = json!([{"event": "PreToolUse", "script": "hooks/a.sh", "matcher": "Write"}]);
            files.push(("hooks/a.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/b.sh\"\n"));
            files.push(("lib/b.sh", "echo ok\n"));
        }
        Some("plans") => {
            manifest["skills"] = json!([format!("{id}-risk")]);
            manifest["agents"] = json!([format!("{id}-analyst")]);
            manifest["contributions"] = json!([{"point": "plan:pre", "into": "planner", "produces": [],
                "consumes": [], "fragment": {"path": "fragments/plan.md"}}]);
            files.push(("skills/ID-risk/SKILL.md", "---\nname: risk\n---\nName the risks.\n"));
            files.push(("agents/ID-analyst.md", "---\nname: analyst\n---\nAsk why.\n"));
            files.push(("fragments/plan.md", "Plan by risk.\n"));
        }
        _ => {
            manifest["commands"] =
                json!([{"family": format!("{id}-run"), "module": "tool.cjs", "router": "run"}]);
            manifest["mcpServers"] = json!({(id): {"command": "python3", "args": ["server/notes.py"]}});
            manifest["gates"] = json!([{"point": "ship:pre", "blocking": true, "onError": "halt",
                "check": {"predicate": {"kind": "command-exit-zero", "command": "true"}}}]);
            files.push(("tool.cjs", "exports.run = () => 0;\n"));
            files.push(("server/notes.py", "print('notes')\n"));
            files.push(("commands/ID-run.md", "Use the tool.\n"));
        }
    }
    files.push(("capability.json", ""));
    let text = |path: &str, text: &str| {
        if path == "capability.json" { manifest.to_string() } else { text.to_owned() }
    };
    files.into_iter().map(|(path, body)| (path.replace("ID", id), text(path, body))).collect()
}

/// What a reader gets to see of the bundle that holds `file`: composed, or why not; and whether it runs.
fn state(machine: &Machine, bundles: &Bundles, file: &Path) -> (bool, ConsentVerdict, bool) {
    let snapshot = machine.take(bundles);
    let overlay = snapshot.overlays.iter().find(|overlay| file.starts_with(&overlay.bundle)).unwrap();
    let agreed = snapshot.own().taken(&overlay.root, &overlay.dir_name).unwrap().content_hash.clone();
    let fits = |digest: &str| snapshot.fits(overlay, digest);
    let runs = match bundles.runnable(&overlay.bundle, &agreed, fits, &machine.objects()) {
        Ok(runnable) => {
            assert_eq!(runnable.content_hash, agreed);
            true
        }
        Err(NotRunnable::Changed) => false,
        Err(problem) => panic!("{problem}"),
    };
    (overlay.accepted, overlay.consent, runs)
}

#[test]
fn t144_any_flipped_bit_makes_a_capability_inactive() {
    let mut machine = Machine::new();
    let bundles = Bundles::default();
    let installed = machine.installed();
    for flip in 0..10_000 {
        let path = &installed[machine.below(installed.len())];
        let agreed = bounded_read::read(path, 1 << 20).unwrap();
        let mut bytes = agreed.clone();
        let at = machine.below(bytes.len());
        bytes[at] ^= 1 << machine.below(8);
        overwrite(path, &bytes, flip % 2 == 0);
        let (composed, consent, runs) = state(&machine, &bundles, path);
        let what = || format!("flip {flip} in byte {at} of {}", path.display());
        assert!(!composed && !runs && consent == ConsentVerdict::Changed, "{}: {consent:?}", what());
        overwrite(path, &agreed, flip % 3 == 0);
        if flip % 100 == 0 {
            let (composed, consent, runs) = state(&machine, &bundles, path);
            assert!(
                composed && runs && consent != ConsentVerdict::Changed,
                "{} taken back: {consent:?}",
                what()
            );
        }
    }
}

/// The same document with its keys in reverse order and its blanks elsewhere.
fn reordered(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(key, member)| format!("{} :{}", json!(key), reordered(member)))
                .collect();
            format!("{{\n{} }}", members.join(",\n"))
        }
        Value::Array(items) => format!("[ {}]", items.iter().map(reordered).collect::<Vec<_>>().join(" , ")),
        other => other.to_string(),
    }
}

#[test]
fn neither_the_order_of_keys_nor_a_touch_changes_an_agreement() {
    let machine = Machine::new();
    let bundles = Bundles::default();
    for path in machine.installed() {
        let before = bundles.content_hash(path.parent().unwrap(), || MAX_BYTES).ok();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(SystemTime::now() + Duration::from_secs(60))
            .unwrap();
        let (composed, _, runs) = state(&machine, &bundles, &path);
        assert!(composed && runs, "a touch of {}", path.display());
        if path.ends_with("capability.json") {
            let document: Value =
                serde_json::from_slice(&bounded_read::read(&path, 1 << 20).unwrap()).unwrap();
            overwrite(&path, reordered(&document).as_bytes(), false);
            assert_ne!(bundles.content_hash(path.parent().unwrap(), || MAX_BYTES).ok(), before);
            let (composed, _, runs) = state(&machine, &bundles, &path);
            assert!(composed && runs, "the keys of {}", path.display());
        }
    }
}
