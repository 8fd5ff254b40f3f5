//! Looking at a bundle without wanting it: fetched or read, judged, disclosed, thrown away.
//!
//! Source: interface section 11 (`inspect`).

use gsd_proto::{Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::json;
use gsdd_core::manifest::assess;
use gsdd_core::text::shown;
use gsdd_core::trust::{Detail, Disclosure, DisclosureLine, disclosure_signature};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::stage::{configured_destination, destination_of, digest_of, facts_of, token};
use super::{from_tree, obtain, remove};
use crate::engine::{Engine, Snapshot};
use crate::fs::bundle_tree::BundleTree;
use crate::source;
use crate::store::{TakenFrom, shared_files};

/// What to look at.
pub(crate) struct InspectWish<'a> {
    pub(crate) ctx: &'a Context,
    /// A folder, a source, or the id of an installed capability.
    pub(crate) what: &'a str,
    pub(crate) scope: Option<Scope>,
    pub(crate) offline: bool,
    /// Whether the disclosure is shown in full.
    pub(crate) full: bool,
    pub(crate) cancel: CancellationToken,
}

/// What was seen.
pub(crate) struct Inspected {
    /// The manifest, of any shape.
    pub(crate) manifest: Value,
    pub(crate) source: String,
    pub(crate) taken_from: TakenFrom,
    pub(crate) problems: Vec<String>,
    pub(crate) content_hash: String,
    pub(crate) signature: String,
    pub(crate) consent_digest: String,
    pub(crate) disclosure: Vec<DisclosureLine>,
    pub(crate) executable: Vec<Value>,
    pub(crate) instructing: Vec<Value>,
    pub(crate) tokens: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// What the source had to say, cleaned.
    pub(crate) notes: Vec<String>,
}

/// Looks. Blocks.
///
/// # Errors
/// When there is nothing to look at.
pub(crate) fn inspect(
    engine: &Engine,
    snapshot: &Snapshot,
    wish: &InspectWish<'_>,
) -> Result<Inspected, WireError> {
    let folder = wish.ctx.cwd.join(wish.what);
    let installed = CapabilityId::parse(wish.what).ok().filter(|_| !folder.is_dir()).and_then(|id| {
        remove::find_root(engine, snapshot, &id, wish.scope, "inspect").ok().map(|root| (id, root))
    });
    if let Some((id, root)) = installed {
        let recorded = shared_files::read_ledger(&root.ledger())
            .ok()
            .flatten()
            .and_then(|ledger| ledger.get(id.as_str()))
            .map(|entry| entry.source)
            .unwrap_or_default();
        let live = root.bundle(&id);
        // Looking at what is here asks no policy.
        let tree = BundleTree::read(&live, obtain::max_bytes(engine, wish.ctx))
            .map_err(|refusal| from_tree(&refusal))?;
        let taken = snapshot.own().taken(&root.dir, id.as_str()).and_then(|taken| taken.from.as_ref());
        let from = taken.map(|from| from.of_content(tree.content_hash().as_str())).unwrap_or_default();
        return Ok(seen(engine, snapshot, wish, &tree, (recorded, from, Vec::new())));
    }
    let spec = if folder.is_dir() { folder.to_string_lossy().into_owned() } else { wish.what.to_owned() };
    let spec = source::parse(&spec)?;
    let caller = obtain::caller(engine, wish.ctx, &snapshot.project_root, wish.cancel.clone())?
        .for_project((wish.scope == Some(Scope::Project)).then(|| snapshot.project_root.clone()))
        .offline(wish.offline);
    let root = match wish.scope {
        Some(Scope::Project) => snapshot.project_root.clone(),
        Some(Scope::Global | Scope::FirstParty) | None => engine.places().global_root().dir,
    };
    let keys = obtain::known_keys(snapshot.own(), &root, &caller.user_config());
    let caller = caller.knowing(keys);
    // Looking at a folder of this machine asks no policy either.
    if !folder.is_dir() {
        source::resolve::judge(&spec, &caller)?;
    }
    let fetched = source::fetch(&spec, &caller)?;
    Ok(seen(engine, snapshot, wish, &fetched.tree, (fetched.recorded, fetched.from, caller.notes())))
}

fn seen(
    engine: &Engine,
    snapshot: &Snapshot,
    wish: &InspectWish<'_>,
    tree: &BundleTree,
    (source, taken_from, notes): (String, TakenFrom, Vec<String>),
) -> Inspected {
    let bytes = tree.bytes("capability.json");
    let manifest = bytes.as_ref().ok().and_then(|bytes| json::parse_lenient(bytes)).unwrap_or(Value::Null);
    let declared = manifest.get("id").and_then(Value::as_str).unwrap_or_default();
    let problems = match &bytes {
        Err(refusal) if refusal.code == "missing" => {
            vec!["there is no capability.json at the root".to_owned()]
        }
        Err(refusal) => vec![format!("capability.json: {}", refusal.reason)],
        Ok(bytes) => assess(declared, bytes, engine.base().contract())
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.rule.as_str(), shown(&problem.message)))
            .collect(),
    };
    let disclosed = disclosed(snapshot, tree, wish.full);
    let content_hash = tree.content_hash();
    let signature = disclosure_signature(&manifest);
    Inspected {
        problems,
        consent_digest: disclosed.consent_digest,
        disclosure: disclosed.lines,
        executable: disclosed.executable,
        instructing: disclosed.instructing,
        tokens: disclosed.tokens,
        content_hash: content_hash.as_str().to_owned(),
        signature,
        files: tree.files.len() as u64,
        bytes: tree.total_bytes(),
        manifest,
        source,
        taken_from,
        notes,
    }
}

/// What a content would do, in every form that it is told in.
pub(crate) struct Disclosed {
    pub(crate) lines: Vec<DisclosureLine>,
    pub(crate) executable: Vec<Value>,
    pub(crate) instructing: Vec<Value>,
    pub(crate) tokens: u64,
    pub(crate) consent_digest: String,
}

/// Discloses a content that is not about to be installed.
pub(crate) fn disclosed(snapshot: &Snapshot, tree: &BundleTree, full: bool) -> Disclosed {
    let manifest = tree.manifest();
    let mut disclosure = Disclosure::collect(&manifest.unwrap_or_default());
    disclosure.add_documents(tree.files.keys().map(String::as_str));
    disclosure.send_to(configured_destination(snapshot, &disclosure).as_deref());
    let facts = facts_of(tree);
    Disclosed {
        lines: disclosure.lines(&facts, if full { Detail::FULL } else { Detail::PROMPT }),
        executable: disclosure.executable_items(&facts),
        instructing: disclosure.instructing_items(&facts),
        tokens: disclosure.tokens(&facts),
        consent_digest: token(&digest_of(tree, &facts), destination_of(&disclosure).as_deref(), None),
    }
}
