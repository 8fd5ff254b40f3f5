//! What a person is shown before a content takes the place of the one that they agreed to: declared surfaces, files
//! that run, files that instruct, and the names of the rest.
//!
//! Source: ADR-1244 D5 rule 4 (a changed executable set is shown and asked about again), D6.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::disclosure::Disclosure;
use super::lines::{DisclosureGroup, FileFact, FileFacts};
use crate::diff;

const MANIFEST: &str = "capability.json";

/// A bundle as it is compared.
#[derive(Clone, Debug, Default)]
pub struct Compared<'a> {
    /// The manifest.
    pub manifest: Value,
    /// Every regular file, by path.
    pub files: BTreeMap<&'a str, ComparedFile>,
}

/// A file as it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedFile {
    /// Tells other bytes.
    pub digest: [u8; 32],
    /// Length of its content, in bytes.
    pub bytes: u64,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// Its content, where [`differing`] names it and it is small enough to be shown.
    pub content: Option<Vec<u8>>,
}

/// The files whose bytes differ or that only one side has: those whose content a difference shows.
#[must_use]
pub fn differing<'a>(before: &Compared<'a>, after: &Compared<'a>) -> BTreeSet<&'a str> {
    let paths: BTreeSet<&str> = before.files.keys().chain(after.files.keys()).copied().collect();
    let digest = |side: &Compared<'_>, path: &str| side.files.get(path).map(|file| file.digest);
    let differs = |path: &&str| *path != MANIFEST && digest(before, path) != digest(after, path);
    paths.into_iter().filter(differs).collect()
}

/// What differs between two contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Lines of the disclosure that are gone (`- …`) or new (`+ …`), cleaned.
    pub surfaces: Vec<String>,
    /// Files that run, or may be executed.
    pub executable: Vec<FileChange>,
    /// Files that instruct the agent: skills, agents, slash commands, fragments.
    pub instructing: Vec<FileChange>,
    /// Every other file but the manifest; what runs may read it.
    pub other: Vec<FileChange>,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the bundle.
    pub path: String,
    /// How.
    pub kind: ChangeKind,
    /// The difference in unified form, not cleaned; `None` when only the right to execute it differs.
    pub diff: Option<String>,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It has other bytes, or may be executed now.
    Changed,
}

impl ChangeKind {
    /// Short stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Changes {
    /// Compares what was agreed to with what would take its place.
    #[must_use]
    pub fn between(before: &Compared<'_>, after: &Compared<'_>) -> Self {
        let mut changes = Self { surfaces: surfaces(before, after), ..Self::default() };
        let runs: BTreeSet<String> = running(before).chain(running(after)).collect();
        let instructs: BTreeSet<String> =
            fragments(&before.manifest).chain(fragments(&after.manifest)).collect();
        let paths: BTreeSet<&str> = before.files.keys().chain(after.files.keys()).copied().collect();
        for path in paths.into_iter().filter(|path| *path != MANIFEST) {
            let (old, new) = (before.files.get(path), after.files.get(path));
            let facts = |file: Option<&ComparedFile>| file.map(|file| (file.digest, file.executable));
            if facts(old) == facts(new) {
                continue;
            }
            let change = FileChange {
                path: path.to_owned(),
                kind: match (old, new) {
                    (None, _) => ChangeKind::Added,
                    (_, None) => ChangeKind::Removed,
                    _ => ChangeKind::Changed,
                },
                diff: difference(old, new),
            };
            let executable = [old, new].into_iter().flatten().any(|file| file.executable);
            let list = if runs.contains(path) || executable {
                &mut changes.executable
            } else if is_instruction(path) || instructs.contains(path) {
                &mut changes.instructing
            } else {
                &mut changes.other
            };
            list.push(change);
        }
        changes
    }

    /// Whether nothing differs that is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The difference of two files, or why it can't be shown; `None` when their bytes are the same.
fn difference<'a>(old: Option<&'a ComparedFile>, new: Option<&'a ComparedFile>) -> Option<String> {
    if old.map(|file| file.digest) == new.map(|file| file.digest) {
        return None;
    }
    if [old, new].into_iter().flatten().any(|file| file.content.is_none()) {
        let bytes = |file: Option<&ComparedFile>| file.map_or(0, |file| file.bytes);
        return Some(format!("too large to show: {} bytes before, {} bytes now\n", bytes(old), bytes(new)));
    }
    let content = |file: Option<&'a ComparedFile>| file.and_then(|file| file.content.as_deref());
    diff::unified(content(old), content(new))
}

