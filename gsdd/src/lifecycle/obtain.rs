//! Getting the bytes of a bundle: from its source, within the policies, and compared with what was taken before.

use std::path::Path;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::source::compat::{EngineVerdict, judge_engines};
use gsdd_core::source::integrity::{PinRefusal, read_pin};
use gsdd_core::source::{Pin, SourceSpec};
use gsdd_core::text::{shown, shown_up_to};
use gsdd_core::trust::{PublisherKey, VerificationLevel};
use gsdd_core::user_config::UserConfig;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::stage::StageRequest;
use super::{from_state, from_tree};
use crate::engine::Engine;
use crate::fs::bundle_tree::BundleTree;
use crate::fs::staging::Room;
use crate::source::{self, Caller, Fetched, KnownKeys, watch::Watch};
use crate::store::{OwnState, Past, ScopeRoot, TakenFrom};
use crate::user_config;

/// Versions that are tried when the first one does not run here.
const MAX_DOWNGRADES: usize = 3;

/// Takes the bundle from its source; with it comes what the person should know, cleaned.
pub(super) fn fetch(
    engine: &Engine,
    request: &StageRequest<'_>,
    raw: &str,
    root: &ScopeRoot,
    project_root: &Path,
) -> Result<(Fetched, Vec<String>), WireError> {
    let policy = engine.policy(request.ctx, project_root);
    let spec = source::parse(raw).map_err(|error| {
        // Who repairs the spec is not surprised by the next refusal.
        let limits = policy.rules().iter().filter(|rule| rule.limits_sources());
        limits.fold(error, |error, rule| {
            error.caused_by(format!("besides, {} limits the sources ({})", rule.key.name(), rule.place))
        })
    })?;
    let given = read_pin(spec.kind(), request.integrity).map_err(|refusal| unusable_pin(&refusal))?;
    let before = Before::read(engine)?;
    let pin = given.clone().or_else(|| before.pin_of(&spec));
    let pinned = pin.is_some();
    let project = (root.scope == Scope::Project).then_some(project_root);
    let caller = caller(engine, request.ctx, project_root, request.cancel.clone())?
        .for_project(project.map(Path::to_owned))
        .offline(request.offline)
        .looking_for_signatures(!request.link)
        .pinned(pin);
    let keys = known_keys(&before.0, &root.dir, &caller.user_config());
    let caller = caller.knowing(keys);
    source::resolve::judge(&spec, &caller)?;
    let mut fetched = source::fetch(&spec, &caller)
        .and_then(|fetched| that_runs_here(&spec, fetched, &caller))
        // What the source had to say often tells why.
        .map_err(|error| caller.notes().into_iter().fold(error, WireError::caused_by))?;
    if pinned {
        fetched.from = fetched.from.carrying(VerificationLevel::Pin);
        fetched.from.pinned = Some(fetched.recorded.clone());
    }
    fetched.from.content = Some(fetched.tree.content_hash().as_str().to_owned());
    if let Some(tag) = before.moved_tag(&fetched.from) {
        caller.note(format!(
            "the tag {} names another commit than when it was installed; ask the author why it was moved",
            shown_up_to(tag, 200)
        ));
    }
    // Who gives a digest vouches for these bytes, whatever came before.
    if given.is_none() {
        before.compare(&fetched.from)?;
    }
    Ok((fetched, caller.notes()))
}

/// A caller who may look at sources on behalf of `ctx`, within the policies of the project.
///
/// # Errors
/// When our own folder can't be written.
pub(crate) fn caller<'a>(
    engine: &Engine,
    ctx: &'a Context,
    project_root: &Path,
    cancel: CancellationToken,
) -> Result<Caller<'a>, WireError> {
    let caller = asking(engine, ctx, project_root, cancel);
    crate::fs::atomic::private_folder(&caller.workspace).map_err(|error| {
        WireError::new(Code::IoFailed, format!("our state folder can't be written: {error}"))
            .at_file(&caller.workspace)
            .with_fix("make that folder writable for you, then run the same command again", &[])
    })?;
    Ok(caller)
}

