//! What the README and the tutorials tell people to type is typed here.

#![cfg(unix)]
#![expect(clippy::panic, reason = "support of tests: a panic is the report")]

mod blocks;
mod readme;
mod tutorials;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests are in a folder of the repository")
        .to_owned()
}

/// A text of the repository.
fn text(below: &str) -> String {
    let path = repository().join(below);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::io::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
