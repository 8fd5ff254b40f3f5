//! The programs under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Folder of `gsdctl` and `gsdd`.
///
/// `GSD_TEST_BIN_DIR` names one that is up to date; without it they are built once per test program, into the
/// folder that the test itself was built into.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match std::env::var_os("GSD_TEST_BIN_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => build(&[]),
    })
}

/// Folder of `gsdctl` and of a `gsdd` that breaks where it is told to, see `fs::fault` of the daemon.
pub(crate) fn with_fail_points() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let plain = folder();
        // Beside the programs for use and with the same dependencies: only the daemon's own crate is compiled again.
        let ready = std::env::var_os("GSD_TEST_BIN_DIR").is_some() && plain.join("gsdd-fail-points").exists();
        let built = if ready {
            plain.to_owned()
        } else {
            build(&["--features", "gsdd/fail-points", "--bin", "gsdd-fail-points"])
        };
        // A client starts the `gsdd` beside it.
        let pair = built.join("fail-points");
        std::fs::create_dir_all(&pair).expect("a folder for the programs");
        for (program, name) in [(plain.join("gsdctl"), "gsdctl"), (built.join("gsdd-fail-points"), "gsdd")] {
            let new = pair.join(format!(".{name}.{}", std::process::id()));
            if std::fs::hard_link(&program, &new).is_err() {
                std::fs::copy(&program, &new).expect("a copy of the program");
            }
            std::fs::rename(&new, pair.join(name)).expect("the program has a place");
            // Two links to one file are not renamed over each other.
            drop(std::fs::remove_file(&new));
        }
        pair
    })
}

fn build(more: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own program");
    // target/<profile>/deps/<test>
    let profile =
        test.parent().and_then(Path::parent).expect("tests are built into a target folder").to_owned();
    let target = profile.parent().expect("profiles are folders of the target folder");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "gsdd", "-p", "gsdctl"]).args(more);
    command.arg("--target-dir").arg(target);
    if profile.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    let status = command.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
    assert!(status.success(), "building the programs under test failed");
    profile
}
