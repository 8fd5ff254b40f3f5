//! `registry.*`: the composed registry of the caller's project.

use std::collections::BTreeSet;
use std::sync::Arc;

use gsd_proto::api::registry::{
    Changed, Changes, Get, GetParams, GetResult, List, ListItem, ListParams, ListResult, SubscribeParams,
};
use gsd_proto::{Code, Subscription as _, WireError};
use gsdd_core::activation::EnabledSkills;
use gsdd_core::compose::{ConsentVerdict, LedgerState, Scope};
use gsdd_core::ledger::Entry;
use gsdd_core::policy::Policy;
use gsdd_core::registry::{Composed, View};
use gsdd_core::text::shown;
use gsdd_core::trust::VerificationLevel;
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::{PendingSubscriptionSink, RpcModule, SubscriptionMessage};
use tokio::sync::broadcast::error::RecvError;

use super::{register, wire};
use crate::app::App;
use crate::engine::{Engine, NotRunnable, Overlay, Snapshot};
use crate::lifecycle;
use crate::store::level_of;

/// Adds the methods of this namespace.
pub(super) fn add_to(module: &mut RpcModule<App>) -> Result<(), RegisterMethodError> {
    register::<Get, _, _>(module, get)?;
    register::<List, _, _>(module, list)?;
    module.register_subscription(
        Changes::SUBSCRIBE,
        Changes::EVENT,
        Changes::UNSUBSCRIBE,
        |params, pending, app, _| {
            let params: SubscribeParams = params.parse().unwrap_or_default();
            tell_changes(app, params, pending)
        },
    )?;
    Ok(())
}

