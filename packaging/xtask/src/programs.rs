//! The programs of this repository, built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Doing as _, Failure, Outcome};

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    // packaging/xtask
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Builds one program with one profile and gives its path.
pub(crate) fn build(package: &str, profile: &str) -> Outcome<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(repository()).args(["build", "--package", package, "--bin", package]);
    command.args(["--profile", profile, "--message-format", "json-render-diagnostics"]);
    // Only a build that takes a while has something to say.
    command.arg("--quiet").stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().doing("starting cargo")?;
    if !output.status.success() {
        return Err(Failure::new(format!("building {package} failed")));
    }
    let built = String::from_utf8_lossy(&output.stdout);
    let mut executable = built.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == package && message["target"]["kind"][0] == "bin";
        is_it.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    executable.next_back().doing(format!("looking for the program {package}"))
}

/// Both programs in one folder, as an installation has them.
pub(crate) fn pair(folder: &Path, daemon_profile: &str, client_profile: &str) -> Outcome {
    std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    for (package, profile) in [("gsdd", daemon_profile), ("gsdctl", client_profile)] {
        let built = build(package, profile)?;
        let name = built.file_name().doing("looking at a program's name")?.to_owned();
        // A program that is running cannot be written to, but it can be replaced.
        let (new, target) = (folder.join(format!(".{package}.new")), folder.join(name));
        std::fs::copy(&built, &new).doing(format!("copying {}", built.display()))?;
        std::fs::rename(&new, &target).doing(format!("writing {}", target.display()))?;
    }
    Ok(())
}
