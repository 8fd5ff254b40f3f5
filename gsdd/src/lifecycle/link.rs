//! Folders whose later changes are taken over: who may be linked, what is kept for it, and what is asked.
//!
//! The files of a linked capability are copied as those of any other, so that what runs is what was judged and hashed.
//! Only the question is asked once, for everything that the folder will ever hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::runtime::WiringScope;
use gsdd_core::source::SourceSpec;
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{Detail, DisclosureGroup, DisclosureLine};
use serde_json::Map;

use super::stage::{StageRequest, Staged};
use super::{from_tree, targets};
use crate::engine::Engine;
use crate::fs::bundle_tree::{BundleTree, TreeRefusal};
use crate::fs::staging::{Room, stage_folder};
use crate::store::{Linked, ScopeRoot, Taken};

/// Refuses a link where it would be somebody else's.
///
/// # Errors
/// Project scope, a home that is a project, and sources that are no folder.
pub(super) fn judge_wish(
    engine: &Engine,
    spec: &str,
    root: &ScopeRoot,
    project_root: &Path,
) -> Result<(), WireError> {
    if root.scope == Scope::Project {
        return Err(WireError::new(
            Code::PolicyBlocked,
            "a capability of a project can't be linked: who changes the project would change what runs here without being asked about",
        )
        .with_fix("link it for yourself: leave out --scope project", &[])
        .with_fix("or install it as a copy: leave out --link", &[]));
    }
    if !engine.trusts(root, project_root) {
        return Err(WireError::new(
            Code::PolicyBlocked,
            "nothing can be linked here: your home counts as a project, so what lies in it may be somebody else's",
        )
        .with_fix("install it as a copy: leave out --link", &[]));
    }
    match crate::source::parse(spec)? {
        SourceSpec::Local { .. } => Ok(()),
        other => Err(WireError::new(
            Code::UsageInvalid,
            format!("only a folder can be linked, and this is a source of the kind {}", other.kind().name()),
        )
        .with_fix("leave out --link, or name a folder: ./folder", &[])),
    }
}

/// What is kept of a link to `recorded`, an absolute path.
///
/// # Errors
/// The folder overlaps with our own ones, or a host that is named can't be wired.
pub(super) fn new(engine: &Engine, request: &StageRequest<'_>, recorded: &str) -> Result<Linked, WireError> {
    let path = PathBuf::from(recorded);
    let real = std::fs::canonicalize(&path).map_err(|error| {
        WireError::new(Code::IoFailed, format!("the folder can't be linked: {error}")).at_file(&path)
    })?;
    let places = engine.places();
    let ours = [places.global_root().gsd(), places.data.clone(), places.state.clone()];
    let ours = ours.map(|folder| std::fs::canonicalize(&folder).unwrap_or(folder));
    if let Some(ours) = ours.iter().find(|ours| real.starts_with(ours) || ours.starts_with(&real)) {
        return Err(WireError::new(
            Code::PolicyBlocked,
            format!("{} overlaps with a folder of ours, {}", shown(recorded), shown(&ours.to_string_lossy())),
        )
        .at_file(&path)
        .with_fix("move the capability to a folder of its own, then link that", &[]));
    }
    let runtimes = match (&request.runtimes, request.shared_files.is_empty()) {
        (None, false) => Vec::new(),
        (wished, _) => {
            let hosts = targets::select(
                engine.shipped(),
                wished.as_deref(),
                WiringScope::Global,
                request.ctx,
                places,
                None,
            )?;
            hosts.iter().map(|host| host.descriptor.id.clone()).collect()
        }
    };
    Ok(Linked {
        path,
        real,
        env: kept_variables(engine, &request.ctx.env),
        runtimes,
        shared_files: request.shared_files.clone(),
        umask: request.ctx.umask,
        before: None,
        unknown: Map::new(),
    })
}

/// The variables that descriptors name for the folders of hosts. An environment may hold tokens, so no other is kept.
fn kept_variables(engine: &Engine, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = engine.shipped().descriptors.values().flat_map(|host| host.config_home.variables());
    named
        .filter_map(|name| env.get_key_value(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A caller that stands for the one who linked the folder.
pub(crate) fn ctx_of(linked: &Linked, root: &ScopeRoot) -> Context {
    Context {
        client: "link".to_owned(),
        cwd: root.dir.clone(),
        env: linked.env.clone(),
        umask: linked.umask,
        ..Context::default()
    }
}

/// Stages the folder as it is now.
///
/// # Errors
/// It is gone, leads somewhere else than when it was linked, or can't be a bundle.
pub(super) fn read(linked: &Linked, room: &Room) -> Result<BundleTree, WireError> {
    match std::fs::canonicalize(&linked.path) {
        Ok(real) if real != linked.real => Err(from_tree(&TreeRefusal::new(
            "symlink",
            &linked.path,
            "it leads somewhere else than when it was linked",
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(WireError::new(Code::NotFound, "the folder is gone").at_file(&linked.path))
        }
        // Anything else is told by reading it.
        _ => stage_folder(&linked.path, room).map_err(|refusal| from_tree(&refusal)),
    }
}

impl Staged {
    /// What the person is shown of what would run, instruct, or is inert.
    pub(crate) fn disclosed(&self) -> Vec<DisclosureLine> {
        let mut lines =
            self.disclosure.lines(&self.facts, if self.full { Detail::FULL } else { Detail::PROMPT });
        if let Some(linked) = &self.linked {
            let at = lines.iter().position(|line| line.group != DisclosureGroup::Summary);
            let folder = shown_up_to(&linked.path.to_string_lossy(), 1000);
            let text = format!("LINKED: every later change in {folder} runs without another question");
            let line = DisclosureLine { group: DisclosureGroup::Executable, text };
            lines.insert(at.unwrap_or(lines.len()), line);
        }
        lines
    }

    /// Whether `before` is an agreement to follow the folder that this was taken from.
    pub(super) fn follows(&self, before: Option<&Taken>) -> bool {
        let followed = before.and_then(Taken::link);
        self.linked
            .as_ref()
            .zip(followed)
            .is_some_and(|(wished, followed)| wished.path == followed.path && wished.real == followed.real)
    }
}
