//! Folders that only we can use: for the socket, its lock and the logs.
//!
//! Whoever can write to the folder of a socket decides who answers on it. So the folder has to be a real one, ours,
//! closed to others, and the folder above must not let others swap it (threats T169 to T171). Daemon and client both
//! check, each for itself; that is why this is part of the contract.

use std::io;
use std::path::{Path, PathBuf};

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a link or no folder.
    #[error("{} is not a real folder", .0.display())]
    NotAFolder(PathBuf),
    /// It is a link or no socket.
    #[error("{} is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// It belongs to another user.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others may write to it.
    #[error("others may write to {}", .0.display())]
    Writable(PathBuf),
}

impl NotPrivate {
    /// The folder concerned.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotAFolder(path)
            | Self::NotASocket(path)
            | Self::Foreign(path)
            | Self::Writable(path) => path,
        }
    }

    /// The error number of the system, if it came from there.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            Self::NotAFolder(_) | Self::NotASocket(_) | Self::Foreign(_) | Self::Writable(_) => None,
        }
    }
}

/// The effective user id of this process.
#[cfg(unix)]
#[must_use]
pub fn our_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// There is no such number here.
#[cfg(not(unix))]
#[must_use]
pub fn our_uid() -> u32 {
    0
}

/// Makes `dir` and what is missing above it, each 0700, and proves that it is private.
///
/// # Errors
/// See [`NotPrivate`].
pub fn ensure(dir: &Path) -> Result<(), NotPrivate> {
    let io = |source| NotPrivate::Io { path: dir.to_owned(), source };
    match create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io(error)),
    }
    prove(dir, true)
}

#[cfg(unix)]
fn create(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn create(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)
}

/// Proves that a folder which somebody else made, the person above all, lets nobody but us write to it. Its mode is
/// theirs to choose.
///
/// # Errors
/// See [`NotPrivate`].
pub fn check(dir: &Path) -> Result<(), NotPrivate> {
    prove(dir, false)
}

#[cfg(unix)]
fn prove(dir: &Path, tighten: bool) -> Result<(), NotPrivate> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let io = |source| NotPrivate::Io { path: dir.to_owned(), source };
    let found = std::fs::symlink_metadata(dir).map_err(io)?;
    if !found.is_dir() {
        return Err(NotPrivate::NotAFolder(dir.to_owned()));
    }
    if found.uid() != our_uid() {
        return Err(NotPrivate::Foreign(dir.to_owned()));
    }
    if found.mode() & 0o022 != 0 {
        return Err(NotPrivate::Writable(dir.to_owned()));
    }
    if tighten && found.mode() & 0o077 != 0 {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    check_above(dir)
}

/// The folder above may be shared only with the sticky bit, else others could rename ours away and put theirs there.
#[cfg(unix)]
fn check_above(dir: &Path) -> Result<(), NotPrivate> {
    use std::os::unix::fs::MetadataExt as _;
    let Some(above) = dir.parent() else { return Ok(()) };
    let found =
        std::fs::metadata(above).map_err(|source| NotPrivate::Io { path: above.to_owned(), source })?;
    let ours = found.uid() == our_uid() || found.uid() == 0;
    if !ours {
        return Err(NotPrivate::Foreign(above.to_owned()));
    }
    // Group-writable homes of one's own group are common and harmless enough; world-writable ones are not.
    let sticky = found.mode() & 0o1000 != 0;
    if found.mode() & 0o002 != 0 && !sticky {
        return Err(NotPrivate::Writable(above.to_owned()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn prove(dir: &Path, _tighten: bool) -> Result<(), NotPrivate> {
    match std::fs::symlink_metadata(dir) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(NotPrivate::NotAFolder(dir.to_owned())),
        Err(source) => Err(NotPrivate::Io { path: dir.to_owned(), source }),
    }
}

/// Proves that what is at `socket` may be connected to: a real socket of ours in a folder that only we can write to.
/// A pipe of Windows is not a file and not judged here.
///
/// # Errors
/// See [`NotPrivate`]; a socket or folder that is not there is [`NotPrivate::Io`] with `NotFound`.
pub fn check_socket(socket: &Path) -> Result<(), NotPrivate> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        check(socket.parent().unwrap_or(Path::new("/")))?;
        let found = std::fs::symlink_metadata(socket)
            .map_err(|source| NotPrivate::Io { path: socket.to_owned(), source })?;
        if !found.file_type().is_socket() {
            return Err(NotPrivate::NotASocket(socket.to_owned()));
        }
        if found.uid() != our_uid() {
            return Err(NotPrivate::Foreign(socket.to_owned()));
        }
    }
    let _ = socket;
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn t169_the_folder_is_closed_to_others() {
        let root = folder();
        let dir = root.path().join("a/b");
        ensure(&dir).unwrap();
        assert_eq!(std::fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        ensure(&dir).unwrap();
        assert_eq!(std::fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn t170_a_folder_others_can_write_to_is_refused() {
        let root = folder();
        let dir = root.path().join("run");
        ensure(&dir).unwrap();
        std::fs::set_permissions(&dir, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(ensure(&dir), Err(NotPrivate::Writable(_))));
        std::fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(ensure(&dir), Err(NotPrivate::Writable(_))));
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o1777)).unwrap();
        ensure(&dir).unwrap();
    }

    #[test]
    fn t170_a_foreign_folder_is_refused() {
        if our_uid() != 0 {
            return;
        }
        let root = folder();
        let dir = root.path().join("run");
        ensure(&dir).unwrap();
        std::os::unix::fs::chown(&dir, Some(12345), None).unwrap();
        assert!(matches!(ensure(&dir), Err(NotPrivate::Foreign(_))));
    }

    #[test]
    fn t171_a_link_is_not_a_socket() {
        let root = folder();
        let real = root.path().join("real");
        let listener = std::os::unix::net::UnixListener::bind(&real).unwrap();
        check_socket(&real).unwrap();
        std::os::unix::fs::symlink(&real, root.path().join("link")).unwrap();
        assert!(matches!(check_socket(&root.path().join("link")), Err(NotPrivate::NotASocket(_))));
        assert!(
            matches!(check_socket(&root.path().join("none")), Err(NotPrivate::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound)
        );
        drop(listener);
    }

    #[test]
    fn t171_a_link_is_not_a_folder() {
        let root = folder();
        ensure(&root.path().join("real")).unwrap();
        std::os::unix::fs::symlink(root.path().join("real"), root.path().join("link")).unwrap();
        assert!(matches!(ensure(&root.path().join("link")), Err(NotPrivate::NotAFolder(_))));
    }
}
