//! Staging: a bundle is fetched and judged, and nothing is active.
//!
//! The bundle lies in a private folder: what is shown, hashed, agreed to and written are the same bytes (T40, T41).

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::{
    Candidate, ConsentVerdict, FragmentRead, LedgerState, Lookalike, ManifestRead, Scope, check_install,
    lookalikes,
};
use gsdd_core::ids::{self, CapabilityId};
use gsdd_core::json;
use gsdd_core::manifest::{Manifest, Problem, assess};
use gsdd_core::registry::Base;
use gsdd_core::source::compat::{EngineVerdict, judge_engines};
use gsdd_core::text::shown;
use gsdd_core::trust::{
    ContentHash, Disclosure, FileFact, FileFacts, VerificationLevel, consent_digest, destination_digest,
    disclosure_signature, link_digest, sha256_text,
};
use gsdd_core::version::EngineRange;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{from_tree, link, obtain};
use crate::engine::{Engine, Snapshot};
use crate::fs::bundle_tree::{BundleFile, BundleTree};
use crate::source::Fetched;
use crate::store::{Linked, Past, ScopeRoot, TakenFrom, level_of};

/// How long a staged bundle is kept for its commit.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Bundles that wait at the same time.
const MAX_WAITING: usize = 16;

/// Where the bytes are taken from.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A source spec.
    Source(&'a str),
    /// What lies in the scope already, to be agreed to as it is; with the source that the ledger records.
    InPlace(&'a CapabilityId, &'a str),
    /// What an update replaced.
    Past(&'a Past),
    /// A linked folder, by itself.
    Linked(&'a Linked),
}

/// What to stage.
pub(crate) struct StageRequest<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) from: Origin<'a>,
    pub(crate) scope: Scope,
    /// For an update: what the source has to hold.
    pub(crate) expected: Option<&'a CapabilityId>,
    pub(crate) runtimes: Option<Vec<String>>,
    pub(crate) shared_files: Vec<String>,
    pub(crate) offline: bool,
    /// The digest that the archive has to have, as the person gave it.
    pub(crate) integrity: Option<&'a str>,
    /// Whether the folder is to be followed from then on.
    pub(crate) link: bool,
    /// Whether the disclosure is shown in full.
    pub(crate) full: bool,
    /// Whether it is only looked at.
    pub(crate) preview: bool,
    /// Cancelled when nobody waits for the bundle any more.
    pub(crate) cancel: CancellationToken,
}

/// A bundle that was judged and waits.
pub(crate) struct Staged {
    pub(crate) ctx: Context,
    pub(crate) id: CapabilityId,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) tree: BundleTree,
    pub(crate) root: ScopeRoot,
    pub(crate) project_root: PathBuf,
    pub(crate) runtimes: Option<Vec<String>>,
    pub(crate) shared_files: Vec<String>,
    pub(crate) source: String,
    /// `None` when the bundle was taken as it lay there.
    pub(crate) taken_from: Option<TakenFrom>,
    pub(crate) content_hash: ContentHash,
    pub(crate) signature: String,
    /// What the person agrees to: the content, and what else they are told.
    pub(crate) consent_digest: String,
    /// The content alone, however its manifest is spelled.
    pub(crate) content_digest: String,
    /// Where its reviewer lane sends to.
    pub(crate) destination: Option<String>,
    /// Whether the disclosure is shown in full.
    pub(crate) full: bool,
    pub(crate) disclosure: Disclosure,
    pub(crate) facts: FileFacts,
    /// What the source had to say, cleaned.
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// The folder that is followed from then on.
    pub(crate) linked: Option<Linked>,
    /// For a rollback: what was recorded of this content.
    pub(crate) restores: Option<Past>,
    since: Instant,
}

/// Staged bundles by ticket.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, Arc<Staged>>>);

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

impl Staged {
    /// How well it is known where this content comes from. What lies there and was agreed to as it is comes from
    /// nowhere that is known.
    pub(crate) fn level(&self) -> VerificationLevel {
        self.taken_from.as_ref().map(level_of).unwrap_or_default()
    }
}