/// A caller who only asks what is allowed: nothing is written, so nothing can be fetched.
pub(crate) fn asking<'a>(
    engine: &Engine,
    ctx: &'a Context,
    project_root: &Path,
    cancel: CancellationToken,
) -> Caller<'a> {
    let workspace = engine.places().state.join("fetch");
    let config_file = user_config::path(ctx, &engine.places().user_home);
    Caller::new(ctx, workspace, room(engine, ctx), Watch::new(cancel))
        .at_home(engine.base().gsd_version(), config_file)
        .judged_by(engine.policy(ctx, project_root))
}

/// The keys of publishers that the person configured, and those that signed what is installed in `root`: what a project
/// brought along vouches for nothing outside of it.
pub(super) fn known_keys(state: &OwnState, root: &Path, config: &UserConfig) -> KnownKeys {
    let agreed = state.taken.iter().filter(|(_, taken)| taken.revoked_at.is_none());
    let agreed = agreed.filter_map(|(key, taken)| {
        let (_, id) = key.rsplit_once('|').filter(|(at, _)| Path::new(at) == root)?;
        let signer = taken.from.as_ref()?.signer.as_ref()?;
        Some((id.to_owned(), PublisherKey::parse(&signer.key).ok()?))
    });
    KnownKeys {
        agreed: agreed.collect(),
        configured: config.publishers.iter().map(|(name, key)| (name.clone(), key.clone())).collect(),
        named: None,
    }
}

/// Where bundles are staged for `ctx`, and how much its person allows.
pub(super) fn room(engine: &Engine, ctx: &Context) -> Room {
    Room { objects: engine.places().objects(), max_bytes: max_bytes(engine, ctx) }
}

/// Most content of a bundle that the person of `ctx` allows, in bytes.
pub(crate) fn max_bytes(engine: &Engine, ctx: &Context) -> u64 {
    user_config::read(&user_config::path(ctx, &engine.places().user_home)).max_bundle_bytes()
}

/// Where a source has several versions and the one it gave does not run here, the one that its author names for this
/// level instead. What is given back in any case is judged like everything else.
///
/// Source: ADR-1244 D6 (graceful downgrade).
fn that_runs_here(spec: &SourceSpec, first: Fetched, caller: &Caller<'_>) -> Result<Fetched, WireError> {
    let mut tried = Vec::new();
    let mut fetched = first;
    while tried.len() < MAX_DOWNGRADES && !caller.is_pinned() {
        let manifest = fetched.tree.manifest();
        let Some(manifest) = manifest else { break };
        let verdict = judge_engines(&manifest, |range| caller.runs(range));
        let EngineVerdict::Incompatible { range, downgrade_to: Some(other) } = verdict else { break };
        if tried.contains(&other) {
            break;
        }
        tried.push(other.clone());
        let Some(exact) = source::resolve::exactly(spec, &other, caller)? else { break };
        let member = |name: &str| shown(manifest.get(name).and_then(Value::as_str).unwrap_or_default());
        caller.note(format!(
            "{} {} needs GSD {}, this is GSD {}; {} is taken instead, which its author names for this level",
            member("id"),
            member("version"),
            shown(&range),
            caller.gsd,
            shown(&other)
        ));
        source::resolve::judge(&exact, caller)?;
        let next = source::fetch(&exact, caller)?;
        // The wish stays what it was: a later update looks for the newest again.
        fetched = Fetched { recorded: fetched.recorded, ..next };
    }
    Ok(fetched)
}

/// Takes the bundle as it lies there, for instance because a colleague committed it to the project.
pub(crate) fn in_place(
    engine: &Engine,
    ctx: &Context,
    live: &Path,
    recorded: &str,
    project_root: &Path,
) -> Result<BundleTree, WireError> {
    judge_recorded(engine, ctx, recorded, project_root)?;
    BundleTree::read(live, max_bytes(engine, ctx)).map_err(|refusal| from_tree(&refusal))
}

