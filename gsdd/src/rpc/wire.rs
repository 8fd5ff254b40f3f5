//! Between wire types and the domain; nothing else names both.

use gsd_proto::api::Warning;
use gsd_proto::api::capability::{Consent, DisclosureLine, Outcome, PlanLine, StageResult};
use gsd_proto::api::hook::HostReply;
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::hooks;
use gsdd_core::lifecycle::Plan;
use gsdd_core::text::{shown, shown_up_to};

use crate::engine::Snapshot;
use crate::lifecycle::{Prepared, Removal, Staged};

/// Warnings of a snapshot.
pub(super) fn warnings(snapshot: &Snapshot) -> Vec<Warning> {
    snapshot.warnings.iter().map(|message| warning("registry.degraded", message)).collect()
}

pub(super) fn warning(code: &str, message: &str) -> Warning {
    Warning { code: code.to_owned(), message: shown_up_to(message, 1000), fix: Vec::new() }
}

/// `global` or `project`.
pub(super) fn scope(word: Option<&str>) -> Result<Option<Scope>, WireError> {
    match word {
        None => Ok(None),
        Some("global") => Ok(Some(Scope::Global)),
        Some("project") => Ok(Some(Scope::Project)),
        Some(other) => Err(WireError::new(
            Code::UsageInvalid,
            format!("`{}` is no scope; there are `global` and `project`", shown(other)),
        )),
    }
}

pub(super) fn plan_lines(plan: &Plan) -> Vec<PlanLine> {
    plan.changes().into_iter().map(|change| PlanLine { path: change.path, text: change.text }).collect()
}

pub(super) fn staged(
    staged: &Staged,
    prepared: &Prepared,
    ticket: String,
    snapshot: &Snapshot,
) -> StageResult {
    let mut warnings = warnings(snapshot);
    warnings.extend(staged.warnings.iter().map(|message| warning("manifest.warning", message)));
    let from = staged.taken_from.as_ref();
    StageResult {
        snapshot: snapshot.generation,
        warnings,
        ticket,
        id: staged.id.to_string(),
        title: shown(&staged.manifest.title),
        version: staged.manifest.version.clone(),
        installed_version: prepared.installed_version.clone(),
        scope: staged.root.word().to_owned(),
        root: staged.root.dir.clone(),
        source: shown_up_to(&staged.source, 1000),
        commit: from.and_then(|from| from.commit.clone()),
        archive: from.and_then(|from| from.archive.clone()),
        pinned: from.is_some_and(|from| from.pinned),
        resolved: from.and_then(|from| from.url.as_deref().map(shown)),
        current: prepared.current,
        requires_consent: prepared.requires_consent,
        reasons: prepared.reasons.clone(),
        disclosure: staged
            .disclosure
            .lines(&staged.facts)
            .into_iter()
            .map(|line| DisclosureLine { group: line.group.name().to_owned(), text: line.text })
            .collect(),
        signature: staged.signature.clone(),
        content_hash: staged.content_hash.as_str().to_owned(),
        consent_digest: staged.consent_digest.clone(),
        plan: plan_lines(&prepared.plan),
        wired: prepared.wired.clone(),
        not_wired: prepared.not_wired.clone(),
    }
}

pub(super) fn installed(
    staged: &Staged,
    prepared: &Prepared,
    consent: Option<Consent>,
    snapshot: &Snapshot,
) -> Outcome {
    let status = match (prepared.current, &prepared.installed_version, prepared.not_wired.is_empty()) {
        (true, _, _) => "current",
        (false, _, false) => "incomplete",
        (false, None, true) => "installed",
        (false, Some(_), true) => "upgraded",
    };
    Outcome {
        snapshot: snapshot.generation,
        warnings: warnings(snapshot),
        status: status.to_owned(),
        id: staged.id.to_string(),
        version: Some(staged.manifest.version.clone()),
        scope: staged.root.word().to_owned(),
        changed: !prepared.current,
        wired: prepared.wired.clone(),
        not_wired: prepared.not_wired.clone(),
        changes: plan_lines(&prepared.plan),
        consent,
        ..Outcome::default()
    }
}

/// One outcome of a removal and of what was removed along with it.
pub(super) fn removed(removals: &[Removal], status: &str, snapshot: &Snapshot) -> Outcome {
    let mut outcome = Outcome {
        snapshot: snapshot.generation,
        warnings: warnings(snapshot),
        status: status.to_owned(),
        changed: status == "removed",
        ..Outcome::default()
    };
    for removal in removals {
        outcome.id = removal.id.to_string();
        outcome.version.clone_from(&removal.version);
        removal.scope.clone_into(&mut outcome.scope);
        outcome.wired.extend(removal.taken_out.iter().cloned());
        outcome.stripped_edits += removal.entries;
        outcome.not_wired.extend(removal.left.iter().cloned());
        outcome.changes.extend(plan_lines(&removal.plan));
    }
    outcome
}

pub(super) fn host_reply(reply: hooks::HostReply) -> HostReply {
    HostReply { stdout: reply.stdout, stderr: reply.stderr, exit: reply.exit }
}
