//! The person's configuration file on disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::user_config::{self, ConfigKey, EditRefusal, MAX_CONFIG_BYTES, UserConfig};

use crate::fs::atomic::{self, Mode};
use crate::fs::bounded_read::{self, ReadFailure};

/// One change at a time; against other processes the bytes are compared.
static CHANGING: Mutex<()> = Mutex::new(());

/// Where the caller keeps it: `GSD_CONFIG`, else below their configuration folder. Never in a project.
pub(crate) fn path(ctx: &Context, user_home: &Path) -> PathBuf {
    if let Some(path) = ctx.env.get("GSD_CONFIG").filter(|path| !path.is_empty()) {
        return ctx.cwd.join(path);
    }
    folder(ctx, user_home).join("config.toml")
}

/// Our folder in the caller's configuration; relative places are ignored.
pub(crate) fn folder(ctx: &Context, user_home: &Path) -> PathBuf {
    let folder = |name: &str| ctx.env.get(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = if cfg!(windows) {
        folder("APPDATA").unwrap_or_else(|| user_home.join("AppData").join("Roaming"))
    } else {
        let home = || folder("HOME").unwrap_or_else(|| user_home.to_owned()).join(".config");
        folder("XDG_CONFIG_HOME").unwrap_or_else(home)
    };
    config.join("gsd")
}

/// What the caller's file says. A file that can't be read says nothing, and that is an objection.
pub(crate) fn read(file: &Path) -> UserConfig {
    match bytes(file) {
        Ok(bytes) => user_config::read(&bytes.unwrap_or_default()),
        Err(failure) => UserConfig { objections: vec![failure.to_string()], ..UserConfig::default() },
    }
}

/// A change that was made, or would be.
pub(crate) struct Change {
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) changed: bool,
}

/// Sets `key`, or takes it out.
///
/// # Errors
/// When the file can't be changed without touching other lines; nothing is written then.
pub(crate) fn change(
    ctx: &Context,
    file: &Path,
    key: &ConfigKey,
    value: Option<&str>,
    dry_run: bool,
) -> Result<Change, WireError> {
    let _one = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let refused = |why: String| {
        WireError::new(Code::IoFailed, format!("the configuration file was not changed: {why}")).at_file(file)
    };
    let found = bytes(file).map_err(|failure| refused(failure.to_string()))?;
    let old = found.clone().unwrap_or_default();
    let new = match value {
        Some(value) => user_config::set(&old, key, value),
        None => user_config::unset(&old, key),
    };
    let new = new.map_err(|refusal| match refusal {
        EditRefusal::Value(why) => WireError::new(Code::UsageInvalid, format!("{key}: {why}")),
        other => refused(other.to_string()).with_fix("edit the file by hand", &[]),
    })?;
    let say = |bytes: &[u8]| {
        let said = user_config::read(bytes).set.into_iter().find(|(set, _)| set == key);
        said.map(|(_, value)| value)
    };
    let change = Change { before: say(&old), after: say(&new), changed: new != old };
    if change.changed && !dry_run {
        if let Some(folder) = file.parent() {
            atomic::private_folder(folder).map_err(|error| refused(error.to_string()))?;
        }
        if bytes(file).map_err(|failure| refused(failure.to_string()))? != found {
            return Err(refused("somebody else wrote to it at the same moment".to_owned())
                .with_fix("run the same command again", &[]));
        }
        atomic::write(file, &new, Mode::Keep(ctx.umask.unwrap_or(0o077)))
            .map_err(|error| refused(error.to_string()))?;
    }
    Ok(change)
}

/// The bytes of the file; `None` when there is none.
fn bytes(file: &Path) -> Result<Option<Vec<u8>>, ReadFailure> {
    match bounded_read::read(file, MAX_CONFIG_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadFailure::Missing) => Ok(None),
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ctx(vars: &[(&str, &str)]) -> Context {
        let mut ctx = Context { cwd: PathBuf::from("/w"), ..Context::default() };
        ctx.env = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ctx
    }

    #[test]
    fn the_file_is_where_the_caller_keeps_it() {
        let at = |vars: &[(&str, &str)]| path(&ctx(vars), Path::new("/u"));
        assert_eq!(at(&[]), Path::new("/u/.config/gsd/config.toml"));
        assert_eq!(at(&[("HOME", "/h")]), Path::new("/h/.config/gsd/config.toml"));
        assert_eq!(at(&[("XDG_CONFIG_HOME", "/x")]), Path::new("/x/gsd/config.toml"));
        assert_eq!(at(&[("XDG_CONFIG_HOME", "relative")]), Path::new("/u/.config/gsd/config.toml"));
        assert_eq!(at(&[("GSD_CONFIG", "c.toml")]), Path::new("/w/c.toml"));
    }
}
