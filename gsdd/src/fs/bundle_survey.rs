//! What lies in the folder of a bundle, without reading it: every member that a bundle cannot have, not only the
//! first.
//!
//! [`stage_folder`](super::staging::stage_folder) refuses at the first such member, because nothing of
//! the bundle is used then; an author wants to hear of all.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gsdd_core::bundle::budget::MAX_BYTES;
use gsdd_core::bundle::{Budget, TwinGuard, check_member};
use gsdd_core::validate::{MemberFault, MemberFaultKind};

use super::bundle_tree::left_out;

/// Most faults that are listed.
const MAX_FAULTS: usize = 50;

/// Files and faults of a folder.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Regular files, by path below the folder.
    pub(crate) files: BTreeSet<String>,
    /// Members that a bundle cannot have.
    pub(crate) faults: Vec<MemberFault>,
}

/// Looks at everything below `root` except `except`, a member of it.
pub(crate) fn survey(root: &Path, except: &str) -> Survey {
    let mut walk = Walk {
        root,
        except,
        survey: Survey::default(),
        budget: Budget::staging(MAX_BYTES),
        twins: TwinGuard::new(),
        full: false,
    };
    walk.folder("");
    walk.survey
}

struct Walk<'a> {
    root: &'a Path,
    except: &'a str,
    survey: Survey,
    budget: Budget,
    twins: TwinGuard,
    /// A limit was passed: nothing more is looked at.
    full: bool,
}

impl Walk<'_> {
    fn folder(&mut self, relative: &str) {
        let here = self.path(relative);
        let listing = match fs::read_dir(&here) {
            Ok(listing) => listing,
            Err(error) => return self.fault(MemberFaultKind::Unreadable, relative, error.to_string()),
        };
        let mut names = Vec::new();
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.fault(MemberFaultKind::Unreadable, relative, error.to_string()),
            };
            names.push(entry.file_name());
            // The names of one folder alone can be too many.
            if names.len() as u64 > self.budget.max_entries {
                self.full = true;
                let reason = format!("it has more than {} members", self.budget.max_entries);
                return self.fault(MemberFaultKind::Size, relative, reason);
            }
        }
        names.sort();
        for name in names {
            if self.full {
                return;
            }
            let Some(text) = name.to_str() else {
                let lossy = joined(relative, &name.to_string_lossy());
                self.fault(MemberFaultKind::Name, &lossy, "the name is not UTF-8".to_owned());
                continue;
            };
            self.member(&joined(relative, text));
        }
    }

    fn member(&mut self, relative: &str) {
        if left_out(relative) || relative == self.except {
            return;
        }
        let metadata = match fs::symlink_metadata(self.path(relative)) {
            Ok(metadata) => metadata,
            Err(error) => return self.fault(MemberFaultKind::Unreadable, relative, error.to_string()),
        };
        let kind = metadata.file_type();
        let member = match check_member(relative.as_bytes()) {
            Ok(member) => member,
            Err(refusal) => return self.fault(MemberFaultKind::Name, relative, refusal.to_string()),
        };
        if let Err(refusal) = self.twins.add(&member, kind.is_dir()) {
            self.fault(MemberFaultKind::Twin, relative, refusal.to_string());
        }
        let counted =
            if kind.is_dir() { self.budget.add_dir() } else { self.budget.add_file(metadata.len()) };
        if kind.is_symlink() {
            self.fault(
                MemberFaultKind::NotRegular,
                relative,
                "symlinks are not allowed in a bundle".to_owned(),
            );
        } else if !kind.is_dir() && !kind.is_file() {
            let reason = "only regular files and folders are allowed in a bundle";
            self.fault(MemberFaultKind::NotRegular, relative, reason.to_owned());
        } else if let Err(over) = counted {
            self.full = true;
            self.fault(MemberFaultKind::Size, relative, over.to_string());
        } else if kind.is_dir() {
            self.folder(relative);
        } else {
            self.survey.files.insert(relative.to_owned());
        }
    }

    fn fault(&mut self, kind: MemberFaultKind, relative: &str, reason: String) {
        self.survey.faults.push(MemberFault { kind, path: relative.to_owned(), reason });
        self.full |= self.survey.faults.len() >= MAX_FAULTS;
    }

    fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.root.to_owned() } else { self.root.join(relative) }
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_member_that_cannot_be_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("a/.git")).unwrap();
        for file in ["capability.json", "a/x", "a/X", "a/.git/config", "con.txt"] {
            fs::File::create(at(file)).unwrap();
        }
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        std::os::unix::fs::symlink("a", at("b")).unwrap();
        let survey = survey(dir.path(), "capability.json");
        assert_eq!(survey.files.iter().collect::<Vec<_>>(), ["a/X", "a/x"]);
        let faults: Vec<(MemberFaultKind, &str)> =
            survey.faults.iter().map(|fault| (fault.kind, fault.path.as_str())).collect();
        assert_eq!(
            faults,
            [
                (MemberFaultKind::Twin, "a/x"),
                (MemberFaultKind::NotRegular, "b"),
                (MemberFaultKind::Name, "con.txt"),
                (MemberFaultKind::NotRegular, "loop"),
            ]
        );
    }

    #[test]
    fn a_sparse_file_beyond_the_limit_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::File::create(dir.path().join("big")).unwrap().set_len(1 << 40).unwrap();
        let survey = survey(dir.path(), "capability.json");
        assert_eq!(survey.faults[0].kind, MemberFaultKind::Size);
    }
}
