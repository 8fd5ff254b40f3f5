//! An ordered list of steps with one commit point.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Step;

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Put a capability in place.
    Install,
    /// Replace its content.
    Update,
    /// Bring back a content that an update replaced.
    Rollback,
    /// Take it away.
    Remove,
    /// Settle what somebody else did not finish.
    Reconcile,
    /// Switch it on or off.
    Switch,
    /// Only what is written into hosts.
    Project,
}

/// Everything one operation does to the disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What it is for.
    pub verb: Verb,
    /// Capability that it is about.
    pub id: String,
    /// Folders and files that it may touch; a step outside of them is refused.
    pub roots: Vec<PathBuf>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One line of a shown plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    /// The path that changes.
    pub path: PathBuf,
    /// What happens, for people.
    pub text: String,
    /// For a file that is written or deleted: the difference in unified form, not cleaned.
    pub diff: Option<String>,
}

impl Plan {
    /// Position of the commit point; steps before it can be undone.
    #[must_use]
    pub fn commit_at(&self) -> usize {
        self.steps.iter().position(Step::is_commit).unwrap_or(self.steps.len())
    }

    /// Whether nothing would be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it copies the stored content `object` to where it is used.
    #[must_use]
    pub fn places(&self, object: &str) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::PlaceTree { object: placed, .. } if placed == object))
    }

    /// The lines that a dry run prints.
    #[must_use]
    pub fn changes(&self) -> Vec<PlannedChange> {
        let line = |step: &Step| {
            let path = step.paths().last().map(|path| path.to_path_buf()).unwrap_or_default();
            PlannedChange { path, text: step.describe(), diff: step.diff() }
        };
        self.steps.iter().map(line).collect()
    }

    /// The first path that lies outside of [`Plan::roots`], lexically.
    #[must_use]
    pub fn stray(&self) -> Option<&Path> {
        let paths = self.steps.iter().flat_map(Step::paths);
        paths.into_iter().find(|path| {
            let climbs =
                path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir));
            !path.is_absolute() || climbs || !self.roots.iter().any(|root| path.starts_with(root))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::FileBytes;

    fn plan(path: &str) -> Plan {
        let step = Step::WriteFile {
            path: path.into(),
            before: None,
            after: FileBytes(vec![1]),
            mode: None,
            why: "x".into(),
        };
        Plan {
            verb: Verb::Install,
            id: "acme".into(),
            roots: vec!["/home/ada/.gsd".into()],
            steps: vec![step],
        }
    }

    #[test]
    fn a_step_outside_of_the_roots_is_found() {
        assert_eq!(plan("/home/ada/.gsd/a").stray(), None);
        for stray in ["/home/ada/.ssh/a", "/home/ada/.gsd/../.ssh/a", "a", "/home/ada/.gsdx/a"] {
            assert_eq!(plan(stray).stray(), Some(Path::new(stray)));
        }
    }

    #[test]
    fn a_plan_survives_the_journal() {
        let plan = plan("/home/ada/.gsd/a");
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}