impl Tickets {
    /// Keeps a bundle; the oldest gives way when too many wait.
    pub(crate) fn keep(&self, staged: Arc<Staged>) -> String {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, staged| staged.since.elapsed() < LIFETIME);
        if waiting.len() >= MAX_WAITING
            && let Some(oldest) =
                waiting.iter().min_by_key(|(_, staged)| staged.since).map(|(ticket, _)| ticket.clone())
        {
            waiting.remove(&oldest);
        }
        let nonce = std::hash::RandomState::new().build_hasher().finish();
        let ticket = format!("{}-{nonce:016x}", staged.id);
        waiting.insert(ticket.clone(), staged);
        ticket
    }

    /// The bundle of a ticket.
    pub(crate) fn get(&self, ticket: &str) -> Result<Arc<Staged>, WireError> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let staged = waiting.get(ticket).filter(|staged| staged.since.elapsed() < LIFETIME);
        staged.cloned().ok_or_else(|| {
            WireError::new(Code::NotFound, "this staged bundle is not kept any more")
                .with_fix("run the same install command again", &[])
        })
    }

    /// Forgets a bundle.
    pub(crate) fn drop(&self, ticket: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket).is_some()
    }
}

/// Fetches and judges; blocks.
///
/// # Errors
/// The first stage that refuses, with all problems of that stage.
pub(crate) fn stage(
    engine: &Engine,
    snapshot: &Snapshot,
    request: &StageRequest<'_>,
) -> Result<Staged, WireError> {
    let project_root = snapshot.project_root.clone();
    let root = match request.scope {
        Scope::Project => ScopeRoot::project(&project_root),
        Scope::Global | Scope::FirstParty => engine.places().global_root(),
    };
    refuse_planted(&root)?;
    let mut linked = None;
    let (tree, recorded, taken_from, notes) = match request.from {
        Origin::Source(spec) => {
            if request.link {
                link::judge_wish(engine, spec, &root, &project_root)?;
            }
            let (Fetched { tree, recorded, from }, notes) =
                obtain::fetch(engine, request, spec, &root, &project_root)?;
            if request.link {
                linked = Some(link::new(engine, request, &recorded)?);
            }
            (tree, recorded, Some(from), notes)
        }
        Origin::Linked(followed) => {
            let tree = link::read(followed, &obtain::room(engine, request.ctx))?;
            let content = Some(tree.content_hash().as_str().to_owned());
            let recorded = followed.path.to_string_lossy().into_owned();
            linked = Some(followed.clone());
            (tree, recorded, Some(TakenFrom { content, ..TakenFrom::default() }), Vec::new())
        }
        Origin::InPlace(id, recorded) => {
            let tree = obtain::in_place(engine, request.ctx, &root.bundle(id), recorded, &project_root)?;
            (tree, recorded.to_owned(), None, Vec::new())
        }
        Origin::Past(past) => {
            let tree = obtain::stored(engine, request.ctx, past, &project_root)?;
            (tree, past.source.clone(), past.taken.from.clone(), Vec::new())
        }
    };
    let restores = match request.from {
        Origin::Past(past) => Some(past.clone()),
        Origin::Source(_) | Origin::InPlace(..) | Origin::Linked(_) => None,
    };
    let (id, manifest, warnings) = judge_manifest(engine, snapshot, &tree, request.scope, request.expected)?;
    let before = snapshot.own().taken(&root.dir, id.as_str()).and_then(|taken| taken.from.as_ref());
    let taken_from = match before {
        // What is followed has no content of its own.
        Some(before) if linked.is_none() && restores.is_none() => {
            taken_from.map(|from| from.continuing(before))
        }
        _ => taken_from,
    };
    let facts = facts_of(&tree);
    let document = manifest.document.read();
    let mut disclosure = Disclosure::collect(&document);
    // The document of a command family instructs the agent as a skill does.
    disclosure.add_documents(tree.files.keys().map(String::as_str));
    disclosure.send_to(configured_destination(snapshot, &disclosure).as_deref());
    refuse_missing_files(&id, &disclosure, &tree)?;
    let content_hash = tree.content_hash().clone();
    if !request.preview {
        tree.begin_to_seal();
    }
    let signature = disclosure_signature(&document);
    let content_digest = digest_of(&tree, &facts);
    let destination = destination_of(&disclosure);
    Ok(Staged {
        ctx: request.ctx.clone(),
        consent_digest: token(&content_digest, destination.as_deref(), linked.as_ref()),
        content_digest,
        destination,
        full: request.full,
        id,
        manifest,
        tree,
        root,
        project_root,
        runtimes: request.runtimes.clone(),
        shared_files: request.shared_files.clone(),
        source: recorded,
        taken_from,
        content_hash,
        signature,
        disclosure,
        facts,
        notes,
        warnings,
        linked,
        restores,
        since: Instant::now(),
    })
}

fn refuse_planted(root: &ScopeRoot) -> Result<(), WireError> {
    let Some(link) = root.planted_link().filter(|_| root.scope == Scope::Project) else { return Ok(()) };
    Err(WireError::new(
        Code::PolicyBlocked,
        format!("{} is a symlink, so an install could land somewhere else", link.display()),
    )
    .at_file(&link)
    .with_fix("replace it by a folder, then run the same command again", &[]))
}

