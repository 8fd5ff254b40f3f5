//! The plan of switching a capability: its surface file, and its keys in the project's configuration.
//!
//! Both files are edited as text: what else stands in them stays (D-13).

use std::path::{Path, PathBuf};

use gsd_proto::{Code, WireError};
use gsdd_core::activation::{SurfaceFile, Switch, SwitchFacts, SwitchWish, plan_switch};
use gsdd_core::lifecycle::{FileBytes, Plan, Step, Verb};
use gsdd_core::projection::edit::{self, Dialect, EditRefusal};
use gsdd_core::text::shown;
use serde_json::{Value, json};

use super::remove::not_installed;
use super::wiring::{escaping, missing_folders};
use crate::engine::Snapshot;
use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};

/// A plan, and what did not stop it.
pub(crate) struct Switching {
    pub(crate) plan: Plan,
    pub(crate) warnings: Vec<String>,
}

/// Plans what `wish` takes for `id`. `config_home` is the folder of the host whose surface it is.
///
/// # Errors
/// Every objection at once, before anything is written.
pub(crate) fn plan_switching(
    snapshot: &Snapshot,
    id: &str,
    wish: &SwitchWish,
    config_home: Option<&Path>,
) -> Result<Switching, WireError> {
    let composed =
        snapshot.composition.registry.get(id).ok_or_else(|| not_installed(id, "switch", snapshot))?;
    let manifest = &composed.manifest;
    let enabled = snapshot.enabled_skills(config_home);
    let surface_path = config_home.map(|home| home.join(".gsd-surface.json"));
    let surface_bytes = surface_path.as_deref().map(read).transpose()?.flatten();
    let surface = surface_bytes.as_deref().map(usable_surface).transpose().map_err(|reason| {
        WireError::new(Code::UsageInvalid, format!("the surface file can't be used: {reason}"))
            .at_file(surface_path.as_deref().unwrap_or(Path::new("")))
            .with_fix("repair it or move it away, then run the same command again", &[])
    })?;
    let marker = config_home.and_then(|home| read(&home.join(".gsd-profile")).ok().flatten());
    let marker = marker.and_then(|bytes| String::from_utf8(bytes).ok());
    let config_path = &snapshot.config_files.main;
    let config_bytes = if wish.gates.is_empty() { None } else { read(config_path)? };
    let config = config_bytes.as_deref().map(|bytes| edit::read(bytes, Dialect::StrictJson));
    let facts = SwitchFacts {
        surface: surface.as_ref(),
        marker: marker.as_deref().map(str::trim),
        installed: enabled.installed(&manifest.skills),
        config_is_usable: config.is_none_or(|read| read.is_ok_and(|value| value.is_object())),
    };
    let switch = plan_switch(manifest, wish, &facts).map_err(|objections| refused(id, objections))?;
    if wish.on.is_some() && config_home.is_none() {
        return Err(WireError::new(Code::CompatRuntime, "there is no host whose surface could be changed")
            .with_fix("name one", &["gsdctl", "runtime", "list"]));
    }
    let mut plan = Plan { verb: Verb::Switch, id: id.to_owned(), roots: Vec::new(), steps: Vec::new() };
    if let (Some(path), Some(after)) = (surface_path, &switch.surface) {
        let text =
            surface_text(surface_bytes.as_deref(), after).map_err(|refusal| not_edited(&path, &refusal))?;
        push(&mut plan, path, surface_bytes, text, "which skills are on the surface");
    }
    if !switch.gates.is_empty() {
        if let Some(error) = escaping(std::slice::from_ref(config_path), &snapshot.project_root).pop() {
            return Err(error);
        }
        let text = config_text(config_bytes.as_deref(), &switch)
            .map_err(|refusal| not_edited(config_path, &refusal))?;
        if config_bytes.as_deref() != Some(text.as_slice()) {
            push(&mut plan, config_path.clone(), config_bytes, text, "configuration of this project");
        }
    }
    Ok(Switching { plan, warnings: switch.warnings })
}

fn push(plan: &mut Plan, path: PathBuf, before: Option<Vec<u8>>, after: Vec<u8>, why: &str) {
    for folder in missing_folders(&path) {
        plan.roots.push(folder.clone());
        plan.steps.push(Step::MakeFolder { path: folder });
    }
    plan.roots.push(path.clone());
    plan.steps.push(Step::WriteFile {
        path,
        before: before.map(FileBytes),
        after: FileBytes(after),
        mode: None,
        why: why.to_owned(),
    });
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, WireError> {
    match bounded_read::read(path, MAX_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadFailure::Missing) => Ok(None),
        Err(failure) => Err(WireError::new(Code::IoFailed, failure.to_string())
            .at_file(path)
            .with_fix("move it away, then run the same command again", &[])),
    }
}

fn usable_surface(bytes: &[u8]) -> Result<SurfaceFile, String> {
    let document = edit::read(bytes, Dialect::StrictJson).map_err(|refusal| refusal.message)?;
    SurfaceFile::parse(&document).ok_or_else(|| {
        "it needs the members baseProfile, disabledClusters, explicitAdds and explicitRemoves".to_owned()
    })
}

fn surface_text(before: Option<&[u8]>, after: &SurfaceFile) -> Result<Vec<u8>, EditRefusal> {
    let Some(before) = before else { return Ok(after.to_bytes()) };
    let was = edit::read(before, Dialect::StrictJson)?;
    let lists = [
        ("disabledClusters", &after.disabled_clusters),
        ("explicitAdds", &after.explicit_adds),
        ("explicitRemoves", &after.explicit_removes),
    ];
    let mut text = before.to_vec();
    for (member, list) in lists {
        if was[member] != json!(list) {
            text = edit::assign(Some(&text), Dialect::StrictJson, &[member.to_owned()], &json!(list))?;
        }
    }
    Ok(text)
}

fn config_text(before: Option<&[u8]>, switch: &Switch) -> Result<Vec<u8>, EditRefusal> {
    let mut text = before.map(<[u8]>::to_vec);
    for (key, value) in &switch.gates {
        let path: Vec<String> = key.split('.').map(ToOwned::to_owned).collect();
        let now = text.as_deref().and_then(|text| edit::read(text, Dialect::StrictJson).ok());
        let pointer = format!("/{}", path.join("/"));
        if now.and_then(|now| now.pointer(&pointer).cloned()) != Some(Value::Bool(*value)) {
            text = Some(edit::assign(text.as_deref(), Dialect::StrictJson, &path, &Value::Bool(*value))?);
        }
    }
    Ok(text.unwrap_or_default())
}

fn refused(id: &str, mut objections: Vec<String>) -> WireError {
    let what = if objections.len() == 1 {
        objections.remove(0)
    } else {
        format!("{} can't be switched so, for {} reasons", shown(id), objections.len())
    };
    let mut error = WireError::new(Code::UsageInvalid, what)
        .with_fix("see its switches and what is on", &["gsdctl", "state", id])
        .with_fix(
            "to keep anything of it from running, take the agreement back",
            &["gsdctl", "consent", "revoke", id],
        );
    for objection in objections {
        error = error.caused_by(objection);
    }
    error
}

fn not_edited(path: &Path, refusal: &EditRefusal) -> WireError {
    let mut error =
        WireError::new(Code::UsageInvalid, format!("the file can't be edited: {}", refusal.message))
            .at_file(path)
            .at_pointer(refusal.pointer.clone())
            .with_fix("repair it, then run the same command again", &[]);
    error.where_.get_or_insert_default().line = u32::try_from(refusal.line).ok();
    error
}
