//! Files of a test: plain reading and writing, with the folders that it takes.

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a file in place, as an editor does; missing folders are made.
#[track_caller]
pub fn put(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder of a file");
    let mut file = File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.write_all(bytes.as_ref()).expect("a file can be written");
}

/// The bytes of a file.
#[track_caller]
#[must_use]
pub fn bytes_of(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    let mut bytes = Vec::new();
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.read_to_end(&mut bytes).expect("a file can be read");
    bytes
}

/// The text of a file.
#[track_caller]
#[must_use]
pub fn text_of(path: impl AsRef<Path>) -> String {
    String::from_utf8(bytes_of(path)).expect("UTF-8 text")
}

/// The permission bits of a file or folder; a symlink is followed.
#[track_caller]
#[must_use]
pub fn mode_of(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).expect("the file exists").mode() & 0o7777
}

/// Sets the permission bits.
#[track_caller]
pub fn set_mode(path: impl AsRef<Path>, bits: u32) {
    fs::set_permissions(path, Permissions::from_mode(bits)).expect("the mode can be set");
}

/// Makes `path` a symlink to `target`; missing folders are made.
#[track_caller]
pub fn link(path: impl AsRef<Path>, target: impl AsRef<Path>) {
    fs::create_dir_all(path.as_ref().parent().expect("a link has a folder")).expect("the folder of a link");
    std::os::unix::fs::symlink(target, path).expect("the link can be made");
}