/// Tells a subscriber about its project until it leaves. The first event says where things stand; one that replaces
/// lost events says so too.
async fn tell_changes(app: Arc<App>, params: SubscribeParams, pending: PendingSubscriptionSink) {
    let project = app.engine.project_of(&params.ctx);
    let Ok(sink) = pending.accept().await else { return };
    // Subscribed before the first look, so that nothing falls in between.
    let mut changes = app.engine.changes();
    let generation = app.engine.snapshot(&project).await.map_or(0, |snapshot| snapshot.generation);
    let reset = |generation| Changed {
        instance: app.instance.clone(),
        generation,
        project: project.clone(),
        reset: true,
        ..Changed::default()
    };
    let mut next = reset(generation);
    loop {
        let message = SubscriptionMessage::new(sink.method_name(), sink.subscription_id(), &next);
        let Ok(message) = message else { return };
        if sink.send(message).await.is_err() {
            return;
        }
        next = loop {
            let received = tokio::select! {
                received = changes.recv() => received,
                () = sink.closed() => return,
            };
            match received {
                Ok(change) if change.project == project => {
                    break Changed {
                        instance: app.instance.clone(),
                        generation: change.generation,
                        project: change.project,
                        added: change.added,
                        removed: change.removed,
                        changed: change.changed,
                        reset: false,
                    };
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => break reset(app.engine.generation()),
                Err(RecvError::Closed) => return,
            }
        };
    }
}

async fn get(app: Arc<App>, params: GetParams) -> Result<GetResult, WireError> {
    let view = match params.view.as_deref() {
        None => View::All,
        Some(name) => view(name)?,
    };
    let snapshot = app.engine.snapshot(&app.engine.project_of(&params.ctx)).await?;
    Ok(GetResult {
        snapshot: snapshot.generation,
        warnings: wire::warnings(&snapshot),
        view: snapshot.composition.registry.view(view, Some(&snapshot.composition)),
    })
}

fn view(name: &str) -> Result<View, WireError> {
    View::parse(name).ok_or_else(|| {
        let words: Vec<&str> = View::ALL.iter().map(|(word, _)| *word).collect();
        WireError::new(Code::UsageInvalid, format!("there is no view `{}`", shown(name)))
            .with_fix(format!("views: {}", words.join(", ")), &[])
    })
}

async fn list(app: Arc<App>, params: ListParams) -> Result<ListResult, WireError> {
    let scope = wire::scope(params.scope.as_deref())?;
    let engine = app.engine.clone();
    let snapshot = engine.snapshot(&engine.project_of(&params.ctx)).await?;
    let reading = Arc::clone(&snapshot);
    let missing = lifecycle::missing_required(&engine, &snapshot, &params.ctx);
    // Comparing contents reads bundles that changed.
    let items = tokio::task::spawn_blocking(move || rows(&engine, &reading, &params, scope))
        .await
        .map_err(|error| WireError::new(Code::Internal, error.to_string()))?;
    let mut warnings = wire::warnings(&snapshot);
    warnings.extend(missing.iter().map(|message| wire::warning("policy.required", message)));
    Ok(ListResult { snapshot: snapshot.generation, warnings, items })
}

fn rows(engine: &Engine, snapshot: &Snapshot, params: &ListParams, scope: Option<Scope>) -> Vec<ListItem> {
    let enabled = snapshot.enabled_skills(default_config_home(engine, &params.ctx).as_deref());
    let policy = engine.policy(&params.ctx, &snapshot.project_root);
    let registry = &snapshot.composition.registry;
    let shipped = registry.capabilities().iter().filter(|composed| composed.scope == Scope::FirstParty);
    let mut rows: Vec<ListItem> =
        shipped.filter(|_| scope.is_none()).map(|composed| shipped_row(composed, &enabled)).collect();
    let mut seen = BTreeSet::new();
    let entries = snapshot.ledger_entries();
    for overlay in snapshot.overlays.iter().filter(|overlay| scope.is_none_or(|scope| overlay.scope == scope))
    {
        let place = (overlay.scope.as_str().to_owned(), overlay.dir_name.clone());
        rows.push(overlay_row(engine, snapshot, overlay, entries.get(&place), (&enabled, &policy)));
        seen.insert(place);
    }
    // Ledger entries whose bundle is gone.
    for ((word, id), entry) in entries {
        let wanted = scope.is_none_or(|scope| scope.as_str() == word);
        if wanted && !seen.contains(&(word.clone(), id.clone())) {
            rows.push(ListItem {
                reason: Some(format!(
                    "its files are gone; run `gsdctl remove {id} --scope {word}` or install it again"
                )),
                id,
                version: Some(entry.version),
                source: shown(&entry.source),
                scope: word,
                status: "skipped".to_owned(),
                level: VerificationLevel::None.name().to_owned(),
                ..ListItem::default()
            });
        }
    }
    rows
}

fn shipped_row(composed: &Composed, enabled: &EnabledSkills) -> ListItem {
    let manifest = &composed.manifest;
    ListItem {
        id: manifest.id.to_string(),
        role: Some(manifest.role.as_str().to_owned()),
        version: Some(manifest.version.clone()),
        tier: Some(manifest.tier.as_str().to_owned()),
        source: "first-party".to_owned(),
        scope: "first-party".to_owned(),
        status: "active".to_owned(),
        reason: None,
        surfaced: Some(enabled.surfaced(&manifest.skills)),
        title: Some(shown(&manifest.title)),
        level: "first-party".to_owned(),
        linked: None,
    }
}

fn overlay_row(
    engine: &Engine,
    snapshot: &Snapshot,
    overlay: &Overlay,
    entry: Option<&Entry>,
    (enabled, policy): (&EnabledSkills, &Policy),
) -> ListItem {
    let (status, reason) = status(engine, snapshot, overlay);
    let reason = reason.or_else(|| {
        let manifest = overlay.manifest.as_deref()?;
        let resting = lifecycle::resting(policy, &manifest.document, overlay.scope);
        (!resting.is_empty()).then(|| resting.join("; "))
    });
    let manifest = overlay.manifest.as_deref();
    let taken = snapshot.own().taken(&overlay.root, &overlay.dir_name);
    let linked = taken.and_then(|taken| Some(taken.link()?.path.clone()));
    let refused = snapshot.followed.refused.get(&overlay.dir_name).filter(|_| linked.is_some());
    let reason = reason.or_else(|| refused.cloned());
    // What is known is known of the bytes that were fetched.
    let from = taken.filter(|_| status != "changed").and_then(|taken| taken.from.as_ref());
    let level = from.map(level_of).unwrap_or_default();
    // Words of a bundle that nobody agreed to are not repeated.
    let title = manifest.filter(|_| overlay.accepted).map(|manifest| shown(&manifest.title));
    ListItem {
        id: shown(&overlay.dir_name),
        role: manifest.map(|manifest| manifest.role.as_str().to_owned()),
        version: entry
            .map(|entry| shown(&entry.version))
            .or_else(|| manifest.map(|manifest| manifest.version.clone())),
        tier: manifest.map(|manifest| manifest.tier.as_str().to_owned()),
        source: entry.map_or_else(|| "unrecorded".to_owned(), |entry| shown(&entry.source)),
        scope: overlay.scope.as_str().to_owned(),
        surfaced: (status == "active")
            .then(|| manifest.is_none_or(|manifest| enabled.surfaced(&manifest.skills))),
        status: status.to_owned(),
        reason,
        title,
        level: level.name().to_owned(),
        linked,
    }
}

/// "Never agreed to", "agreed to and changed since" and "taken back" are three different answers (D-06).
fn status(engine: &Engine, snapshot: &Snapshot, overlay: &Overlay) -> (&'static str, Option<String>) {
    let id = shown(&overlay.dir_name);
    let scope = overlay.scope.as_str();
    let skip = snapshot
        .composition
        .skips
        .iter()
        .find(|skip| skip.id == overlay.dir_name && skip.scope == overlay.scope);
    if let Some(skip) = skip {
        let word = match skip.reason.category() {
            "pending" => "pending",
            "engine-incompatible" => "incompatible",
            "unconsented" if overlay.consent == ConsentVerdict::Changed => "changed",
            "unconsented" => "inactive",
            _ => "skipped",
        };
        let remedy = skip.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        return (word, Some(format!("{}{remedy}", skip.text())));
    }
    if !overlay.accepted {
        return ("skipped", Some("it was not composed".to_owned()));
    }
    if overlay.consent == ConsentVerdict::Revoked {
        return (
            "inactive",
            Some("the agreement to it was taken back; install it again to agree anew".to_owned()),
        );
    }
    if overlay.ledger != LedgerState::Committed {
        let reason = "no ledger records it, so nothing of it runs; its prompts and gates are used. Install it to record it";
        return ("active", Some(reason.to_owned()));
    }
    let executable = overlay.manifest.as_deref().is_some_and(|manifest| {
        !manifest.hooks.is_empty()
            || !manifest.commands.is_empty()
            || !lifecycle::servers(manifest.mcp_servers.as_ref()).is_empty()
    });
    match overlay.agreed.as_deref() {
        Some(agreed) if executable => {
            match engine.bundles().runnable(
                &overlay.bundle,
                agreed,
                |digest| snapshot.fits(overlay, digest),
                engine.objects(),
            ) {
                Ok(_) => ("active", None),
                Err(NotRunnable::Changed) => (
                    "changed",
                    Some(format!(
                        "its files changed since they were agreed to; nothing of it runs. Install it again, or `gsdctl remove {id} --scope {scope}`"
                    )),
                ),
                // What was agreed to could be read once, so this is a change too.
                Err(NotRunnable::Unreadable(reason)) => (
                    "changed",
                    Some(format!(
                        "its files can't be checked any more: {}; nothing of it runs. Install it again, or `gsdctl remove {id} --scope {scope}`",
                        shown(&reason)
                    )),
                ),
                Err(problem) => ("inactive", Some(shown(&problem.to_string()))),
            }
        }
        _ => ("active", None),
    }
}

/// Configuration folder of the host that answers when a request names none.
pub(super) fn default_config_home(engine: &Engine, ctx: &gsd_proto::Context) -> Option<std::path::PathBuf> {
    let shipped = engine.shipped();
    let descriptor = shipped.descriptors.get(shipped.default_runtime.as_deref()?)?;
    lifecycle::host_places(descriptor, ctx, engine.places(), None).map(|places| places.config_home)
}
