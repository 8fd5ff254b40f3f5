//! A manifest on its author's desk, and what its bundle has to hold.

use serde_json::Value;

use super::bundle_facts::BundleFacts;
use super::verdict::{Finding, Verdict};
use crate::bundle::RelPath;
use crate::compose::FragmentRead;
use crate::json::push_token;
use crate::manifest::reference::unknown_members;
use crate::manifest::{
    Assessed, Problem, RuleId, Strictness, assess_and_keep, is_safe_bundle_path, is_safe_stem, leaves_root,
    place,
};
use crate::registry::HostContract;
use crate::text::{shown, shown_up_to};

/// Most files that are looked for on behalf of one manifest.
const MAX_DECLARED: usize = 2_000;

/// The manifest file as the shell found it.
#[derive(Clone, Copy, Debug)]
pub enum ManifestFile<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// There is none.
    Missing,
    /// It is something else than a regular file; what, in fixed words.
    NotRegular(&'static str),
    /// It is larger than 8 MiB.
    TooBig,
    /// The operating system does not let us read it.
    Unreadable,
}

/// A manifest that was read, with what is known so far.
#[derive(Clone, Debug)]
pub struct Draft {
    assessed: Option<Assessed>,
    /// The document, when the text is JSON.
    document: Option<Value>,
    /// Why there is nothing to assess.
    unreadable: Option<Problem>,
    bytes: Vec<u8>,
}

impl Draft {
    /// Judges the manifest alone. Total.
    #[must_use]
    pub fn read(dir_name: &str, file: ManifestFile<'_>, contract: &HostContract) -> Self {
        let refused = |rule: RuleId, message: &str| Self {
            assessed: None,
            document: None,
            unreadable: Some(Problem::new(rule, String::new(), message.to_owned())),
            bytes: Vec::new(),
        };
        match file {
            ManifestFile::Bytes(bytes) => {
                let (assessed, document) = assess_and_keep(Strictness::Installed, dir_name, bytes, contract);
                Self { assessed: Some(assessed), document, unreadable: None, bytes: bytes.to_vec() }
            }
            ManifestFile::Missing => {
                refused(RuleId::BundleManifestPresent, "There is no `capability.json` in this folder.")
            }
            ManifestFile::NotRegular(what) => {
                let message = format!("`capability.json` is {what}, not a regular file.");
                refused(RuleId::ParseSize, &message)
            }
            ManifestFile::TooBig => refused(RuleId::ParseSize, "`capability.json` is larger than 8 MiB."),
            ManifestFile::Unreadable => {
                refused(RuleId::BundleMemberReadable, "`capability.json` cannot be read.")
            }
        }
    }

    /// What the rules of one manifest found; absent when there was nothing to read.
    #[must_use]
    pub fn assessed(&self) -> Option<&Assessed> {
        self.assessed.as_ref()
    }

