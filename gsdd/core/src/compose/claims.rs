//! Who owns which name.
//!
//! Source: ADR-1244 D2; overlay model, "First-party always wins".

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::scope::Scope;
use crate::ids::CapabilityId;
use crate::manifest::{Manifest, Problem, RuleId};
use crate::registry::{CentralConfig, is_built_in_word};
use crate::text::shown_up_to;

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As written.
    Exact,
    /// Names that differ only in case are twins: on many file systems they are the same file. Keys that contain
    /// each other clash too.
    Twins,
}

/// The owner of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    pub(super) id: &'a CapabilityId,
    pub(super) scope: Scope,
}

type Names<'a> = HashMap<Cow<'a, str>, Holder<'a>>;

/// The names of the set so far.
pub(super) struct Claims<'a> {
    spelling: Spelling,
    skills: Names<'a>,
    agents: Names<'a>,
    families: Names<'a>,
    keys: Names<'a>,
    /// Dotted prefixes of the keys, each with one key below it.
    key_prefixes: HashMap<&'a str, &'a str>,
    slugs: Names<'a>,
    flags: Names<'a>,
    sections: Names<'a>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(spelling: Spelling) -> Self {
        Self {
            spelling,
            skills: Names::new(),
            agents: Names::new(),
            families: Names::new(),
            keys: Names::new(),
            key_prefixes: HashMap::new(),
            slugs: Names::new(),
            flags: Names::new(),
            sections: Names::new(),
        }
    }

    fn fold<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.spelling {
            Spelling::Twins if name.chars().any(|c| !c.is_lowercase() && c.is_alphabetic()) => {
                Cow::Owned(name.to_lowercase())
            }
            Spelling::Twins | Spelling::Exact => Cow::Borrowed(name),
        }
    }

    /// Makes `manifest` the owner of its names; a name that is taken stays with its owner.
    pub(super) fn insert(&mut self, manifest: &'a Manifest, scope: Scope) {
        let holder = Holder { id: &manifest.id, scope };
        for skill in &manifest.skills {
            let name = self.fold(skill);
            self.skills.entry(name).or_insert(holder);
        }
        for agent in &manifest.agents {
            let name = self.fold(agent);
            self.agents.entry(name).or_insert(holder);
        }
        for command in &manifest.commands {
            self.families.entry(Cow::Borrowed(&command.family)).or_insert(holder);
        }
        for (key, _) in &manifest.config {
            self.keys.entry(Cow::Borrowed(key)).or_insert(holder);
            for prefix in dotted_prefixes(key) {
                self.key_prefixes.entry(prefix).or_insert(key);
            }
        }
        if let Some(lane) = &manifest.reviewer {
            self.slugs.entry(Cow::Borrowed(&lane.slug)).or_insert(holder);
            self.sections.entry(Cow::Borrowed(&lane.section)).or_insert(holder);
            for flag in &lane.flags {
                self.flags.entry(Cow::Borrowed(flag)).or_insert(holder);
            }
        }
    }

    /// Skills that have an owner.
    pub(super) fn taken_skills(&self, manifest: &Manifest, rule: RuleId) -> Vec<Problem> {
        self.taken(&self.skills, rule, "skill", list("/skills", &manifest.skills))
    }

    /// Agents that have an owner.
    pub(super) fn taken_agents(&self, manifest: &Manifest, rule: RuleId) -> Vec<Problem> {
        self.taken(&self.agents, rule, "agent", list("/agents", &manifest.agents))
    }

    /// Families that have an owner.
    pub(super) fn taken_families(&self, manifest: &Manifest, rule: RuleId) -> Vec<Problem> {
        self.taken(&self.families, rule, "command family", families(manifest))
    }

    /// Config keys that have an owner, and keys that contain or are contained in an owned one.
    pub(super) fn taken_keys(&self, manifest: &Manifest, rule: RuleId) -> Vec<Problem> {
        let mut problems = self.taken(&self.keys, rule, "config key", config_keys(manifest));
        if self.spelling == Spelling::Exact {
            return problems;
        }
        for (pointer, key) in config_keys(manifest).filter(|(_, key)| !self.keys.contains_key(*key)) {
            let above = dotted_prefixes(key).find(|prefix| self.keys.contains_key(*prefix));
            if let Some(owned) = above.or_else(|| self.key_prefixes.get(key).copied()) {
                problems.push(nested(pointer, key, owned));
            }
        }
        problems
    }

    /// Lane words that have an owner.
    pub(super) fn taken_lane_words(&self, manifest: &Manifest) -> Vec<Problem> {
        let Some(lane) = &manifest.reviewer else { return Vec::new() };
        let slug = [("/reviewer/slug".to_owned(), lane.slug.as_str())].into_iter();
        let section = [("/reviewer/reviewsSection".to_owned(), lane.section.as_str())].into_iter();
        let flags = list("/reviewer/flags", &lane.flags);
        let mut problems = self.taken(&self.slugs, RuleId::CrossReviewerSlugUnique, "slug", slug);
        problems.extend(self.taken(&self.flags, RuleId::CrossReviewerFlagUnique, "flag", flags));
        problems.extend(self.taken(&self.sections, RuleId::CrossReviewerSectionUnique, "section", section));
        problems
    }

    fn taken<'n>(
        &self,
        names: &Names<'_>,
        rule: RuleId,
        what: &str,
        wanted: impl Iterator<Item = (String, &'n str)>,
    ) -> Vec<Problem> {
        // Only names of skills and agents become files.
        let exact = !matches!(what, "skill" | "agent");
        let folded = |name: &'n str| if exact { Cow::Borrowed(name) } else { self.fold(name) };
        let owned = wanted.filter_map(|(pointer, name)| {
            let holder = names.get(&folded(name))?;
            let (name, scope) = (shown_up_to(name, 60), holder.scope.as_str());
            let message = format!("the {what} `{name}` belongs to `{}` ({scope})", holder.id);
            Some(Problem::new(rule, pointer, message))
        });
        owned.collect()
    }

    /// Names that the manifest itself lists twice.
    pub(super) fn own_duplicates(&self, manifest: &Manifest) -> Vec<Problem> {
        let families: Vec<String> = manifest.commands.iter().map(|command| command.family.clone()).collect();
        let mut problems = Vec::new();
        for (rule, what, prefix, names) in [
            (RuleId::CrossSkillSingleOwner, "skill", "/skills", &manifest.skills),
            (RuleId::CrossAgentSingleOwner, "agent", "/agents", &manifest.agents),
            (RuleId::CrossCommandFamilySingleOwner, "command family", "/commands", &families),
        ] {
            let mut seen = HashSet::new();
            for (index, name) in names.iter().enumerate() {
                let name_key =
                    if what == "command family" { Cow::Borrowed(name.as_str()) } else { self.fold(name) };
                if !seen.insert(name_key) {
                    let message = format!("the {what} `{}` is listed twice", shown_up_to(name, 60));
                    problems.push(Problem::new(rule, format!("{prefix}/{index}"), message));
                }
            }
        }
        if self.spelling == Spelling::Twins {
            let keys: HashSet<&str> = manifest.config.iter().map(|(key, _)| key.as_str()).collect();
            for (pointer, key) in config_keys(manifest) {
                if let Some(owned) = dotted_prefixes(key).find(|prefix| keys.contains(prefix)) {
                    problems.push(nested(pointer, key, owned));
                }
            }
        }
        problems
    }

    /// Config keys that belong to the host.
    pub(super) fn central_keys(&self, manifest: &Manifest, central: &CentralConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (pointer, key) in config_keys(manifest) {
            let name = shown_up_to(key, 60);
            let exact = central.is_exact(key);
            if central.matches_pattern(key) {
                let message = format!("`{name}` matches a pattern of the host's own config keys");
                problems.push(Problem::new(
                    RuleId::CrossConfigKeyCentralPatternCollision,
                    pointer.clone(),
                    message,
                ));
            }
            if exact {
                let message = format!("`{name}` is a config key of the host");
                problems.push(Problem::new(RuleId::CrossConfigKeyCentralCollision, pointer, message));
                continue;
            }
            if self.spelling == Spelling::Exact {
                continue;
            }
            if central.is_runtime_state(key) {
                let message = format!("the host keeps its state under `{name}`");
                problems.push(Problem::new(RuleId::CrossConfigKeyRuntimeState, pointer, message));
            } else if let Some(owned) = central.nested(key) {
                problems.push(nested(pointer, key, owned));
            }
        }
        problems
    }
}

