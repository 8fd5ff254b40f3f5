//! Between wire types and the domain; nothing else names both.

use gsd_proto::api::Warning;
use gsd_proto::api::capability::{
    Consent, Differences, DisclosureLine, FileDifference, Outcome, PlanLine, StageResult,
};
use gsd_proto::api::hook::HostReply;
use gsd_proto::api::outdated::Row;
use gsd_proto::api::source::{Candidate, Considered, InspectResult, ResolveResult};
use gsd_proto::{Code, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::hooks;
use gsdd_core::lifecycle::{Plan, PlannedChange, Verb};
use gsdd_core::source::SourceSpec;
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{Changes, FileChange};

use crate::engine::Snapshot;
use crate::lifecycle::{Inspected, OutdatedRow, Prepared, Removal, Staged};
use crate::source::printable;
use crate::source::resolve::Resolved;

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
    let mut room = DiffRoom::default();
    let line = |change: PlannedChange| PlanLine {
        path: change.path,
        text: change.text,
        diff: change.diff.map(|diff| room.take(diff)),
    };
    plan.changes().into_iter().map(line).collect()
}

/// An answer has to fit into a frame, however many files differ.
pub(super) struct DiffRoom(usize);

impl Default for DiffRoom {
    fn default() -> Self {
        Self(2 * 1024 * 1024)
    }
}

impl DiffRoom {
    pub(super) fn take(&mut self, diff: String) -> String {
        match self.0.checked_sub(diff.len()) {
            Some(left) => {
                self.0 = left;
                diff
            }
            None => "not shown: too many differences\n".to_owned(),
        }
    }
}

pub(super) fn staged(
    staged: &Staged,
    prepared: &Prepared,
    ticket: String,
    snapshot: &Snapshot,
) -> StageResult {
    let mut warnings = warnings(snapshot);
    warnings.extend(staged.notes.iter().map(|note| warning("source.note", note)));
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
        pinned: from.is_some_and(|from| from.pinned.is_some()),
        resolved: from.and_then(|from| from.url.as_deref().map(shown)),
        current: prepared.current,
        requires_consent: prepared.requires_consent,
        reasons: prepared.reasons.clone(),
        differs: prepared.differs.as_ref().map(differences),
        disclosure: disclosure(staged.disclosed()),
        executable: staged.disclosure.executable_items(&staged.facts),
        instructing: staged.disclosure.instructing_items(&staged.facts),
        tokens: staged.disclosure.tokens(&staged.facts),
        signature: staged.signature.clone(),
        content_hash: staged.content_hash.as_str().to_owned(),
        consent_digest: staged.consent_digest.clone(),
        plan: plan_lines(&prepared.plan),
        wired: prepared.wired.clone(),
        not_wired: prepared.not_wired.clone(),
    }
}

pub(super) fn disclosure(lines: Vec<gsdd_core::trust::DisclosureLine>) -> Vec<DisclosureLine> {
    let line = |line: gsdd_core::trust::DisclosureLine| DisclosureLine {
        group: line.group.name().to_owned(),
        text: line.text,
    };
    lines.into_iter().map(line).collect()
}

fn differences(changes: &Changes) -> Differences {
    let mut room = DiffRoom::default();
    let mut files = |files: &[FileChange]| -> Vec<FileDifference> {
        files
            .iter()
            .map(|file| FileDifference {
                path: shown(&file.path),
                change: file.kind.name().to_owned(),
                diff: file.diff.clone().map(|diff| room.take(diff)),
            })
            .collect()
    };
    Differences {
        surfaces: changes.surfaces.clone(),
        executable: files(&changes.executable),
        instructing: files(&changes.instructing),
        other: files(&changes.other),
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
        (false, Some(_), true) if prepared.plan.verb == Verb::Rollback => "rolled_back",
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

/// What would be taken from a source.
pub(super) fn resolved(
    spec: &SourceSpec,
    resolved: Resolved,
    notes: &[String],
    snapshot: &Snapshot,
) -> ResolveResult {
    let mut warnings = warnings(snapshot);
    warnings.extend(notes.iter().map(|note| warning("source.note", note)));
    let long = |text: String| shown_up_to(&text, 4096);
    ResolveResult {
        snapshot: snapshot.generation,
        warnings,
        kind: spec.kind().name().to_owned(),
        source: spec.to_string(),
        taken: resolved.taken.map(|taken| Candidate {
            version: taken.version.map(long),
            exact: taken.exact.map(|spec| spec.to_string()),
            commit: taken.commit,
            url: taken.url.map(long),
            integrity: taken.integrity.map(long),
            content_hash: taken.content_hash,
            attestation: taken.attestation.map(long),
        }),
        considered: resolved
            .choice
            .considered
            .iter()
            .map(|row| Considered {
                version: shown(&row.version),
                verdict: row.verdict.name().to_owned(),
                reason: shown(&row.verdict.reason()),
            })
            .collect(),
        title: resolved.title.as_deref().map(shown),
        publisher: resolved.publisher.as_deref().map(shown),
        publisher_key: resolved.publisher_key,
    }
}

/// A bundle that was looked at.
pub(super) fn inspected(inspected: Inspected, snapshot: &Snapshot) -> InspectResult {
    let mut warnings = warnings(snapshot);
    warnings.extend(inspected.notes.iter().map(|note| warning("source.note", note)));
    let member = |name: &str| {
        shown(inspected.manifest.get(name).and_then(serde_json::Value::as_str).unwrap_or_default())
    };
    InspectResult {
        snapshot: snapshot.generation,
        warnings,
        id: member("id"),
        version: member("version"),
        title: member("title"),
        source: printable(&inspected.source),
        resolved: inspected.taken_from.version.as_deref().map(shown),
        commit: inspected.taken_from.commit,
        integrity: inspected.taken_from.archive,
        attestation: inspected.taken_from.attestation.as_deref().map(shown),
        valid: inspected.problems.is_empty(),
        problems: inspected.problems,
        content_hash: inspected.content_hash,
        signature: inspected.signature,
        consent_digest: inspected.consent_digest,
        disclosure: disclosure(inspected.disclosure),
        executable: inspected.executable,
        instructing: inspected.instructing,
        tokens: inspected.tokens,
        files: inspected.files,
        bytes: inspected.bytes,
    }
}

pub(super) fn outdated_row(row: OutdatedRow) -> Row {
    Row {
        id: row.id,
        scope: row.scope.to_owned(),
        source_kind: row.source_kind.to_owned(),
        current: shown(&row.current),
        latest: row.latest.as_deref().map(shown),
        status: row.status.name().to_owned(),
        note: row.note.as_deref().map(|note| shown_up_to(note, 1000)),
    }
}

pub(super) fn host_reply(reply: hooks::HostReply) -> HostReply {
    HostReply { stdout: reply.stdout, stderr: reply.stderr, exit: reply.exit }
}
