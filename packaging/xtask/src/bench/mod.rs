//! `cargo xtask bench`: what a hook call and the daemon cost, as ratios of things measured in the same run.
//!
//! A time alone says little on a machine that is shared; all pairs that are compared here are measured in turns, one
//! after the other, and the medians are compared.

mod composing;
mod hooks;
#[cfg(unix)]
mod installing;
mod lookup;
mod report;
mod resting;
mod timing;
mod trusting;

use crate::failure::{Doing as _, Failure, Outcome};
use crate::programs;

/// How far beyond its target a value may be before `--check` fails: machines that run checks are shared.
const TOLERANCE: f64 = 0.25;

/// Options of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Interleaved runs of each hook call
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(20..))]
    runs: u32,

    /// Only this part
    #[arg(long, value_enum, conflicts_with = "write")]
    only: Option<Part>,

    /// Write the table to docs/benchmarks.md
    #[arg(long)]
    write: bool,

    /// Fail when a target is missed by more than a quarter
    #[arg(long)]
    check: bool,

    /// Use the programs in this folder instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<std::path::PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Hook calls
    Hooks,
    /// Composing and validating
    Composing,
    /// Looking up in a large index
    Lookup,
    /// Installing archives
    #[cfg(unix)]
    Installing,
    /// Proving that what runs is what was agreed to
    Trusting,
    /// The daemon at rest
    Resting,
}

/// Measures, and prints the table.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let built = tempfile::tempdir().doing("making a temporary folder")?;
    let folder = match &arguments.programs {
        Some(folder) => folder.canonicalize().doing(format!("looking for {}", folder.display()))?,
        None => {
            programs::for_use(built.path())?;
            built.path().to_owned()
        }
    };
    let mut rows = Vec::new();
    let wanted = |part| arguments.only.is_none_or(|only| only == part);
    if wanted(Part::Hooks) {
        println!("hook calls, {} rounds …", arguments.runs);
        rows.extend(hooks::measure(&folder, arguments.runs)?);
    }
    if wanted(Part::Composing) {
        println!("composing …");
        rows.extend(composing::measure(&folder)?);
    }
    if wanted(Part::Lookup) {
        println!("looking up …");
        rows.extend(lookup::measure(&folder)?);
    }
    #[cfg(unix)]
    if wanted(Part::Installing) {
        println!("installing …");
        rows.extend(installing::measure(&folder)?);
    }
    if wanted(Part::Trusting) {
        println!("proving …");
        rows.extend(trusting::measure(&folder)?);
    }
    if wanted(Part::Resting) {
        println!("the daemon at rest …");
        rows.extend(resting::measure(&folder)?);
    }
    println!("\n{}", report::table(&rows));
    if arguments.write {
        let path = programs::repository().join("docs/benchmarks.md");
        let text = report::document(&rows, arguments.runs);
        std::fs::write(&path, text).doing(format!("writing {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    let missed: Vec<&str> = rows.iter().filter(|row| row.excess() > TOLERANCE).map(|row| row.what).collect();
    if arguments.check && !missed.is_empty() {
        let percent = TOLERANCE * 100.0;
        return Err(Failure::new(format!("missed by more than {percent} %:\n  - {}", missed.join("\n  - "))));
    }
    Ok(())
}
