//! The shipped capabilities: embedded, or another tree that the person names (D-02).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsdd_core::registry::{Base, BaseManifest, BaseParts, CentralConfig, HostContract};
use gsdd_core::runtime::Descriptor;
use gsdd_core::version::HostVersion;
use serde_json::Value;

use crate::fs::bounded_read::{self, MAX_FILE};

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The GSD level of the embedded set, which `engines.gsd` is compared with. A property of the set, not the version
/// of our binaries.
const EMBEDDED_LEVEL: &str = "1.10.0";

/// Where the shipped capabilities come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseSource {
    /// Those in this binary.
    Embedded,
    /// A tree of `<id>/capability.json`.
    Folder(PathBuf),
}

/// The base could not be built; the daemon does not start with it.
#[derive(Debug, thiserror::Error)]
#[error("the shipped capabilities ({origin}) do not compose: {}", problems.join("; "))]
pub(crate) struct BaseFailure {
    pub(crate) origin: String,
    pub(crate) problems: Vec<String>,
}

/// The base and what the engine reads of its runtimes.
pub(crate) struct Shipped {
    pub(crate) base: Arc<Base>,
    pub(crate) descriptors: BTreeMap<String, Descriptor>,
    /// Answers when a request names no runtime: the one whose descriptor says so.
    pub(crate) default_runtime: Option<String>,
}

/// Builds the base.
pub(crate) fn load(source: &BaseSource) -> Result<Shipped, BaseFailure> {
    let (origin, parts) = match source {
        BaseSource::Embedded => ("embedded".to_owned(), embedded()),
        BaseSource::Folder(folder) => (folder.display().to_string(), from_folder(folder)),
    };
    let failure = |problems: Vec<String>| BaseFailure { origin: origin.clone(), problems };
    let base = Base::build(parts.map_err(|problem| failure(vec![problem]))?).map_err(|problems| {
        failure(
            problems
                .iter()
                .map(|at| format!("{}: {}: {}", at.dir_name, at.problem.rule.as_str(), at.problem.message))
                .collect(),
        )
    })?;
    let mut descriptors = BTreeMap::new();
    let mut default_runtime = None;
    for runtime in base.registry().runtimes() {
        let manifest = &runtime.manifest;
        let descriptor = Descriptor::from_manifest(&manifest.document.read())
            .map_err(|problem| failure(vec![format!("{}: {problem}", manifest.id)]))?;
        if descriptor.surfaces.as_ref().is_some_and(|surfaces| surfaces.is_default) {
            default_runtime = Some(manifest.id.to_string());
        }
        descriptors.insert(manifest.id.to_string(), descriptor);
    }
    Ok(Shipped { base: Arc::new(base), descriptors, default_runtime })
}

fn embedded() -> Result<BaseParts, String> {
    let mut manifests: BTreeMap<&str, BaseManifest> = BTreeMap::new();
    for (folder, path, bytes) in SHIPPED {
        let entry = manifests.entry(folder).or_insert_with(|| BaseManifest {
            dir_name: (*folder).to_owned(),
            bytes: Vec::new(),
            fragments: BTreeMap::new(),
        });
        if *path == "capability.json" {
            entry.bytes = bytes.to_vec();
        } else {
            let text = std::str::from_utf8(bytes).map_err(|error| format!("{folder}/{path}: {error}"))?;
            entry.fragments.insert((*path).to_owned(), text.to_owned());
        }
    }
    Ok(BaseParts {
        manifests: manifests.into_values().collect(),
        contract: HostContract::builtin(),
        central: CentralConfig::builtin(),
        clusters: BTreeMap::new(),
        profiles: BTreeMap::new(),
        gsd_version: HostVersion::parse(EMBEDDED_LEVEL).ok_or("the embedded level is not a version")?,
    })
}

fn from_folder(folder: &Path) -> Result<BaseParts, String> {
    let mut manifests = Vec::new();
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    for dir_name in names {
        let bundle = folder.join(&dir_name);
        let Ok(bytes) = bounded_read::read(&bundle.join("capability.json"), MAX_FILE) else { continue };
        let mut fragments = BTreeMap::new();
        for entry in fs::read_dir(bundle.join("fragments")).into_iter().flatten().flatten() {
            if let Ok(text) = bounded_read::read(&entry.path(), MAX_FILE).map(String::from_utf8)
                && let (Ok(text), Ok(name)) = (text, entry.file_name().into_string())
            {
                fragments.insert(format!("fragments/{name}"), text);
            }
        }
        manifests.push(BaseManifest { dir_name, bytes, fragments });
    }
    let beside = |name: &str| -> Result<Option<Value>, String> {
        let path = folder.join(name);
        match bounded_read::read(&path, MAX_FILE) {
            Ok(bytes) => match gsdd_core::json::parse_lenient(&bytes) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("{}: not JSON", path.display())),
            },
            Err(_) => Ok(None),
        }
    };
    let level = bounded_read::read(&folder.join("VERSION"), 256)
        .ok()
        .and_then(|bytes| HostVersion::parse(String::from_utf8_lossy(&bytes).trim()));
    Ok(BaseParts {
        manifests,
        contract: match beside("host-contract.json")? {
            Some(value) => HostContract::from_json(&value).map_err(|problem| problem.to_string())?,
            None => HostContract::builtin(),
        },
        central: match beside("central-config.json")? {
            Some(value) => CentralConfig::from_json(&value).map_err(|problem| problem.to_string())?,
            None => CentralConfig::builtin(),
        },
        clusters: BTreeMap::new(),
        profiles: BTreeMap::new(),
        gsd_version: level
            .or_else(|| HostVersion::parse(EMBEDDED_LEVEL))
            .ok_or("the embedded level is not a version")?,
    })
}