    /// The fragment files that have to be read, each once.
    #[must_use]
    pub fn fragment_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.fragments().into_iter().map(|declared| declared.path).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The whole answer. Without `facts` only the manifest is judged.
    #[must_use]
    pub fn judge(&self, facts: Option<&BundleFacts>) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.problems.extend(self.unreadable.clone().map(Finding::from));
        let Some(assessed) = &self.assessed else { return verdict };
        let mut problems = assessed.problems.clone();
        let mut warnings = assessed.warnings.clone();
        let mut unknown = self.document.as_ref().map(unknown_members).unwrap_or_default();
        place(&self.bytes, unknown.iter_mut());
        warnings.extend(unknown);
        if let Some(facts) = facts {
            let mut added = self.fragment_problems(facts);
            let mut hints = Vec::new();
            if !facts.shipped {
                added.extend(self.missing_files(facts));
                hints.extend(self.missing_texts(facts));
            }
            place(&self.bytes, added.iter_mut().chain(&mut hints));
            problems.extend(added);
            warnings.extend(hints);
        }
        verdict.problems.extend(problems.into_iter().map(Finding::from));
        verdict.warnings.extend(warnings.into_iter().map(Finding::from));
        if let Some(facts) = facts {
            verdict.problems.extend(facts.faults.iter().map(super::MemberFault::finding));
        }
        verdict
    }

    /// Adds problems that were found against other capabilities, with their places in this manifest.
    pub fn add_merged(&self, verdict: &mut Verdict, mut problems: Vec<Problem>) {
        place(&self.bytes, problems.iter_mut());
        verdict.problems.extend(problems.into_iter().map(Finding::from));
    }

    fn feature(&self) -> Option<&Value> {
        let document = self.document.as_ref()?;
        (document.get("role").and_then(Value::as_str) == Some("feature")).then_some(document)
    }

    /// Fragments without an inline text whose path breaks no rule.
    fn fragments(&self) -> Vec<Declared> {
        let mut found = Vec::new();
        for list in ["steps", "contributions"] {
            for (index, entry) in self.entries(list) {
                let Some(fragment) =
                    entry.get("fragment").filter(|fragment| fragment.get("inline").is_none())
                else {
                    continue;
                };
                let path = fragment.get("path").and_then(Value::as_str).unwrap_or_default();
                if !path.is_empty() && !leaves_root(path) {
                    found.push(Declared::new(&[list, &index.to_string(), "fragment", "path"], path));
                }
            }
        }
        found.truncate(MAX_DECLARED);
        found
    }

    /// Scripts, modules and executables whose path breaks no rule.
    fn executables(&self) -> Vec<Declared> {
        let mut found = Vec::new();
        let mut add = |list: &str, index: usize, entry: &Value, key: &str| {
            let path = entry.get(key).and_then(Value::as_str).unwrap_or_default();
            if !path.is_empty() && is_safe_bundle_path(path) {
                found.push(Declared::new(&[list, &index.to_string(), key], path));
            }
        };
        for (index, hook) in self.entries("hooks") {
            add("hooks", index, hook, "script");
        }
        for (index, command) in self.entries("commands") {
            let key = if command.get("exec").is_some() { "exec" } else { "module" };
            add("commands", index, command, key);
        }
        found.truncate(MAX_DECLARED);
        found
    }

    fn entries(&self, list: &str) -> impl Iterator<Item = (usize, &Value)> {
        let entries = self.feature().and_then(|raw| raw.get(list)).and_then(Value::as_array);
        entries.into_iter().flatten().enumerate()
    }

    fn fragment_problems(&self, facts: &BundleFacts) -> Vec<Problem> {
        let mut problems = Vec::new();
        for declared in self.fragments() {
            let why = match facts.fragments.get(&declared.path) {
                Some(FragmentRead::Text(_)) => continue,
                Some(FragmentRead::Refused(why) | FragmentRead::Fault(why)) => shown(why),
                None => "the bundle does not contain it".to_owned(),
            };
            let message =
                format!("The fragment `{}` cannot be used: {why}.", shown_up_to(&declared.path, 120));
            problems.push(Problem::new(RuleId::OverlayFragmentUnreadable, declared.pointer, message));
        }
        problems
    }

    fn missing_files(&self, facts: &BundleFacts) -> Vec<Problem> {
        let mut problems = Vec::new();
        for declared in self.executables() {
            let name = shown_up_to(&declared.path, 120);
            let message = match normalised(&declared.path) {
                Some(path) if facts.files.contains(path.as_str()) => continue,
                Some(_) => format!("`{name}` is declared to run and is not a file of the bundle."),
                None => format!("`{name}` cannot be the name of a file of a bundle."),
            };
            problems.push(Problem::new(RuleId::BundleFileDeclared, declared.pointer, message));
        }
        problems
    }

    fn missing_texts(&self, facts: &BundleFacts) -> Vec<Problem> {
        let mut warnings = Vec::new();
        for (list, rule) in [("skills", RuleId::BundleWarnSkillFile), ("agents", RuleId::BundleWarnAgentFile)]
        {
            for (index, name) in self.entries(list).take(MAX_DECLARED) {
                let Some(name) = name.as_str().filter(|name| is_safe_stem(name)) else { continue };
                let file = match rule {
                    RuleId::BundleWarnSkillFile => format!("skills/{name}/SKILL.md"),
                    _ => format!("agents/{name}.md"),
                };
                if !facts.files.contains(&file) {
                    let pointer = pointer(&[list, &index.to_string()]);
                    let message =
                        format!("`{}` is declared and `{}` does not exist.", shown(name), shown(&file));
                    warnings.push(Problem::new(rule, pointer, message));
                }
            }
        }
        warnings
    }
}

/// A file that the manifest names, and where.
struct Declared {
    pointer: String,
    path: String,
}

impl Declared {
    fn new(tokens: &[&str], path: &str) -> Self {
        Self { pointer: pointer(tokens), path: path.to_owned() }
    }
}

fn pointer(tokens: &[&str]) -> String {
    let mut pointer = String::new();
    for token in tokens {
        push_token(&mut pointer, token);
    }
    pointer
}

/// The path without empty and `.` segments, which the manifest rules allow.
fn normalised(path: &str) -> Option<RelPath> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    RelPath::parse(&segments.join("/")).ok()
}
