//! Whether candidates have to be judged again, and whether they stand where they stood.
//!
//! Both depend on names, places, points and flows, not on texts, scripts, checks or defaults. Everything that it does
//! not depend on is named here: whoever adds a member to a manifest has to say which kind it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidate::{Candidate, FragmentRead, ManifestRead};
use crate::manifest::{Assessed, Contribution, Manifest, Step};
use crate::registry::LoopPoint;

/// Whether `after` is judged as `before` was, one by one and position by position; `accepted` are the positions of
/// those that were accepted. What was left out is repeated in its own words, so nothing about it may differ.
pub(super) fn same_fates(before: &[&Candidate], after: &[&Candidate], accepted: &[usize]) -> bool {
    if before.len() != after.len() {
        return false;
    }
    let mut is_accepted = vec![false; before.len()];
    for position in accepted {
        if let Some(flag) = is_accepted.get_mut(*position) {
            *flag = true;
        }
    }
    before.iter().zip(after).zip(is_accepted).all(|((before, after), accepted)| {
        std::ptr::eq(*before, *after) || same_fate(before, after, accepted)
    })
}

fn same_fate(before: &Candidate, after: &Candidate, accepted: bool) -> bool {
    let Candidate { dir_name, scope, demoted, bundle_dir, ledger, consent, manifest, fragments, config_home } =
        before;
    *dir_name == after.dir_name
        && *scope == after.scope
        && *demoted == after.demoted
        && *bundle_dir == after.bundle_dir
        && *ledger == after.ledger
        && *consent == after.consent
        && *config_home == after.config_home
        && same_reading(manifest, &after.manifest, accepted)
        && same_kinds(fragments, &after.fragments)
}

fn same_reading(before: &ManifestRead, after: &ManifestRead, accepted: bool) -> bool {
    match (before, after) {
        (ManifestRead::Missing, ManifestRead::Missing) => true,
        (ManifestRead::Unreadable(before), ManifestRead::Unreadable(after)) => before == after,
        (ManifestRead::Read(before), ManifestRead::Read(after)) => {
            Arc::ptr_eq(before, after) || accepted && same_assessment(before, after)
        }
        (ManifestRead::Missing | ManifestRead::Unreadable(_) | ManifestRead::Read(_), _) => false,
    }
}

/// Two manifests without a fault of their own that stand in the set in the same way.
fn same_assessment(before: &Assessed, after: &Assessed) -> bool {
    let Assessed {
        dir_name,
        manifest,
        document: _,
        problems,
        // Told of the accepted ones each time.
        warnings: _,
        // Told of those that are left out.
        gates: _,
        fragment_paths,
        // Without a problem it is the manifest.
        draft: _,
    } = before;
    problems.is_empty()
        && after.problems.is_empty()
        && *dir_name == after.dir_name
        && *fragment_paths == after.fragment_paths
        && manifest.as_ref().zip(after.manifest.as_ref()).is_some_and(|(a, b)| same_standing(a, b))
}

fn same_standing(before: &Manifest, after: &Manifest) -> bool {
    let Manifest {
        id,
        role,
        version: _,
        title: _,
        description: _,
        tier,
        requires,
        // Decides the range, too.
        engines_gsd,
        engine_range: _,
        runtime_compat,
        skills,
        agents,
        hooks: _,
        commands,
        steps,
        contributions,
        gates,
        config,
        activation_key: _,
        reviewer,
        mcp_servers: _,
        // Where the files of a runtime go is read from it.
        runtime,
        document: _,
    } = before;
    *id == after.id
        && *role == after.role
        && *tier == after.tier
        && *requires == after.requires
        && *engines_gsd == after.engines_gsd
        && *runtime_compat == after.runtime_compat
        && *skills == after.skills
        && *agents == after.agents
        && *commands == after.commands
        && steps.iter().map(step_flow).eq(after.steps.iter().map(step_flow))
        && contributions.iter().map(contribution_flow).eq(after.contributions.iter().map(contribution_flow))
        && gates.iter().map(|gate| gate.point).eq(after.gates.iter().map(|gate| gate.point))
        && config.iter().map(|(key, _)| key).eq(after.config.iter().map(|(key, _)| key))
        && *reviewer == after.reviewer
        && *runtime == after.runtime
}

/// What the order and the supply of a set depend on.
type Flow<'a> = (LoopPoint, &'a [String], &'a [String], usize);

fn step_flow(step: &Step) -> Flow<'_> {
    let Step { point, reference: _, produces, consumes, on_error: _, when: _, fragment: _, index } = step;
    (*point, produces, consumes, *index)
}

fn contribution_flow(hook: &Contribution) -> Flow<'_> {
    let Contribution {
        point,
        into: _,
        fragment: _,
        produces,
        consumes,
        on_error: _,
        when: _,
        config_values: _,
        index,
    } = hook;
    (*point, produces, consumes, *index)
}

/// Whether the same fragments can be used; what they say is not judged.
fn same_kinds(before: &BTreeMap<String, FragmentRead>, after: &BTreeMap<String, FragmentRead>) -> bool {
    before.len() == after.len()
        && before.iter().zip(after).all(|((a, before), (b, after))| {
            a == b
                && match (before, after) {
                    (FragmentRead::Text(_), FragmentRead::Text(_)) => true,
                    (FragmentRead::Refused(before), FragmentRead::Refused(after))
                    | (FragmentRead::Fault(before), FragmentRead::Fault(after)) => before == after,
                    (FragmentRead::Text(_) | FragmentRead::Refused(_) | FragmentRead::Fault(_), _) => false,
                }
        })
}
