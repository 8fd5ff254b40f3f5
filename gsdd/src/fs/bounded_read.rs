//! Reading files that we did not write.
//!
//! A repository can contain a FIFO, a device, a file of any size. Every read opens without blocking, looks at the
//! open handle, and takes at most the stated number of bytes (decision D-20, threats T47, T48, T135, T165).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Cap for manifests, fragments, ledgers, the consent store and host files, in bytes.
pub(crate) const MAX_FILE: u64 = 8 * 1024 * 1024;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFailure {
    #[error("no such file")]
    Missing,
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than {limit} bytes")]
    TooBig { limit: u64 },
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Reads a regular file of at most `limit` bytes, following symlinks.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFailure> {
    let file = open(path, false)?;
    read_open(file, limit).map(|(bytes, _)| bytes)
}

/// Like [`read`], but refuses when the last component is a symlink; also returns what the handle says.
pub(crate) fn read_no_follow(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), ReadFailure> {
    read_open(open_no_follow(path)?, limit)
}

/// Opens a regular file to be read bit by bit; refuses when the last component is a symlink.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ReadFailure> {
    let file = open_no_follow(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(ReadFailure::NotRegular) }
}

fn open_no_follow(path: &Path) -> Result<File, ReadFailure> {
    match open(path, true) {
        Ok(file) => Ok(file),
        // ELOOP: the last component is a symlink.
        Err(error) if error.raw_os_error() == Some(40) => Err(ReadFailure::NotRegular),
        Err(error) => Err(error.into()),
    }
}

fn open(path: &Path, no_follow: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        if no_follow {
            flags |= rustix::fs::OFlags::NOFOLLOW;
        }
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    if no_follow && std::fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(io::Error::from_raw_os_error(40));
    }
    options.open(path)
}

fn read_open(file: File, limit: u64) -> Result<(Vec<u8>, Metadata), ReadFailure> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadFailure::NotRegular);
    }
    if metadata.len() > limit {
        return Err(ReadFailure::TooBig { limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    let taken = file.take(limit + 1).read_to_end(&mut bytes)?;
    if taken as u64 > limit {
        return Err(ReadFailure::TooBig { limit });
    }
    Ok((bytes, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t48_oversized_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        File::create(&path).unwrap().set_len(11).unwrap();
        assert!(matches!(read(&path, 10), Err(ReadFailure::TooBig { limit: 10 })));
        assert_eq!(read(&path, 11).unwrap().len(), 11);
    }

    #[cfg(unix)]
    #[test]
    fn t47_fifo_device_and_directory_do_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("p");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in [fifo.as_path(), Path::new("/dev/null"), dir.path()] {
            assert!(matches!(read(path, 10), Err(ReadFailure::NotRegular)), "{}", path.display());
        }
        assert!(matches!(read(&dir.path().join("no"), 10), Err(ReadFailure::Missing)));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("l");
        File::create(dir.path().join("f")).unwrap();
        std::os::unix::fs::symlink("f", &link).unwrap();
        assert!(read(&link, 10).is_ok());
        assert!(matches!(read_no_follow(&link, 10), Err(ReadFailure::NotRegular)));
    }
}
