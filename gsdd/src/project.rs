//! Which project a working directory belongs to.
//!
//! The same answer serves composition, recording and looking up consent. Every file is read through the bounded
//! reader: a FIFO in the way must not hang anything (D-20).

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fs::bounded_read::{self, MAX_FILE};

/// Ancestors that are looked at.
const MAX_STEPS: usize = 10;

/// The project root of `start`; total: without any marker it is `start` itself.
///
/// `home` is never discovered as an ancestor: a planning folder there would swallow every project below it. Below a
/// folder that has capabilities installed, that folder is the project even without a planning folder: a session that
/// changes into a subfolder must not lose its guards.
pub(crate) fn discover(start: &Path, home: &Path, gsd_home: &Path) -> PathBuf {
    if has_planning(start) {
        return start.to_owned();
    }
    claimed_or_enclosing(start, home)
        .or_else(|| nearest(start, home, &has_planning))
        .or_else(|| nearest(start, home, &|folder| folder != gsd_home && has_ledger(folder)))
        .unwrap_or_else(|| start.to_owned())
}

/// Folders above `project` that have capabilities installed, innermost first.
pub(crate) fn enclosing(project: &Path, home: &Path, gsd_home: &Path) -> Vec<PathBuf> {
    ancestors(project, home)
        .filter(|folder| *folder != gsd_home && has_ledger(folder))
        .map(ToOwned::to_owned)
        .collect()
}

/// Whether a folder is marked as a project: a `.planning` folder, or anything named `.git`.
pub(crate) fn is_genuine(root: &Path) -> bool {
    has_planning(root) || has_git(root)
}

/// Whether the home that was chosen in the place of the person's own (`GSD_HOME`) may have come with a project: it lies
/// in a marked folder, or the project lies in it. Then nothing in it vouches for anything (threats T138, T140).
pub(crate) fn brings_its_home(project: &Path, home: &Path, gsd_home: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (project, home, gsd_home) = (real(project), real(home), real(gsd_home));
    gsd_home != home
        && (project.starts_with(&gsd_home)
            || gsd_home.ancestors().take_while(|folder| !home.starts_with(folder)).any(is_genuine))
}

fn has_planning(folder: &Path) -> bool {
    folder.join(".planning").is_dir()
}

fn has_ledger(folder: &Path) -> bool {
    folder.join(".gsd-capabilities.json").is_file()
}

fn has_git(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder.join(".git")).is_ok()
}

fn ancestors<'a>(start: &'a Path, home: &'a Path) -> impl Iterator<Item = &'a Path> {
    start
        .ancestors()
        .skip(1)
        .take(MAX_STEPS)
        .take_while(move |parent| *parent != home && !parent.as_os_str().is_empty())
}

fn claimed_or_enclosing(start: &Path, home: &Path) -> Option<PathBuf> {
    for parent in ancestors(start, home).filter(|parent| has_planning(parent)) {
        let config = planning_config(parent);
        if config.as_ref().is_some_and(|config| claims(config, parent, start)) {
            return Some(parent.to_owned());
        }
        let below: Vec<&Path> = start.ancestors().take_while(|at| *at != parent).collect();
        let git_below = below.iter().any(|at| has_git(at));
        if config.as_ref().and_then(|config| config.get("multiRepo")) == Some(&Value::Bool(true))
            && (git_below || has_git(parent))
        {
            return Some(parent.to_owned());
        }
        if git_below {
            continue;
        }
        if has_git(parent) {
            let claimant = ancestors(parent, home).find(|further| {
                planning_config(further).is_some_and(|config| claims(&config, further, start))
            });
            return Some(claimant.unwrap_or(parent).to_owned());
        }
    }
    None
}

/// The nearest marked ancestor, unless a repository of its own lies between.
fn nearest(start: &Path, home: &Path, is_marked: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let found = ancestors(start, home).find(|parent| is_marked(parent))?;
    let crosses = start.ancestors().take_while(|at| *at != found).any(has_git);
    (!crosses).then(|| found.to_owned())
}

fn planning_config(root: &Path) -> Option<Value> {
    let bytes = bounded_read::read(&root.join(".planning").join("config.json"), MAX_FILE).ok()?;
    gsdd_core::json::parse_lenient(&bytes)
}

fn claims(config: &Value, root: &Path, start: &Path) -> bool {
    let list = config
        .get("sub_repos")
        .or_else(|| config.get("planning").and_then(|planning| planning.get("sub_repos")));
    let first = start.strip_prefix(root).ok().and_then(|rest| rest.components().next());
    let Some(first) = first.and_then(|part| part.as_os_str().to_str()) else { return false };
    list.and_then(Value::as_array).into_iter().flatten().any(|name| name.as_str() == Some(first))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::atomic::{self, Mode};

    fn tree(folders: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        dir
    }

    #[track_caller]
    fn check(dir: &tempfile::TempDir, start: &str, expected: &str) {
        let root = dir.path();
        let home = root.join("home");
        assert_eq!(discover(&root.join(start), &home, &home), root.join(expected));
    }

    #[test]
    fn the_nearest_marker_wins_unless_a_repository_lies_between() {
        let dir = tree(&["p/.planning", "p/a/b", "p/sub/.git", "p/sub/x", "q/y"]);
        check(&dir, "p", "p");
        check(&dir, "p/a/b", "p");
        check(&dir, "p/sub/x", "p/sub/x");
        check(&dir, "q/y", "q/y");
    }

    #[test]
    fn home_is_never_a_project_of_what_lies_below_it() {
        let dir = tree(&["home/.planning", "home/work/x"]);
        check(&dir, "home/work/x", "home/work/x");
        check(&dir, "home", "home");
    }

    #[test]
    fn a_claimed_repository_belongs_to_the_claimant() {
        let dir = tree(&["p/.planning", "p/libs/core/.git"]);
        let config = dir.path().join("p/.planning/config.json");
        atomic::write(&config, br#"{"sub_repos":["libs"]}"#, Mode::Keep(0o022)).unwrap();
        check(&dir, "p/libs/core", "p");
        atomic::write(&config, br#"{"sub_repos":["libs/core"]}"#, Mode::Keep(0o022)).unwrap();
        check(&dir, "p/libs/core", "p/libs/core");
    }

    #[test]
    fn a_subfolder_of_a_project_with_capabilities_belongs_to_it() {
        let dir = tree(&["p/.git", "p/a/b", "p/sub/.git", "home/w/x"]);
        atomic::write(&dir.path().join("p/.gsd-capabilities.json"), b"{}", Mode::Keep(0o022)).unwrap();
        atomic::write(&dir.path().join("home/.gsd-capabilities.json"), b"{}", Mode::Keep(0o022)).unwrap();
        check(&dir, "p/a/b", "p");
        check(&dir, "p/sub", "p/sub");
        check(&dir, "home/w/x", "home/w/x");
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_as_configuration_does_not_hang() {
        let dir = tree(&["p/.planning", "p/.git", "p/a"]);
        let fifo = dir.path().join("p/.planning/config.json");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        check(&dir, "p/a", "p");
    }
}