/// Families that are command words of the host.
///
/// Upstream lets a family shadow them, the command that removes capabilities included.
pub(super) fn built_in_families(manifest: &Manifest) -> Vec<Problem> {
    let built_in = families(manifest).filter(|(_, family)| is_built_in_word(family));
    let problem = |(pointer, family): (String, &str)| {
        let message = format!("`{}` is a command of the host", shown_up_to(family, 60));
        Problem::new(RuleId::OverlayCommandFamilyBuiltIn, pointer, message)
    };
    built_in.map(problem).collect()
}

fn families(manifest: &Manifest) -> impl Iterator<Item = (String, &str)> {
    let numbered = manifest.commands.iter().enumerate();
    numbered.map(|(index, command)| (format!("/commands/{index}/family"), command.family.as_str()))
}

fn nested(pointer: String, key: &str, owned: &str) -> Problem {
    let (key, owned) = (shown_up_to(key, 60), shown_up_to(owned, 60));
    let message = format!("`{key}` and `{owned}` cannot both hold a value");
    Problem::new(RuleId::CrossConfigKeyNested, pointer, message)
}

fn list<'n>(prefix: &str, names: &'n [String]) -> impl Iterator<Item = (String, &'n str)> {
    names.iter().enumerate().map(move |(index, name)| (format!("{prefix}/{index}"), name.as_str()))
}

fn config_keys(manifest: &Manifest) -> impl Iterator<Item = (String, &str)> {
    manifest.config.iter().map(|(key, _)| {
        let mut pointer = "/config".to_owned();
        crate::json::push_token(&mut pointer, key);
        (pointer, key.as_str())
    })
}

/// The proper dotted prefixes of a key: `a.b.c` has `a` and `a.b`.
fn dotted_prefixes(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('.').filter_map(|(at, _)| key.get(..at))
}
