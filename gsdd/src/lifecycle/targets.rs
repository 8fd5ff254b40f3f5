//! Which hosts a capability is wired into, and where their folders are for this caller.

use std::path::{Path, PathBuf};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::projection::{HostPlaces, SharedFile};
use gsdd_core::runtime::{Descriptor, PathFacts, WiringScope};
use gsdd_core::text::{always_shell_quoted, shell_quoted, shown};

use crate::engine::Shipped;
use crate::store::Places;

/// A host, ready to be planned for.
pub(crate) struct HostTarget<'a> {
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) scope: WiringScope,
    pub(crate) places: HostPlaces,
}

/// Resolves the folders of a host for this caller; `None` for hosts without any.
pub(crate) fn host_places(
    descriptor: &Descriptor,
    ctx: &Context,
    places: &Places,
    project_root: Option<&Path>,
) -> Option<HostPlaces> {
    let home = places.user_home.to_string_lossy();
    let facts = PathFacts { home: &home, env: &ctx.env, exists: &|path| Path::new(path).exists() };
    let config_home = PathBuf::from(descriptor.config_home.resolve(&facts).ok()?);
    let config_home = if config_home.is_absolute() { config_home } else { ctx.cwd.join(config_home) };
    Some(HostPlaces {
        moved: descriptor.config_home.moved_by(&facts).is_some(),
        config_home,
        project_root: project_root.map(ToOwned::to_owned),
        launcher_word: launcher_word(places),
        launcher_path: places.launcher(),
    })
}

/// The launcher in a shell line. The same word in every file: hosts run identical commands once, even when two files
/// register them.
fn launcher_word(places: &Places) -> String {
    let path = places.launcher();
    match path.strip_prefix(&places.user_home) {
        Ok(below) => format!("\"$HOME\"/{}", shell_quoted(&below.to_string_lossy())),
        Err(_) => always_shell_quoted(&path.to_string_lossy()),
    }
}

/// The folders that a shared file needs: the launcher, and no host's.
pub(crate) fn shared_places(places: &Places, project_root: Option<&Path>) -> HostPlaces {
    HostPlaces {
        config_home: places.gsd_home.clone(),
        moved: false,
        project_root: project_root.map(ToOwned::to_owned),
        launcher_word: launcher_word(places),
        launcher_path: places.launcher(),
    }
}

/// The file that the person named, below the folder of the scope.
///
/// # Errors
/// When the path could lead out of that folder (T43).
pub(crate) fn shared_file(
    shipped: &Shipped,
    relative: &str,
    root: &Path,
    ctx: &Context,
    places: &Places,
) -> Result<SharedFile, WireError> {
    let hosts = shipped
        .descriptors
        .values()
        .filter_map(|descriptor| Some((descriptor, host_places(descriptor, ctx, places, None)?.config_home)));
    SharedFile::new(root, relative, hosts).map_err(|refusal| {
        WireError::new(Code::UsageInvalid, format!("--shared-file {}: {refusal}", shown(relative)))
            .with_fix(format!("name it relative to {}", shown(&root.to_string_lossy())), &[])
    })
}

/// Whether the person seems to use a host.
pub(crate) fn detected(descriptor: &Descriptor, ctx: &Context, places: &Places) -> bool {
    let Some(surfaces) = &descriptor.surfaces else { return false };
    let below_home = surfaces.detect.paths.iter().any(|path| places.user_home.join(path).exists());
    let on_path = || {
        let path = ctx.env.get("PATH").map(String::as_str).unwrap_or_default();
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .any(|folder| surfaces.detect.binaries.iter().any(|binary| folder.join(binary).is_file()))
    };
    below_home || on_path()
}

/// The hosts that were asked for; without a wish, every host that was found.
///
/// # Errors
/// Unknown hosts, and hosts that nobody has described yet, all at once.
pub(crate) fn select<'a>(
    shipped: &'a Shipped,
    wished: Option<&[String]>,
    scope: WiringScope,
    ctx: &Context,
    places: &Places,
    project_root: Option<&Path>,
) -> Result<Vec<HostTarget<'a>>, WireError> {
    let mut targets = Vec::new();
    let Some(wished) = wished else {
        for descriptor in shipped.descriptors.values().filter(|descriptor| detected(descriptor, ctx, places))
        {
            if let Some(places) = host_places(descriptor, ctx, places, project_root) {
                targets.push(HostTarget { descriptor, scope, places });
            }
        }
        return Ok(targets);
    };
    let mut problems = Vec::new();
    for name in wished {
        match shipped.descriptors.get(name.as_str()) {
            None => problems.push(format!("there is no runtime `{}`", shown(name))),
            Some(descriptor) if descriptor.surfaces.is_none() => problems.push(format!(
                "nothing can be wired into {} yet: nobody has recorded what it reads",
                descriptor.title
            )),
            Some(descriptor) => match host_places(descriptor, ctx, places, project_root) {
                Some(places) => targets.push(HostTarget { descriptor, scope, places }),
                None => problems.push(format!("{} has no configuration folder", descriptor.title)),
            },
        }
    }
    if problems.is_empty() {
        return Ok(targets);
    }
    let mut error = WireError::new(Code::CompatRuntime, problems.join("; "));
    error = error.with_fix("see which hosts can be wired", &["gsdctl", "runtime", "list"]);
    Err(error)
}
