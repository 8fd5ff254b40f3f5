//! Writing files so that a reader, a full disk or a power cut sees the old bytes or the new ones.
//!
//! Temporary file with a nonce in the same folder, exclusively created, written, flushed, renamed over the
//! target, folder flushed (decision D-14, threats T44, T152, T157).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::fault::{self, Spot};

/// Characters that make the name of a temporary file unguessable.
const NONCE: usize = 8;

/// What to do with the permission bits of the written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Those of the file that is replaced; else those of a new file under this umask.
    Keep(u32),
    /// Exactly these.
    Exactly(u32),
}

/// Replaces or creates `path`. A symlink at `path` is written through, so that a link made by the person stays
/// a link (FR-008).
///
/// # Errors
/// Whatever the file system answers; the old file is then as it was.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let target = through_link(path)?;
    let folder = target.parent().ok_or_else(|| io::Error::other("a file needs a folder"))?;
    fault::at(Spot::Create)?;
    let mut temporary =
        tempfile::Builder::new().prefix(&prefix(&target)).rand_bytes(NONCE).tempfile_in(folder)?;
    fault::write_all(&mut temporary, bytes)?;
    fault::at(Spot::Mode)?;
    set_mode(temporary.as_file(), &target, mode)?;
    fault::at(Spot::Flush)?;
    temporary.as_file().sync_all()?;
    fault::at(Spot::Rename)?;
    temporary.persist(&target).map_err(|refused| refused.error)?;
    sync_folder(folder)
}

fn prefix(target: &Path) -> String {
    target.file_name().map(|name| format!("{}.tmp.", name.to_string_lossy())).unwrap_or_default()
}

/// Removes what an interrupted [`write`] of `path` left beside it.
pub(crate) fn remove_unfinished(path: &Path) {
    let Ok(target) = through_link(path) else { return };
    if let Some(folder) = target.parent() {
        remove_temporaries(folder, &prefix(&target));
    }
}

/// Removes the temporary files with this prefix; only a prefix and a nonce make a name of ours.
pub(crate) fn remove_temporaries(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let nonce = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let is_ours = nonce
            .is_some_and(|nonce| nonce.len() == NONCE && nonce.bytes().all(|b| b.is_ascii_alphanumeric()));
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes a file or a link, and flushes its folder. A missing file is fine.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fault::at(Spot::Remove)?;
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a rename or a removal in `folder` durable. File systems that cannot flush a folder are tolerated.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    fault::at(Spot::FlushFolder)?;
    #[cfg(unix)]
    match File::open(folder).and_then(|open| open.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
        Err(error) if matches!(error.raw_os_error(), Some(1 | 9 | 21 | 22)) => {}
        other => return other,
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// [`sync_folder`] of the folder that holds `path`.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}

/// Where a write to `path` really lands: the target of a symlink, else `path`.
pub(crate) fn through_link(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_symlink() => fs::canonicalize(path),
        _ => Ok(path.to_owned()),
    }
}

/// Creates a folder of our own and its parents, readable by its owner only.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    fault::at(Spot::MakeFolder)?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Stored bundles are read-only; a folder must be writable for its members to be deleted.
pub(crate) fn make_writable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        if !metadata.is_dir() {
            return;
        }
        if metadata.permissions().mode() & 0o200 == 0 {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            make_writable(&entry.path());
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Sets the permission bits of a folder.
pub(crate) fn set_folder_mode(path: &Path, bits: u32) -> io::Result<()> {
    fault::at(Spot::Mode)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(bits))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, bits);
        Ok(())
    }
}

#[cfg(unix)]
fn set_mode(file: &File, target: &Path, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let bits = match mode {
        Mode::Exactly(bits) => bits,
        Mode::Keep(umask) => match fs::metadata(target) {
            Ok(metadata) => metadata.permissions().mode() & 0o7777,
            Err(_) => 0o666 & !umask,
        },
    };
    file.set_permissions(fs::Permissions::from_mode(bits))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: &Path, _: Mode) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::bounded_read;

    #[cfg(unix)]
    #[test]
    fn t152_mode_and_link_of_a_shared_file_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        write(&real, b"old", Mode::Exactly(0o600)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("real", &link).unwrap();
        write(&link, b"new", Mode::Keep(0o022)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert_eq!(bounded_read::read(&real, 10).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder-in-the-way");
        fs::create_dir(&folder).unwrap();
        assert!(write(&folder, b"x", Mode::Keep(0o022)).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
