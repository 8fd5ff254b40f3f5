//! The answer about one bundle.

use crate::manifest::Problem;

/// Everything there is to say about one bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Broken rules; with any of them the bundle cannot be installed.
    pub problems: Vec<Finding>,
    /// What breaks nothing and is probably not meant.
    pub warnings: Vec<Finding>,
}

/// One finding and the file it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule, place in the manifest, fact, remedy.
    pub problem: Problem,
    /// Path of another file of the bundle that the finding is about; absent: the manifest.
    pub file: Option<String>,
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        Self { problem, file: None }
    }
}

impl Verdict {
    /// Whether the bundle breaks no rule.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }
}
