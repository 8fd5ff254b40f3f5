//! The gates that look at one candidate alone.

use super::candidate::{Candidate, ConsentVerdict, FragmentRead, LedgerState, ManifestRead};
use super::skip::{SkipReason, UnconsentedCause};
use crate::ids::reserved_prefix;
use crate::manifest::{Manifest, Problem, When, escapes_root};
use crate::version::HostVersion;

/// Most problems that a skip repeats.
const MAX_REPEATED: usize = 3;

/// G1 to G5: before any name is compared. Answers the manifest that the later gates judge.
pub(super) fn before_claims(candidate: &Candidate) -> Result<&Manifest, SkipReason> {
    if candidate.ledger == LedgerState::Pending {
        return Err(SkipReason::Pending);
    }
    let assessed = match &candidate.manifest {
        ManifestRead::Missing => return Err(SkipReason::ManifestMissing),
        ManifestRead::Unreadable(why) => return Err(SkipReason::ManifestUnreadable { why: why.clone() }),
        ManifestRead::Read(assessed) => assessed,
    };
    if let Some(problem) = assessed.problems.iter().find(|problem| problem.rule.rule().when == When::Text) {
        let why = format!("line {}, column {}: {}", problem.line, problem.column, problem.message);
        return Err(SkipReason::ManifestUnreadable { why });
    }
    if let Some(prefix) = reserved_prefix(&candidate.dir_name) {
        return Err(SkipReason::ReservedPrefix { prefix });
    }
    match assessed.draft.as_deref() {
        // The shell assesses under the folder's name; anything else would be judged under a foreign id.
        Some(manifest) if manifest.id.as_str() == candidate.dir_name => Ok(manifest),
        Some(_) | None => {
            let problems: Vec<Problem> = assessed.own_problems().take(MAX_REPEATED).cloned().collect();
            Err(SkipReason::ManifestInvalid { problems, total: assessed.own_problems().count() })
        }
    }
}

/// G11 to G13: engines, consent, fragments.
pub(super) fn after_claims(
    candidate: &Candidate,
    manifest: &Manifest,
    host: HostVersion,
) -> Option<SkipReason> {
    engines(manifest, host).or_else(|| consent(candidate)).or_else(|| fragments(candidate))
}

fn engines(manifest: &Manifest, host: HostVersion) -> Option<SkipReason> {
    let range = manifest.engine_range.as_ref()?;
    if range.satisfies(host) {
        return None;
    }
    let range = manifest.engines_gsd.clone().unwrap_or_default();
    Some(SkipReason::EngineIncompatible { range, host })
}

fn consent(candidate: &Candidate) -> Option<SkipReason> {
    if !candidate.is_unconsented() {
        return None;
    }
    let cause = match candidate.consent {
        ConsentVerdict::Changed => UnconsentedCause::Changed,
        ConsentVerdict::Revoked => UnconsentedCause::Revoked,
        ConsentVerdict::NotNeeded | ConsentVerdict::Missing | ConsentVerdict::Granted => {
            if candidate.demoted { UnconsentedCause::Demoted } else { UnconsentedCause::Missing }
        }
    };
    Some(SkipReason::Unconsented { cause })
}

fn fragments(candidate: &Candidate) -> Option<SkipReason> {
    let paths = candidate.assessed().map(|assessed| assessed.fragment_paths.as_slice()).unwrap_or_default();
    paths.iter().find_map(|path| match candidate.fragments.get(path) {
        Some(FragmentRead::Text(_)) => None,
        Some(FragmentRead::Refused(why)) => {
            Some(SkipReason::FragmentInvalid { path: path.clone(), why: why.clone() })
        }
        Some(FragmentRead::Fault(why)) => {
            Some(SkipReason::FragmentFault { path: path.clone(), why: why.clone() })
        }
        None => Some(SkipReason::FragmentInvalid { path: path.clone(), why: "it was not read".to_owned() }),
    })
}

/// G15: the destination of a runtime that leaves the config home, when that is known.
pub(super) fn escaping_destination(candidate: &Candidate, manifest: &Manifest) -> Option<String> {
    candidate.config_home.as_ref()?;
    let layout = manifest.runtime.as_ref()?.get("artifactLayout")?.as_object()?;
    let entries = layout.values().filter_map(|entries| entries.as_array()).flatten();
    let mut destinations = entries.filter_map(|entry| entry.get("destSubpath")?.as_str());
    destinations.find(|dest| escapes_root(dest)).map(str::to_owned)
}
