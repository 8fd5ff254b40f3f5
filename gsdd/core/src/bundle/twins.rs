//! Names that are one name somewhere: duplicates, case twins, a file where a folder is needed.

use std::collections::HashMap;

use super::member::RelPath;

/// Sees every entry of a bundle once and refuses the second of a pair.
#[derive(Clone, Debug, Default)]
pub struct TwinGuard {
    /// By case-folded path.
    seen: HashMap<String, Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    exact: String,
    is_dir: bool,
}

/// How a name collides with an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TwinRefusal {
    /// The same file twice; readers disagree which one counts.
    #[error("`{path}` appears twice")]
    Duplicate {
        /// The name.
        path: String,
    },
    /// Names that differ in upper and lower case only.
    #[error("`{path}` and `{other}` are one name on some file systems")]
    CaseTwin {
        /// The later name.
        path: String,
        /// The earlier name.
        other: String,
    },
    /// A file and a folder under one name.
    #[error("`{path}` is both a file and a folder")]
    FileAndDirectory {
        /// The name.
        path: String,
    },
}

impl TwinGuard {
    /// A guard that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry and the folders above it. A folder may come again, also after something inside it.
    ///
    /// # Errors
    /// [`TwinRefusal`].
    pub fn add(&mut self, path: &RelPath, is_dir: bool) -> Result<(), TwinRefusal> {
        let text = path.as_str();
        for (slash, _) in text.match_indices('/') {
            self.add_one(&text[..slash], true, true)?;
        }
        self.add_one(text, is_dir, is_dir)
    }

    fn add_one(&mut self, exact: &str, is_dir: bool, may_repeat: bool) -> Result<(), TwinRefusal> {
        let folded = fold_case(exact);
        let Some(earlier) = self.seen.get(&folded) else {
            self.seen.insert(folded, Seen { exact: exact.to_owned(), is_dir });
            return Ok(());
        };
        let path = exact.to_owned();
        if earlier.exact != exact {
            return Err(TwinRefusal::CaseTwin { path, other: earlier.exact.clone() });
        }
        if earlier.is_dir != is_dir {
            return Err(TwinRefusal::FileAndDirectory { path });
        }
        if may_repeat { Ok(()) } else { Err(TwinRefusal::Duplicate { path }) }
    }
}

/// Upper case first: it merges letters whose lower forms differ (long s, dotless i, final sigma).
fn fold_case(text: &str) -> String {
    text.to_uppercase().chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(guard: &mut TwinGuard, path: &str, is_dir: bool) -> Result<(), TwinRefusal> {
        guard.add(&RelPath::parse(path).unwrap(), is_dir)
    }

    #[test]
    fn t13_duplicate_members() {
        let mut guard = TwinGuard::new();
        add(&mut guard, "a/b", false).unwrap();
        add(&mut guard, "a", true).unwrap();
        add(&mut guard, "a", true).unwrap();
        assert_eq!(add(&mut guard, "a/b", false), Err(TwinRefusal::Duplicate { path: "a/b".to_owned() }));
    }

    #[test]
    fn t15_case_twins() {
        let mut guard = TwinGuard::new();
        add(&mut guard, "s/Skill.md", false).unwrap();
        assert!(matches!(add(&mut guard, "s/skill.md", false), Err(TwinRefusal::CaseTwin { .. })));
        assert!(matches!(add(&mut guard, "S/other.md", false), Err(TwinRefusal::CaseTwin { .. })));
        add(&mut guard, "straße", false).unwrap();
        assert!(matches!(add(&mut guard, "STRASSE", false), Err(TwinRefusal::CaseTwin { .. })));
    }

    #[test]
    fn t17_file_and_directory_under_one_name() {
        let mut guard = TwinGuard::new();
        add(&mut guard, "a", false).unwrap();
        assert_eq!(
            add(&mut guard, "a/b", false),
            Err(TwinRefusal::FileAndDirectory { path: "a".to_owned() })
        );
        add(&mut guard, "d/x", false).unwrap();
        assert!(matches!(add(&mut guard, "d", false), Err(TwinRefusal::FileAndDirectory { .. })));
    }
}