fn judge_manifest(
    engine: &Engine,
    snapshot: &Snapshot,
    tree: &BundleTree,
    scope: Scope,
    expected: Option<&CapabilityId>,
) -> Result<(CapabilityId, Arc<Manifest>, Vec<String>), WireError> {
    let base = engine.base();
    let bytes = tree.bytes("capability.json").map_err(|refusal| match refusal.code {
        "missing" => {
            WireError::new(Code::ManifestInvalid, "there is no capability.json at the root of this source")
                .with_fix(
                    "point at the folder that holds it; for git: https://host/repo.git//path/in/repo#TAG",
                    &[],
                )
        }
        _ => from_tree(&refusal),
    })?;
    let declared = json::parse_lenient(&bytes);
    let declared =
        declared.as_ref().and_then(|value| value.get("id")).and_then(Value::as_str).unwrap_or_default();
    // A manifest that names no id is broken, which is told below.
    let other = |expected: &&CapabilityId| !declared.is_empty() && expected.as_str() != declared;
    if let Some(expected) = expected.filter(other) {
        return Err(WireError::new(
            Code::ComposeCollision,
            format!("the source of {expected} now holds {}", shown(declared)),
        )
        .with_fix("remove the one and install the other", &["gsdctl", "remove", expected.as_str()]));
    }
    // The folder is named after the id, so the rule that both agree can't fail here; every other rule can.
    let assessed = assess(declared, &bytes, base.contract());
    let Some(manifest) = assessed.manifest.clone().filter(|_| assessed.problems.is_empty()) else {
        return Err(invalid(&assessed.problems, "capability.json"));
    };
    let id = manifest.id.clone();
    if let Some(prefix) = ids::reserved_prefix(id.as_str()) {
        return Err(WireError::new(
            Code::PolicyBlocked,
            format!("the id {id} starts with {prefix}, which is reserved for shipped capabilities"),
        )
        .with_fix("ask the author to rename the capability", &[]));
    }
    if base.registry().get(id.as_str()).is_some() {
        return Err(WireError::new(
            Code::ComposeCollision,
            format!("{id} is the id of a shipped capability"),
        )
        .with_fix("ask the author to rename the capability", &[]));
    }
    refuse_lookalikes(base, &manifest)?;
    let satisfies =
        |range: &str| EngineRange::parse(range).is_ok_and(|range| range.satisfies(base.gsd_version()));
    if let EngineVerdict::Incompatible { range, downgrade_to } =
        judge_engines(&manifest.document.read(), satisfies)
    {
        let mut error = WireError::new(
            Code::CompatEngines,
            format!(
                "{id} {} needs GSD {}, this is GSD {}",
                shown(&manifest.version),
                shown(&range),
                base.gsd_version()
            ),
        );
        if let Some(older) = downgrade_to {
            error = error.with_fix(
                format!("version {} of it would fit: name its tag in the source", shown(&older)),
                &[],
            );
        }
        return Err(error);
    }
    let fragments: BTreeMap<String, FragmentRead> =
        assessed.fragment_paths.iter().map(|path| (path.clone(), fragment(tree, path))).collect();
    let candidate = Candidate {
        dir_name: id.to_string(),
        scope,
        demoted: false,
        bundle_dir: String::new(),
        ledger: LedgerState::Committed,
        consent: ConsentVerdict::Granted,
        manifest: ManifestRead::Read(Arc::new(assessed)),
        fragments: Arc::new(fragments),
        config_home: None,
    };
    let others: Vec<&Candidate> = snapshot
        .candidates()
        .filter(|other| !(other.dir_name == id.as_str() && other.scope == scope))
        .filter(|other| scope == Scope::Project || other.scope == Scope::Global)
        .collect();
    let problems = check_install(base, &others, &candidate);
    if !problems.is_empty() {
        let mut error = invalid(&problems, "capability.json");
        if problems.iter().any(|problem| problem.rule.as_str().starts_with("overlay.")) {
            error.code = Code::ComposeCollision.name().into();
            error.exit = Code::ComposeCollision.exit();
        }
        return Err(error);
    }
    let warnings = match &candidate.manifest {
        ManifestRead::Read(assessed) => {
            assessed.warnings.iter().map(|warning| shown(&warning.message)).collect()
        }
        ManifestRead::Missing | ManifestRead::Unreadable(_) => Vec::new(),
    };
    Ok((id, manifest, warnings))
}

