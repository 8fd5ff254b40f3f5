//! Candidates made in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use gsdd_core::compose::{Candidate, ConsentVerdict, LedgerState, ManifestRead, Scope};
use gsdd_core::manifest::assess;
use gsdd_core::registry::{Base, BaseManifest, BaseParts, CentralConfig, HostContract};
use gsdd_core::version::HostVersion;
use serde_json::{Value, json};

/// A feature without anything.
pub(crate) fn feature(id: &str) -> Value {
    json!({
        "id": id, "role": "feature", "version": "1.0.0", "title": id, "description": "An example.",
        "tier": "full", "requires": [], "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [], "agents": [], "config": {}, "steps": [], "contributions": [], "gates": []
    })
}

/// A step of a feature.
pub(crate) fn step(point: &str, produces: &[&str], consumes: &[&str]) -> Value {
    json!({"point": point, "ref": {"command": "noop"}, "produces": produces, "consumes": consumes, "onError": "skip"})
}

/// A gate.
pub(crate) fn gate(point: &str) -> Value {
    json!({"point": point, "check": {"query": "ok"}, "blocking": true, "onError": "halt"})
}

/// A committed candidate of the person's root.
pub(crate) fn global(manifest: &Value) -> Candidate {
    let id = manifest["id"].as_str().unwrap_or_default();
    let assessed = assess(id, manifest.to_string().as_bytes(), &HostContract::builtin());
    Candidate {
        dir_name: id.to_owned(),
        scope: Scope::Global,
        demoted: false,
        bundle_dir: format!("/home/.gsd/capabilities/{id}"),
        ledger: LedgerState::Committed,
        consent: ConsentVerdict::NotNeeded,
        manifest: ManifestRead::Read(Arc::new(assessed)),
        fragments: Arc::default(),
        config_home: None,
    }
}

/// A candidate of a project.
pub(crate) fn project(manifest: &Value, consent: ConsentVerdict) -> Candidate {
    let candidate = global(manifest);
    let bundle_dir = format!("/proj/.gsd/capabilities/{}", candidate.dir_name);
    Candidate { scope: Scope::Project, consent, bundle_dir, ..candidate }
}

/// A base of these manifests, without config keys of the host.
pub(crate) fn base(manifests: &[Value]) -> Base {
    let shipped = manifests.iter().map(|manifest| BaseManifest {
        dir_name: manifest["id"].as_str().unwrap_or_default().to_owned(),
        bytes: manifest.to_string().into_bytes(),
        fragments: BTreeMap::new(),
    });
    Base::build(BaseParts {
        manifests: shipped.collect(),
        central: CentralConfig::default(),
        gsd_version: HostVersion::new(1, 10, 0),
        ..BaseParts::default()
    })
    .unwrap()
}
