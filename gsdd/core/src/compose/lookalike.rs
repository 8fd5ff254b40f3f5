//! Names that a person could take for those of a shipped capability.
//!
//! Equal names are refused by the rules of composition; these are the ones that only look equal: letters of another
//! script, digits for letters, `rn` for `m`, another hyphen. Only an install asks: what lies there already was looked
//! at by whoever put it there.
//!
//! Source: Unicode Technical Standard 39 (skeletons), ADR-1244 D5 rule 6; threats T122, T124.

use unicode_security::confusable_detection::skeleton;

use crate::manifest::Manifest;
use crate::registry::Base;

/// A name and the shipped one that it looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookalike {
    /// `id`, `skill`, `agent` or `command`.
    pub what: &'static str,
    /// The new name.
    pub name: String,
    /// The shipped name.
    pub shipped: String,
}

/// The names of `manifest` that look like a shipped one of the same kind and are another.
#[must_use]
pub fn lookalikes(base: &Base, manifest: &Manifest) -> Vec<Lookalike> {
    let shipped = base.registry();
    let ids: Vec<&str> = shipped.capabilities().iter().map(|one| one.manifest.id.as_str()).collect();
    let skills: Vec<&str> = shipped.skills().map(|(name, _)| name).collect();
    let agents: Vec<&str> = shipped.agents().map(|(name, _)| name).collect();
    let families: Vec<&str> = shipped.families().map(|one| one.command.family.as_str()).collect();
    let commands = manifest.commands.iter().map(|command| command.family.as_str());
    let mut found = Vec::new();
    compare("id", std::iter::once(manifest.id.as_str()), &ids, &mut found);
    compare("skill", manifest.skills.iter().map(String::as_str), &skills, &mut found);
    compare("agent", manifest.agents.iter().map(String::as_str), &agents, &mut found);
    compare("command", commands, &families, &mut found);
    found
}

fn compare<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a str>,
    shipped: &[&str],
    found: &mut Vec<Lookalike>,
) {
    for name in names {
        let looks = appearance(name);
        let twin = shipped.iter().find(|shipped| **shipped != name && appearance(shipped) == looks);
        found.extend(twin.map(|twin| Lookalike { what, name: name.to_owned(), shipped: (*twin).to_owned() }));
    }
}

/// What is left of a name for a quick look.
fn appearance(name: &str) -> String {
    let bare: String = name.to_lowercase().chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' ')).collect();
    skeleton(&bare).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> bool {
        let mut found = Vec::new();
        compare(
            "id",
            std::iter::once(name),
            &["code-review", "ollama", "drift", "research", "ui"],
            &mut found,
        );
        !found.is_empty()
    }

    #[test]
    fn t122_names_that_look_like_shipped_ones_are_found() {
        let (cyrillic_i, cyrillic_e) = ("dr\u{456}ft", "r\u{435}search");
        for twin in [
            "codereview",
            "code--review",
            "code_review",
            "Code-Review",
            "c0de-review",
            "o11ama",
            "\u{43e}llama",
            "\u{3bf}llama",
            cyrillic_i,
            cyrillic_e,
            "\u{ff55}\u{ff49}",
        ] {
            assert!(found(twin), "{twin}");
        }
        for other in ["code-review", "code-reviews", "acme-review", "drifts", "olama", "u", "ui-kit", ""] {
            assert!(!found(other), "{other}");
        }
    }
}
