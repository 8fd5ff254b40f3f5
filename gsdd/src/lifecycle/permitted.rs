//! What the policy says to a bundle that is about to get in, and to one that is about to go.
//!
//! It is asked when a plan is made, and a plan is made again at the commit, so the rules of that moment count.
//!
//! Source: ADR-1244 D5 rule 7, decision D-18, threats T134, T187.

use std::path::Path;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::manifest::Document;
use gsdd_core::policy::{Objection, Policy, SurfaceClass};
use gsdd_core::text::shown;
use gsdd_core::trust::{Disclosure, VerificationLevel};

use super::obtain;
use super::stage::Staged;
use crate::engine::{Engine, Snapshot};
use crate::policy::refused;
use crate::store::level_of;

/// Judges a staged bundle: where it comes from, how well that is known, what it would run, and how it was agreed to.
///
/// # Errors
/// The first rule that objects.
pub(super) fn judge_staged(
    engine: &Engine,
    snapshot: &Snapshot,
    staged: &Staged,
    blanket: bool,
) -> Result<(), WireError> {
    let policy = engine.policy(&staged.ctx, &staged.project_root);
    if policy.rules().is_empty() {
        return Ok(());
    }
    obtain::judge_recorded(engine, &staged.ctx, &staged.source, &staged.project_root)?;
    judge_level(&policy, staged.id.as_str(), level(snapshot, staged))?;
    judge_classes(&policy, staged)?;
    if blanket {
        let what = format!("nobody looked at what {} runs", staged.id);
        policy.judge_blanket().map_err(|objection| refused(Code::PolicyYesForbidden, what, &objection))?;
    }
    Ok(())
}

/// Judges how well it is known where `id` comes from.
fn judge_level(policy: &Policy, id: &str, level: VerificationLevel) -> Result<(), WireError> {
    policy.judge_level(level).map_err(|objection| {
        let what = format!("it is not known well enough where {id} comes from");
        refused(Code::PolicyLevelTooLow, what, &objection)
            .with_fix("name a commit, a digest (--integrity) or a registry that publishes digests", &[])
    })
}

fn level(snapshot: &Snapshot, staged: &Staged) -> VerificationLevel {
    let recorded = || snapshot.own().taken(&staged.root.dir, staged.id.as_str())?.from.as_ref();
    let from = staged.taken_from.as_ref().or_else(recorded);
    // What was recorded of other bytes says nothing about these.
    let from = from.filter(|from| from.content.as_deref() == Some(staged.content_hash.as_str()));
    from.map(level_of).unwrap_or_default()
}

/// Every class that is forbidden is told at once.
fn judge_classes(policy: &Policy, staged: &Staged) -> Result<(), WireError> {
    let brings = SurfaceClass::ALL.into_iter().filter(|class| class.is_in(&staged.disclosure));
    let objections: Vec<(SurfaceClass, Box<Objection>)> = brings
        .filter_map(|class| Some((class, policy.judge_entry(class, staged.root.scope).err()?)))
        .collect();
    let Some(((_, first), rest)) = objections.split_first() else { return Ok(()) };
    let words: Vec<&str> = objections.iter().map(|(class, _)| class.words()).collect();
    let what = format!("{} brings {}, which may not be installed", staged.id, words.join(", "));
    let error = refused(Code::PolicyExecutableForbidden, what, first);
    Err(rest.iter().fold(error, |error, (_, objection)| {
        error.caused_by(format!("{} ({})", objection.why, objection.rule.place))
    }))
}

/// Refuses an update without a person where the policy does.
///
/// # Errors
/// The first rule that objects.
pub(crate) fn judge_unattended(
    engine: &Engine,
    ctx: &Context,
    project: &Path,
    id: &str,
) -> Result<(), WireError> {
    engine.policy(ctx, project).judge_unattended().map_err(|objection| {
        refused(Code::PolicyAutoForbidden, format!("{id} is not updated by itself"), &objection)
            .with_fix("update it yourself", &["gsdctl", "update", id])
    })
}

/// Refuses to take away, or to switch off, what has to stay.
///
/// # Errors
/// The first rule that requires one of `ids`.
pub(crate) fn judge_removal<'a>(
    engine: &Engine,
    ctx: &Context,
    project: &Path,
    ids: impl IntoIterator<Item = &'a String>,
) -> Result<(), WireError> {
    let policy = engine.policy(ctx, project);
    for id in ids {
        policy.judge_removal(id).map_err(|objection| {
            refused(Code::PolicyRequired, format!("{} has to stay", shown(id)), &objection).with_fix(
                "to keep anything of it from running, take the agreement back",
                &["gsdctl", "consent", "revoke", id],
            )
        })?;
    }
    Ok(())
}

/// One line for each capability that is required and not there.
pub(crate) fn missing_required(engine: &Engine, snapshot: &Snapshot, ctx: &Context) -> Vec<String> {
    let policy = engine.policy(ctx, &snapshot.project_root);
    let here = |id: &str| snapshot.composition.registry.get(id).is_some();
    let missing = policy.required().into_iter().filter(|(id, _)| !here(id.as_str()));
    missing.map(|(id, rule)| format!("{id} is required and not active here ({})", rule.place)).collect()
}

/// Why classes of an installed capability do not run, one line each.
pub(crate) fn resting(policy: &Policy, manifest: &Document, scope: Scope) -> Vec<String> {
    if policy.rules().is_empty() {
        return Vec::new();
    }
    let disclosure = Disclosure::collect(&manifest.read());
    let brings = SurfaceClass::ALL.into_iter().filter(|class| class.is_in(&disclosure));
    let objections = brings.filter_map(|class| Some((class, policy.judge_use(class, scope).err()?)));
    objections
        .map(|(class, objection)| {
            let what = match class {
                SurfaceClass::Hooks
                | SurfaceClass::Commands
                | SurfaceClass::GateCommands
                | SurfaceClass::ReviewerLanes => "do not run",
                SurfaceClass::McpServers => {
                    "may not run, and one that a host starts without us goes on until it is removed"
                }
            };
            format!("its {} {what}: {} ({})", class.words(), objection.why, objection.rule.place)
        })
        .collect()
}