/// A name that a person takes for a shipped one is somebody else's trust.
fn refuse_lookalikes(base: &Base, manifest: &Manifest) -> Result<(), WireError> {
    let found = lookalikes(base, manifest);
    let Some(first) = found.first() else { return Ok(()) };
    let told = |one: &Lookalike| {
        format!("the {} {} looks like {}, which is shipped", one.what, shown(&one.name), one.shipped)
    };
    let error = WireError::new(Code::ComposeCollision, told(first))
        .at_file("capability.json")
        .with_fix("ask the author for another name", &[]);
    Err(found.iter().skip(1).fold(error, |error, one| error.caused_by(told(one))))
}

fn fragment(tree: &BundleTree, path: &str) -> FragmentRead {
    let path = path.strip_prefix("./").unwrap_or(path);
    match tree.bytes(path).map(String::from_utf8) {
        Ok(Ok(text)) => FragmentRead::Text(text.into()),
        Ok(Err(_)) => FragmentRead::Refused("it is not UTF-8 text".to_owned()),
        Err(_) if tree.file(path).is_none() => {
            FragmentRead::Refused("the bundle does not contain it".to_owned())
        }
        Err(refusal) => FragmentRead::Refused(refusal.reason),
    }
}

/// All problems of a manifest in one error.
fn invalid(problems: &[Problem], file: &str) -> WireError {
    let what = match problems {
        [] => "the manifest is not valid".to_owned(),
        [one] => shown(&one.message),
        many => format!("the manifest has {} problems", many.len()),
    };
    let mut error = WireError::new(Code::ManifestInvalid, what).at_file(file);
    if let Some(first) = problems.first() {
        error = error.at_pointer(first.pointer.clone());
        // A rule about the whole capability has no line.
        error.where_.get_or_insert_default().line = Some(first.line).filter(|line| *line > 0);
    }
    for problem in problems {
        let place = if problem.line == 0 {
            String::new()
        } else {
            format!(" (line {}, column {})", problem.line, problem.column)
        };
        error = error.caused_by(format!("{}: {}{place}", problem.rule.as_str(), shown(&problem.message)));
    }
    let fixes: std::collections::BTreeSet<&str> =
        problems.iter().map(|problem| problem.fix.as_str()).collect();
    for fix in fixes.into_iter().filter(|fix| !fix.is_empty()).take(5) {
        error = error.with_fix(fix, &[]);
    }
    error
}

pub(crate) fn facts_of(tree: &BundleTree) -> FileFacts {
    let fact = |file: &BundleFile| FileFact { digest: sha256_text(&file.sha256), bytes: file.bytes };
    FileFacts { files: tree.files.iter().map(|(path, file)| (path.clone(), fact(file))).collect() }
}

/// What an agreement names: a content, and what may differ while the content is the same.
pub(crate) fn token(content: &str, destination: Option<&str>, linked: Option<&Linked>) -> String {
    let token = match destination {
        Some(address) => destination_digest(content, address),
        None => content.to_owned(),
    };
    match linked {
        Some(linked) => link_digest(&token, &linked.path.to_string_lossy()),
        None => token,
    }
}

/// What the configuration of the project sets the address of a reviewer lane to.
pub(crate) fn configured_destination(snapshot: &Snapshot, disclosure: &Disclosure) -> Option<String> {
    let key = disclosure.destination_key()?;
    snapshot.config.resolve(key).and_then(Value::as_str).map(str::to_owned)
}

/// Where a disclosed lane sends to.
pub(crate) fn destination_of(disclosure: &Disclosure) -> Option<String> {
    let destination = disclosure.lane.as_ref()?.destination.as_ref()?;
    Some(destination.address.clone())
}

/// What an agreement to `tree` names.
pub(crate) fn digest_of(tree: &BundleTree, facts: &FileFacts) -> String {
    let manifest = tree.bytes("capability.json").ok();
    consent_digest(manifest.as_deref(), facts, tree.folders.iter().map(String::as_str))
}

/// A declared script that is not there would fail on each tool call.
fn refuse_missing_files(
    id: &CapabilityId,
    disclosure: &Disclosure,
    tree: &BundleTree,
) -> Result<(), WireError> {
    let absent = disclosure.executable_files().into_iter().filter(|file| tree.file(file).is_none());
    let problems: Vec<String> = disclosure
        .unusable_files()
        .into_iter()
        .map(|file| format!("{} can't be a file of a bundle", shown(&file)))
        .chain(absent.map(|file| format!("{} is declared and not in the bundle", shown(&file))))
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    let mut error =
        WireError::new(Code::ManifestInvalid, format!("{id} declares scripts that it does not have"))
            .at_file("capability.json")
            .with_fix("ask the author to ship them", &[]);
    for problem in problems {
        error = error.caused_by(problem);
    }
    Err(error)
}
