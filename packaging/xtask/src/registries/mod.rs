//! `cargo xtask registries`: sources of real servers, on loopback: packages of a verdaccio that the real npm publishes
//! to, and an index that a stock web server hands out.
//!
//! Opt-in: verdaccio comes from a package registry into `target/registries`. What the machine does not have is skipped,
//! and said.

mod npm;
mod server;
mod web;

pub(crate) use server::{Server, free_port};
pub(crate) use web::stock_server;

use std::path::{Path, PathBuf};

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs;
use crate::throwaway::Throwaway;
use crate::transcript::{Ran, Show, Transcript};

/// Options of `cargo xtask registries`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    only: Vec<Which>,

    /// Use the programs in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

/// The walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Packages of verdaccio
    Npm,
    /// An index behind a web server
    Web,
}

/// Walks through the sources.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = match &arguments.programs {
        Some(folder) => folder.canonicalize().doing(format!("looking for {}", folder.display()))?,
        None => programs::for_trying()?,
    };
    let wanted = |which| arguments.only.is_empty() || arguments.only.contains(&which);
    let mut said = Transcript::default();
    let mut skipped = Vec::new();
    if wanted(Which::Npm) {
        skipped.extend(npm::walk(&mut said, &folder)?);
    }
    if wanted(Which::Web) {
        skipped.extend(web::walk(&mut said, &folder)?);
    }
    for what in &skipped {
        println!("\nSKIPPED: {what}");
    }
    said.finish()
}

/// A home whose person lets this program reach loopback, and trusts the authority in `ca.pem` of its root.
pub(crate) fn prepared(programs: &Path) -> Outcome<Throwaway> {
    let here = Throwaway::new(programs)?;
    write(&here.home().join(".config/gsd/policy.toml"), "[network]\nprivate_hosts = [\"localhost\"]\n")?;
    server::certificates(here.root())?;
    Ok(here)
}

fn gsdctl(
    said: &mut Transcript,
    here: &Throwaway,
    arguments: &[&str],
    env: &[(&str, String)],
) -> Outcome<Ran> {
    let mut command = here.command(here.program("gsdctl"));
    command.args(arguments).envs(env.iter().map(|(name, value)| (name, value)));
    said.run(&format!("gsdctl {}", arguments.join(" ")), command, b"", Show::Lines(12))
}

pub(crate) fn write(file: &Path, text: impl AsRef<[u8]>) -> Outcome {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    }
    std::fs::write(file, text).doing(format!("writing {}", file.display()))
}

/// Copies an example of this repository, with another version.
fn example(id: &str, version: &str, to: &Path) -> Outcome {
    copy(&programs::repository().join("docs/examples").join(id), to)?;
    let file = to.join("capability.json");
    let text = std::fs::read_to_string(&file).doing(format!("reading {}", file.display()))?;
    let mut manifest: serde_json::Value = serde_json::from_str(&text).doing("reading the manifest")?;
    manifest["version"] = version.into();
    write(&file, manifest.to_string())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    std::fs::create_dir_all(to).doing(format!("making {}", to.display()))?;
    for entry in std::fs::read_dir(from).doing(format!("reading {}", from.display()))? {
        let entry = entry.doing(format!("reading {}", from.display()))?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).doing(format!("copying {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn must(ran: &Ran, what: &str) -> Outcome {
    if ran.exit == 0 { Ok(()) } else { Err(Failure::new(format!("{what}: {}{}", ran.stdout, ran.stderr))) }
}
