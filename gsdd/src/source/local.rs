//! A folder on this machine: always copied; a linked one is copied again when it changes.

use std::path::{Component, Path, PathBuf};

use gsd_proto::{Code, WireError};
use gsdd_core::json;
use gsdd_core::text::shown;
use gsdd_core::trust::VerificationLevel;
use serde_json::Value;

use super::{Caller, Fetched, signed};
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::fs::staging::stage_folder;
use crate::lifecycle::from_tree;
use crate::store::TakenFrom;

/// Reads the folder `path`, taken relative to the caller's working directory.
pub(super) fn fetch(path: &str, caller: &Caller<'_>) -> Result<Fetched, WireError> {
    let folder = tidy(&caller.ctx.cwd.join(path));
    if !folder.exists() {
        return Err(WireError::new(
            Code::NotFound,
            format!("there is no folder {}", shown(&folder.to_string_lossy())),
        )
        .at_file(&folder)
        .with_fix("check the path; a local source starts with ./ or ../ or is absolute", &[]));
    }
    let tree = stage_folder(&folder, &caller.room).map_err(|refusal| from_tree(&refusal))?;
    let recorded = recorded(&folder, caller.project_root.as_deref());
    let mut from = TakenFrom::default().carrying(VerificationLevel::None);
    if let Some(signature) = signed::beside_folder(&folder)?.filter(|_| caller.wants_signatures) {
        let line = signed::signed_line(tree.content_hash());
        let beside = || signed::key_beside_folder(&folder);
        from.signer =
            Some(signed::verified(path, &signature, &line, caller, beside)?.signer_of(&tree, caller));
    }
    Ok(Fetched { tree, recorded, from })
}

/// The manifest in the folder `path`, of any shape.
pub(super) fn manifest(path: &str, caller: &Caller<'_>) -> Result<Value, WireError> {
    let file = tidy(&caller.ctx.cwd.join(path)).join("capability.json");
    let unusable = |why: String| WireError::new(Code::NotFound, why).at_file(&file);
    let bytes = bounded_read::read(&file, MAX_FILE).map_err(|failure| unusable(failure.to_string()))?;
    json::parse_lenient(&bytes).ok_or_else(|| unusable("the manifest is not JSON".to_owned()))
}

/// A path inside the project is recorded relative to it, so that it means the same on a colleague's machine; any other
/// is recorded absolute, so that it means the same from every folder (FR-015, FR-023).
fn recorded(folder: &Path, project_root: Option<&Path>) -> String {
    match project_root.and_then(|root| folder.strip_prefix(root).ok()) {
        Some(inside) => format!("./{}", inside.to_string_lossy()),
        None => folder.to_string_lossy().into_owned(),
    }
}

/// Takes `.` and `..` out lexically, as a person reads a path.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_023_a_relative_source_is_resolved_once() {
        assert_eq!(tidy(Path::new("/p/a/../src/./x")), Path::new("/p/src/x"));
        assert_eq!(recorded(Path::new("/p/caps/x"), Some(Path::new("/p"))), "./caps/x");
        assert_eq!(recorded(Path::new("/src/x"), Some(Path::new("/p"))), "/src/x");
        assert_eq!(recorded(Path::new("/src/x"), None), "/src/x");
    }
}
