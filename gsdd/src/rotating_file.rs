//! A log file that is never longer than a bound: when it would be, it is renamed to `.1`, the older ones move up, and
//! the oldest goes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Appends to a file and rotates it by size.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    max_bytes: u64,
    files: u32,
}

impl RotatingFile {
    /// Opens `path` for appending; `files` counts the current one and its predecessors.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path, max_bytes: u64, files: u32) -> io::Result<Self> {
        let file = open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, max_bytes, files })
    }

    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |n: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{n}"));
            PathBuf::from(name)
        };
        for n in (1..self.files.saturating_sub(1)).rev() {
            drop(std::fs::rename(numbered(n), numbered(n + 1)));
        }
        if self.files > 1 {
            std::fs::rename(&self.path, numbered(1))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        self.file = open(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

impl Write for RotatingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len() as u64;
        if self.size > 0 && self.size + length > self.max_bytes {
            // A log that cannot be rotated is still better than none.
            drop(self.rotate());
        }
        self.file.write_all(bytes)?;
        self.size += length;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_move_up_and_the_oldest_goes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        let mut log = RotatingFile::open(&path, 10, 3).unwrap();
        for n in 0..6 {
            log.write_all(format!("line {n}\n").as_bytes()).unwrap();
        }
        let read = |name: &str| io::read_to_string(File::open(root.path().join(name)).unwrap()).unwrap();
        assert_eq!(
            (read("log"), read("log.1"), read("log.2")),
            ("line 5\n".into(), "line 4\n".into(), "line 3\n".into())
        );
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 3);
    }

    #[test]
    fn appending_goes_on_after_a_restart() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        for _ in 0..2 {
            RotatingFile::open(&path, 100, 3).unwrap().write_all(b"x\n").unwrap();
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4);
    }
}
