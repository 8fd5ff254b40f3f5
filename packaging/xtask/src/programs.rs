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

/// Builds programs with one profile, in one go as the tests do, and gives their paths in the same order.
fn build(packages: &[&str], profile: &str) -> Outcome<Vec<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(repository()).args(["build", "--profile", profile]);
    for package in packages {
        command.args(["--package", package]);
    }
    // Errors and warnings are shown, the rest is for us.
    command.args(["--quiet", "--message-format", "json-render-diagnostics"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().doing("starting cargo")?;
    if !output.status.success() {
        return Err(Failure::new(format!("building {} failed", packages.join(" and "))));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    packages.iter().map(|package| executable(&messages, package)).collect()
}

/// The program that cargo says it has built.
fn executable(messages: &[Value], package: &str) -> Outcome<PathBuf> {
    let is_it = |message: &&Value| {
        message["target"]["name"] == package
            && message["target"]["kind"][0] == "bin"
            && message["executable"].is_string()
    };
    let path = messages.iter().rfind(is_it).and_then(|message| message["executable"].as_str());
    path.map(PathBuf::from).doing(format!("looking for the program {package}"))
}

/// Builds both programs as the tests have them and gives their folder.
pub(crate) fn for_trying() -> Outcome<PathBuf> {
    println!("building gsdd and gsdctl …");
    let built = build(&["gsdd", "gsdctl"], "dev")?;
    let folder = built.first().and_then(|program| program.parent());
    folder.map(Path::to_owned).doing("looking for the built programs")
}

/// Both programs as people use them, in one folder as an installation has them.
pub(crate) fn for_use(folder: &Path) -> Outcome {
    println!("building gsdd (profile release) and gsdctl (profile client) …");
    std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    for (package, profile) in [("gsdd", "release"), ("gsdctl", "client")] {
        for built in build(&[package], profile)? {
            let name = built.file_name().doing("looking at a program's name")?.to_owned();
            // A program that is running cannot be written to, but it can be replaced.
            let (new, target) = (folder.join(format!(".{package}.new")), folder.join(name));
            std::fs::copy(&built, &new).doing(format!("copying {}", built.display()))?;
            std::fs::rename(&new, &target).doing(format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}
