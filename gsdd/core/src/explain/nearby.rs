//! Did you mean.

use super::subject::{Subject, SubjectKind};
use super::world::World;
use crate::registry::LoopPoint;

/// Most suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Longest name that is compared, in characters; a longer one is no slip of the hand.
pub(crate) const MAX_COMPARED: usize = 64;

pub(super) fn nearby(world: &World<'_>, subject: &Subject) -> Vec<String> {
    let wanted: Vec<char> = subject.name.to_lowercase().chars().take(MAX_COMPARED + 1).collect();
    if wanted.is_empty() || wanted.len() > MAX_COMPARED {
        return Vec::new();
    }
    let allowed = (wanted.len() / 3).max(1);
    let mut found: Vec<(usize, SubjectKind, String)> = names(world)
        .into_iter()
        .filter(|(kind, _)| subject.kind.is_none_or(|asked| asked == *kind))
        .filter_map(|(kind, name)| {
            let chars: Vec<char> = name.to_lowercase().chars().take(MAX_COMPARED + 1).collect();
            let distance = distance(&wanted, &chars);
            (distance <= allowed).then(|| (distance, kind, name.to_owned()))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, kind, name)| format!("{}:{name}", kind.word())).collect()
}

/// Every name of the registry; those of bundles that were left out are not repeated.
fn names<'a>(world: &World<'a>) -> Vec<(SubjectKind, &'a str)> {
    let registry = &world.composition.registry;
    let mut names: Vec<(SubjectKind, &'a str)> = Vec::new();
    for composed in registry.capabilities() {
        names.push((SubjectKind::Capability, composed.id().as_str()));
        names.extend(composed.manifest.hooks.iter().map(|hook| (SubjectKind::Hook, hook.event.as_str())));
    }
    names.extend(registry.skills().map(|(name, _)| (SubjectKind::Skill, name)));
    names.extend(registry.agents().map(|(name, _)| (SubjectKind::Agent, name)));
    names.extend(registry.config().map(|entry| (SubjectKind::Key, entry.key)));
    names.extend(registry.families().map(|family| (SubjectKind::Family, family.command.family.as_str())));
    names.extend(LoopPoint::ALL.map(|point| (SubjectKind::Point, point.as_str())));
    names
}

/// Least number of characters to insert, remove or replace.
pub(crate) fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (b, above) in other.iter().zip(row.iter().skip(1)) {
            left = (corner + usize::from(a != b)).min(left + 1).min(above + 1);
            corner = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn slips_of_the_hand_are_near() {
        let count = |one: &str, other: &str| {
            distance(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("", ""), 0);
        assert_eq!(count("plan", "plan"), 0);
        assert_eq!(count("plan", "pln"), 1);
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
    }
}
