//! `cargo xtask install` and `uninstall`: both programs into one folder of the person's, and out again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs;

/// Options of `cargo xtask install` and `cargo xtask uninstall`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder for the two programs [default: ~/.local/bin]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl Arguments {
    fn folder(&self) -> Outcome<PathBuf> {
        match &self.prefix {
            Some(folder) => std::path::absolute(folder).doing(format!("looking at {}", folder.display())),
            None => Ok(std::env::home_dir().doing("looking for your home")?.join(".local/bin")),
        }
    }
}

/// Builds both programs for use and copies them.
pub(crate) fn install(arguments: &Arguments) -> Outcome {
    let folder = arguments.folder()?;
    programs::for_use(&folder)?;
    for path in programs_in(&folder) {
        println!("wrote {}", path.display());
    }
    if is_searched(&folder) {
        println!("{} is on your PATH", folder.display());
    } else {
        println!("{} is not on your PATH; add it there, or type the full path of gsdctl", folder.display());
    }
    println!("next: gsdctl install <folder or git repository of a capability>");
    Ok(())
}

/// Takes the programs away again.
pub(crate) fn uninstall(arguments: &Arguments) -> Outcome {
    let folder = arguments.folder()?;
    let [daemon, client] = programs_in(&folder);
    if client.is_file() {
        let left = installed_capabilities(&client);
        if !left.is_empty() {
            return Err(Failure::new(format!(
                "capabilities are still installed, and their hooks need gsdctl: {}; run `gsdctl remove` for each first",
                left.join(", ")
            )));
        }
        // Whether or not one is running: none is left behind.
        let _ = silent(&client).args(["daemon", "stop"]).status();
    }
    for path in [daemon, client] {
        match std::fs::remove_file(&path) {
            Ok(()) => println!("removed {}", path.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("{} is not there", path.display());
            }
            Err(error) => return Err(Failure::new(format!("removing {}: {error}", path.display()))),
        }
    }
    println!("the daemon's records and log stay in your home: .local/state/gsd and .local/share/gsd");
    Ok(())
}

fn programs_in(folder: &Path) -> [PathBuf; 2] {
    ["gsdd", "gsdctl"].map(|name| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Ids of what is installed for this person; empty when that cannot be found out.
fn installed_capabilities(client: &Path) -> Vec<String> {
    let output = Command::new(client).args(["list", "--json"]).stdin(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let rows = listed["data"].as_array().cloned().unwrap_or_default();
    let own = rows.iter().filter(|row| row["scope"] != "first-party");
    own.filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
}

fn silent(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn is_searched(folder: &Path) -> bool {
    let searched = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&searched).any(|entry| entry == folder)
}
