//! The capabilities that this repository ships.

#![expect(clippy::disallowed_methods, reason = "a test reads files, and a broken tree should stop it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gsdd_core::manifest::assess;
use gsdd_core::registry::{Base, BaseManifest, BaseParts, HostContract};
use gsdd_core::version::HostVersion;

/// Every shipped capability holds every rule, ours included, and together they make a base.
#[test]
fn shipped_capabilities_hold_every_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../capabilities");
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let dir = entry.unwrap().path();
        let Ok(bytes) = fs::read(dir.join("capability.json")) else { continue };
        let dir_name = dir.file_name().unwrap().to_str().unwrap().to_owned();
        let assessed = assess(&dir_name, &bytes, &HostContract::builtin());
        problems.extend(
            assessed.problems.iter().map(|problem| format!("{dir_name} {}: {problem:?}", problem.rule)),
        );
        let mut fragments = BTreeMap::new();
        for path in assessed.fragment_paths {
            let text = fs::read_to_string(dir.join(&path)).unwrap_or_default();
            if text.trim().is_empty() {
                problems.push(format!("{dir_name}: the fragment {path} is missing or empty"));
            }
            fragments.insert(path, text);
        }
        manifests.push(BaseManifest { dir_name, bytes, fragments });
    }
    assert!(problems.is_empty(), "{problems:#?}");
    let gsd_version = HostVersion::new(1, 10, 0);
    let base = Base::build(BaseParts { manifests, gsd_version, ..BaseParts::default() });
    assert!(base.is_ok(), "{:#?}", base.err());
}
