//! Getting the bytes of a bundle: from its source, within the policies, and compared with what was taken before.

use std::path::{Path, PathBuf};

use gsd_proto::{Code, WireError};
use gsdd_core::source::integrity::{PinRefusal, read_pin};
use gsdd_core::source::policy::{ConfigFile, KnownRegistries, POLICY_KEY};
use gsdd_core::source::{Pin, SourceSpec};
use gsdd_core::text::shown;

use super::stage::StageRequest;
use super::{from_state, from_tree};
use crate::engine::Engine;
use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::bundle_tree::{BundleTree, Reading};
use crate::source::{self, Caller, Fetched, watch::Watch};
use crate::store::{OwnState, ScopeRoot, TakenFrom};

/// Takes the bundle from its source.
pub(super) fn fetch(
    engine: &Engine,
    request: &StageRequest<'_>,
    raw: &str,
    root: &ScopeRoot,
    project_root: &Path,
) -> Result<Fetched, WireError> {
    let known = known_registries(project_root);
    let spec = source::parse(raw).map_err(|error| match known {
        KnownRegistries::Open => error,
        // Who repairs the spec is not surprised by the next refusal.
        _ => error.caused_by(format!("besides, {POLICY_KEY} of this project limits the sources")),
    })?;
    judge_policy(&known, &spec, project_root)?;
    let given = read_pin(spec.kind(), request.integrity).map_err(|refusal| unusable_pin(&refusal))?;
    let before = Before::read(engine)?;
    let workspace = engine.places().state.join("fetch");
    crate::fs::atomic::private_folder(&workspace).map_err(|error| {
        WireError::new(Code::IoFailed, format!("our state folder can't be written: {error}"))
            .at_file(&workspace)
            .with_fix("make that folder writable for you, then run the same command again", &[])
    })?;
    let pin = given.clone().or_else(|| before.pin_of(request, root));
    let project_root = (root.scope == gsdd_core::compose::Scope::Project).then(|| project_root.to_owned());
    let watch = Watch::new(request.cancel.clone());
    let caller = Caller::new(request.ctx, workspace, watch)
        .for_project(project_root)
        .offline(request.offline)
        .judged_by(known)
        .pinned(pin);
    let mut fetched = source::fetch(&spec, &caller)?;
    fetched.from.content = Some(fetched.tree.content_hash().as_str().to_owned());
    // Who gives a digest vouches for these bytes, whatever came before.
    if given.is_none() {
        before.compare(&fetched.from)?;
    }
    Ok(fetched)
}

/// Takes the bundle as it lies there, for instance because a colleague committed it to the project.
pub(super) fn in_place(live: &Path, recorded: &str, project_root: &Path) -> Result<BundleTree, WireError> {
    if let Ok(spec) = SourceSpec::parse(recorded) {
        judge_policy(&known_registries(project_root), &spec, project_root)?;
    }
    BundleTree::read(live, Reading::Installed).map_err(|refusal| from_tree(&refusal))
}

/// What was taken until now, on this machine.
struct Before(OwnState);

impl Before {
    fn read(engine: &Engine) -> Result<Self, WireError> {
        let path = engine.places().own_state();
        OwnState::read(&path).map(|(state, _)| Self(state)).map_err(|failure| from_state(&path, &failure))
    }

    /// For an update: the digest that was given at the install. It stays with the capability.
    fn pin_of(&self, request: &StageRequest<'_>, root: &ScopeRoot) -> Option<Pin> {
        let taken = self.0.taken(&root.dir, request.expected?.as_str())?;
        let from = taken.from.as_ref().filter(|from| from.pinned)?;
        Pin::parse(from.archive.as_deref()?).ok()
    }

    /// A name that never changes what it means, and other bytes than before: somebody changed something that can't
    /// change (T74, T86).
    fn compare(&self, from: &TakenFrom) -> Result<(), WireError> {
        let Some(reference) = &from.reference else { return Ok(()) };
        let taken = self.0.taken.values().filter_map(|taken| taken.from.as_ref());
        if !taken.into_iter().any(|earlier| earlier.contradicts(from)) {
            return Ok(());
        }
        Err(WireError::new(
            Code::IntegrityMismatch,
            format!("{} has other bytes than when it was taken before", source::printable(reference)),
        )
        .caused_by("this name is for one content and can't get another one by an ordinary release")
        .with_fix("ask the author what happened, and keep what is installed until you know", &[]))
    }
}

fn unusable_pin(refusal: &PinRefusal) -> WireError {
    let error = WireError::new(Code::UsageInvalid, refusal.to_string());
    match refusal {
        PinRefusal::NotForKind(gsdd_core::source::SourceKind::Git) => {
            error.with_fix("name the commit instead: https://host/repo.git#sha:COMMIT", &[])
        }
        PinRefusal::NotForKind(_) => error.with_fix("leave out --integrity for this source", &[]),
        PinRefusal::Problem(_) | PinRefusal::Mismatch => {
            error.with_fix("give one value: sha512- and 88 characters of base64", &[])
        }
    }
}

fn project_config(project_root: &Path) -> PathBuf {
    project_root.join(".planning").join("config.json")
}

fn known_registries(project_root: &Path) -> KnownRegistries {
    let bytes = bounded_read::read(&project_config(project_root), MAX_FILE);
    KnownRegistries::from_project_config(match &bytes {
        Ok(bytes) => ConfigFile::Bytes(bytes),
        Err(ReadFailure::Missing) => ConfigFile::Absent,
        Err(_) => ConfigFile::Unreadable,
    })
}

fn judge_policy(known: &KnownRegistries, spec: &SourceSpec, project_root: &Path) -> Result<(), WireError> {
    known.judge(spec, None).map_err(|block| {
        WireError::new(
            Code::PolicySourceBlocked,
            format!("{} may not be installed from: {block}", shown(spec.host().unwrap_or(&spec.recorded()))),
        )
        .caused_by(format!("{POLICY_KEY} of this project"))
        .at_file(project_config(project_root))
        .with_fix("ask whoever keeps that list to add the host, or install from a local folder", &[])
    })
}