fn surfaces(before: &Compared<'_>, after: &Compared<'_>) -> Vec<String> {
    let lines = |side: &Compared<'_>| -> Vec<String> {
        let mut disclosure = Disclosure::collect(&side.manifest);
        disclosure.add_documents(side.files.keys().copied());
        let lines = disclosure.declared_lines().into_iter();
        lines.filter(|line| line.group != DisclosureGroup::Summary).map(|line| line.text).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let added = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(added).collect()
}

fn running(side: &Compared<'_>) -> impl Iterator<Item = String> {
    let fact = FileFact { digest: String::new(), bytes: 0 };
    let files = side.files.keys().map(|path| ((*path).to_owned(), fact.clone())).collect();
    Disclosure::collect(&side.manifest).files_that_run(&FileFacts { files }).into_iter()
}

/// The fragments, of which those that are files are named by path.
fn fragments(manifest: &Value) -> impl Iterator<Item = String> {
    let fragments = Disclosure::collect(manifest).fragments.into_iter();
    fragments.map(|file| file.strip_prefix("./").map_or(file.clone(), str::to_owned))
}

fn is_instruction(path: &str) -> bool {
    ["skills/", "agents/", "commands/"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sha2::Digest as _;

    use super::*;

    fn side<'a>(manifest: &Value, files: &[(&'a str, &'a str, bool)]) -> Compared<'a> {
        let file = |text: &str, executable: bool| ComparedFile {
            digest: sha2::Sha256::digest(text).into(),
            bytes: text.len() as u64,
            executable,
            content: Some(text.as_bytes().to_vec()),
        };
        let files = files.iter().map(|(path, text, executable)| (*path, file(text, *executable)));
        Compared { manifest: manifest.clone(), files: files.collect() }
    }

    #[test]
    fn each_kind_of_change_has_its_place() {
        let old = json!({"hooks": [{"event": "Stop", "script": "a.sh"}], "skills": ["s"]});
        let new = json!({"hooks": [{"event": "Stop", "script": "a.sh"}, {"event": "Stop", "script": "b.sh"}],
            "skills": ["s"], "mcpServers": {"m": {"command": "node", "args": ["server.js"]}}});
        let before = side(
            &old,
            &[
                ("capability.json", "1", false),
                ("a.sh", "one\n", true),
                ("lib.py", "x\n", false),
                ("skills/s/SKILL.md", "Do.\n", false),
                ("server.js", "1\n", false),
                ("tool", "t", false),
            ],
        );
        let after = side(
            &new,
            &[
                ("capability.json", "2", false),
                ("a.sh", "two\n", true),
                ("b.sh", "new\n", true),
                ("lib.py", "y\n", false),
                ("skills/s/SKILL.md", "Do it.\n", false),
                ("server.js", "2\n", false),
                ("tool", "t", true),
            ],
        );
        let changes = Changes::between(&before, &after);
        assert_eq!(
            changes.surfaces,
            [
                "+ hook on \"Stop\", every tool, runs \"b.sh\"",
                "+ MCP server \"m\" starts \"node\" \"server.js\"",
            ]
        );
        let names = |list: &[FileChange]| -> Vec<String> {
            list.iter().map(|change| format!("{} {}", change.kind.name(), change.path)).collect()
        };
        assert_eq!(
            names(&changes.executable),
            ["changed a.sh", "added b.sh", "changed server.js", "changed tool"]
        );
        assert_eq!(changes.executable[0].diff.as_deref(), Some("@@ -1 +1 @@\n-one\n+two\n"));
        assert_eq!(changes.executable[3].diff, None, "the same bytes");
        assert_eq!(names(&changes.instructing), ["changed skills/s/SKILL.md"]);
        assert_eq!(names(&changes.other), ["changed lib.py"]);
        assert!(Changes::between(&before, &before).is_empty());
        let named: Vec<&str> = differing(&before, &after).into_iter().collect();
        assert_eq!(named, ["a.sh", "b.sh", "lib.py", "server.js", "skills/s/SKILL.md"]);
        // What nobody loaded is told by its size.
        let mut unread = after.clone();
        unread.files.values_mut().for_each(|file| file.content = None);
        let changes = Changes::between(&before, &unread);
        let told = "too large to show: 4 bytes before, 4 bytes now\n";
        assert_eq!(changes.executable[0].diff.as_deref(), Some(told));
        assert_eq!(changes.executable[3].diff, None, "the same bytes");
        assert_eq!(names(&Changes::between(&after, &before).executable)[1], "removed b.sh");
    }
}
