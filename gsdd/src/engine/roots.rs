//! The overlay roots of a project and the scope that each one has.
//!
//! Source: overlay model, "Where overlays come from, and the order they are considered".

use std::io;
use std::path::{Path, PathBuf};

use gsdd_core::compose::Scope;

use crate::project;
use crate::store::{Places, ScopeRoot};

/// A root to scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OverlayRoot {
    /// Root and effective scope.
    pub(crate) root: ScopeRoot,
    /// Whether the global root is treated as a project's because distinctness was not proven.
    pub(crate) demoted: bool,
}

/// The global root, then the project's; one physical folder is never listed twice.
pub(crate) fn resolve(places: &Places, project_root: &Path) -> Vec<OverlayRoot> {
    let global = places.global_root();
    let own = ScopeRoot::project(project_root);
    let genuine = project::is_genuine(project_root);
    let (global_real, own_real) = (canonical(&global.bundles()), canonical(&own.bundles()));
    let same = match (&global_real, &own_real) {
        (Ok(global), Ok(own)) => global == own,
        _ => false,
    };
    let own_absent = own_real.as_ref().err().is_some_and(|kind| is_absence(*kind));
    let proven_distinct = matches!((&global_real, &own_real), (Ok(global), Ok(own)) if global != own);
    let demoted = project::brings_its_home(project_root, &places.user_home, &places.gsd_home)
        || (genuine && !own_absent && !proven_distinct && (same || global_real.is_ok() || own_real.is_ok()));
    let scope = if demoted { Scope::Project } else { Scope::Global };
    let mut roots = vec![OverlayRoot { root: ScopeRoot { scope, dir: global.dir }, demoted }];
    if !same {
        roots.push(OverlayRoot { root: own, demoted: false });
    }
    roots
}

fn canonical(path: &Path) -> Result<PathBuf, io::ErrorKind> {
    std::fs::canonicalize(path).map_err(|error| error.kind())
}

fn is_absence(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(home: &Path) -> Places {
        Places { user_home: home.into(), gsd_home: home.into(), data: home.join("d"), state: home.join("s") }
    }

    fn tree(folders: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in folders {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        dir
    }

    #[test]
    fn two_folders_are_two_scopes() {
        let dir = tree(&["home/.gsd/capabilities", "p/.git", "p/.gsd/capabilities"]);
        let roots = resolve(&places(&dir.path().join("home")), &dir.path().join("p"));
        assert_eq!(
            roots.iter().map(|root| root.root.scope).collect::<Vec<_>>(),
            [Scope::Global, Scope::Project]
        );
    }

    #[test]
    fn t139_home_that_is_the_project_follows_project_rules() {
        let dir = tree(&["p/.git", "p/.gsd/capabilities"]);
        let roots = resolve(&places(&dir.path().join("p")), &dir.path().join("p"));
        assert_eq!(roots.len(), 1);
        assert!(roots[0].demoted && roots[0].root.scope == Scope::Project);
        let dir = tree(&["p/.gsd/capabilities"]);
        let roots = resolve(&places(&dir.path().join("p")), &dir.path().join("p"));
        assert!(!roots[0].demoted);
    }

    /// `GSD_HOME` is an environment variable, which a folder can set for whoever works in it.
    #[test]
    fn t138_t140_a_home_that_came_with_a_project_follows_project_rules() {
        let dir = tree(&[
            "u",
            "loose/.gsd/capabilities",
            "loose/sub",
            "clone/.git",
            "clone/deep/home",
            "clone/other",
            "apart",
        ]);
        let demoted = |gsd_home: &str, project: &str| {
            let places = Places { gsd_home: dir.path().join(gsd_home), ..places(&dir.path().join("u")) };
            resolve(&places, &dir.path().join(project))[0].demoted
        };
        // Without any marker: in the home, and below it.
        assert!(demoted("loose", "loose") && demoted("loose", "loose/sub"));
        // In a repository, wherever one looks from.
        for project in ["clone", "clone/deep", "clone/deep/home", "clone/other", "apart"] {
            assert!(demoted("clone/deep/home", project), "{project}");
        }
        assert!(!demoted("loose", "apart") && !demoted("loose", "clone"));
        // The person's own home is theirs, marked (by their dotfiles) or not.
        std::fs::create_dir(dir.path().join("u/.git")).unwrap();
        assert!(!demoted("u", "apart") && !demoted("u", "u/x"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_from_home_into_the_project_demotes() {
        let dir = tree(&["home", "p/.planning", "p/.gsd/capabilities"]);
        std::os::unix::fs::symlink(dir.path().join("p/.gsd"), dir.path().join("home/.gsd")).unwrap();
        let roots = resolve(&places(&dir.path().join("home")), &dir.path().join("p"));
        assert!(roots.len() == 1 && roots[0].demoted);
    }

    #[cfg(unix)]
    #[test]
    fn a_dangling_link_in_the_project_changes_nothing() {
        let dir = tree(&["home/.gsd/capabilities", "p/.planning", "p/.gsd"]);
        std::os::unix::fs::symlink("nowhere", dir.path().join("p/.gsd/capabilities")).unwrap();
        let roots = resolve(&places(&dir.path().join("home")), &dir.path().join("p"));
        assert!(!roots[0].demoted);
    }
}