/// Whether the policy lets what is here already come from where it was recorded to come from. Records may be forged
/// (T134), so they are judged like anything that is typed.
pub(super) fn judge_recorded(
    engine: &Engine,
    ctx: &Context,
    recorded: &str,
    project_root: &Path,
) -> Result<(), WireError> {
    let caller = asking(engine, ctx, project_root, CancellationToken::new());
    match source::resolve::judge_record(recorded, &caller) {
        // Where a colleague has it from does not have to be configured here.
        Err(error) if &*error.code == Code::NotFound.name() => Ok(()),
        judged => judged,
    }
}

/// Takes a content that was agreed to before from our store.
pub(super) fn stored(
    engine: &Engine,
    ctx: &Context,
    past: &Past,
    project_root: &Path,
) -> Result<BundleTree, WireError> {
    judge_recorded(engine, ctx, &past.source, project_root)?;
    engine.objects().load(&past.taken.content_hash).map_err(|refusal| {
        WireError::new(
            Code::NotFound,
            format!("the content of version {} can't be brought back: {refusal}", shown(&past.version)),
        )
        .at_file(engine.objects().path(&past.taken.content_hash))
        .with_fix("install that version from its source", &["gsdctl", "install", &past.source])
    })
}

/// What was taken until now, on this machine.
struct Before(OwnState);

impl Before {
    fn read(engine: &Engine) -> Result<Self, WireError> {
        let path = engine.places().own_state();
        OwnState::read(&path).map(|(state, _)| Self(state)).map_err(|failure| from_state(&path, &failure))
    }

    /// The digest that was given when this source was taken: it stays with it for updates and further installs.
    fn pin_of(&self, spec: &SourceSpec) -> Option<Pin> {
        let recorded = spec.recorded();
        let mut taken = self.0.taken.values().filter_map(|taken| taken.from.as_ref());
        let from = taken.find(|from| from.pinned.as_ref() == Some(&recorded))?;
        Pin::parse(from.archive.as_deref()?).ok()
    }

    /// The tag, when it named another commit for what is installed (T86).
    fn moved_tag<'a>(&self, from: &'a TakenFrom) -> Option<&'a str> {
        let mut taken = self.0.taken.values().filter_map(|taken| taken.from.as_ref());
        from.tag.as_deref().filter(|_| taken.any(|earlier| earlier.was_moved(from)))
    }

    /// A name that never changes what it means, and other bytes than before: somebody changed something that can't
    /// change (T74, T86).
    fn compare(&self, from: &TakenFrom) -> Result<(), WireError> {
        let Some(reference) = &from.reference else { return Ok(()) };
        let past = self.0.past.values().flatten().map(|past| &past.taken);
        let taken = self.0.taken.values().chain(past).filter_map(|taken| taken.from.as_ref());
        if !taken.into_iter().any(|earlier| earlier.contradicts(from)) {
            return Ok(());
        }
        Err(WireError::new(
            Code::IntegrityMismatch,
            format!("{} has other bytes than when it was taken before", source::printable(reference)),
        )
        .caused_by("this name is for one content and can't get another one by an ordinary release")
        .with_fix("ask the author what happened, and keep what is installed until you know", &[]))
    }
}

fn unusable_pin(refusal: &PinRefusal) -> WireError {
    let error = WireError::new(Code::UsageInvalid, refusal.to_string());
    match refusal {
        PinRefusal::NotForKind(gsdd_core::source::SourceKind::Git) => {
            error.with_fix("name the commit instead: https://host/repo.git#sha:COMMIT", &[])
        }
        PinRefusal::NotForKind(_) => error.with_fix("leave out --integrity for this source", &[]),
        PinRefusal::Problem(_) | PinRefusal::Mismatch => {
            error.with_fix("give one value: sha512- and 88 characters of base64", &[])
        }
    }
}
