//! Which installed capabilities have a newer version where they came from. A source that does not answer is a row like
//! any other.
//!
//! Source: ADR-1244 D6; lifecycle formats section 15.

use std::sync::Mutex;
use std::sync::PoisonError;

use gsd_proto::{Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ledger::{Entry, Ledger};
use gsdd_core::source::SourceSpec;
use gsdd_core::source::outdated::{Freshness, Peek, PeekStatus, freshness};
use tokio_util::sync::CancellationToken;

use super::{from_ledger, obtain};
use crate::engine::{Engine, Snapshot};
use crate::source;
use crate::store::{ScopeRoot, shared_files};

/// Sources that are asked at the same time.
const AT_ONCE: usize = 4;

/// One installed capability.
pub(crate) struct OutdatedRow {
    pub(crate) id: String,
    pub(crate) scope: &'static str,
    pub(crate) source_kind: &'static str,
    pub(crate) current: String,
    pub(crate) latest: Option<String>,
    pub(crate) status: Freshness,
    pub(crate) note: Option<String>,
}

/// Whom to ask for, and how.
pub(crate) struct OutdatedWish<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) scope: Option<Scope>,
    pub(crate) offline: bool,
    pub(crate) cancel: CancellationToken,
}

/// Asks for every capability of the scopes, and says what of the ledgers can't be read. Blocks.
pub(crate) fn outdated(
    engine: &Engine,
    snapshot: &Snapshot,
    wish: &OutdatedWish<'_>,
) -> (Vec<OutdatedRow>, Vec<String>) {
    let project = ScopeRoot::project(&snapshot.project_root);
    let global = engine.places().global_root();
    let mut roots = vec![global];
    if roots.iter().all(|root| root.dir != project.dir) {
        roots.push(project);
    }
    let mut troubles = Vec::new();
    let mut installed: Vec<(ScopeRoot, Entry)> = Vec::new();
    for root in roots.into_iter().filter(|root| wish.scope.is_none_or(|scope| scope == root.scope)) {
        match shared_files::read_ledger(&root.ledger()) {
            Ok(ledger) => {
                let entries: Vec<Entry> = ledger.iter().flat_map(Ledger::iter).collect();
                installed.extend(entries.into_iter().map(|entry| (root.clone(), entry)));
            }
            Err(failure) => troubles.push(from_ledger(&root.ledger(), &failure).message),
        }
    }
    let waiting = Mutex::new(installed.into_iter());
    let rows = Mutex::new(Vec::new());
    let runtime = tokio::runtime::Handle::try_current();
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                let _entered = runtime.as_ref().map(|runtime| runtime.enter());
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((root, entry)) = next else { return };
                    let row = row(engine, snapshot, wish, &root, &entry);
                    rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by(|left, right| (&left.id, left.scope).cmp(&(&right.id, right.scope)));
    (rows, troubles)
}

fn row(
    engine: &Engine,
    snapshot: &Snapshot,
    wish: &OutdatedWish<'_>,
    root: &ScopeRoot,
    entry: &Entry,
) -> OutdatedRow {
    let (peek, note) = match ask(engine, snapshot, wish, root, entry) {
        Ok((peek, notes)) => (peek, (!notes.is_empty()).then(|| notes.join("; "))),
        Err(error) => (Peek { status: PeekStatus::Unknown, version: None }, Some(error.message)),
    };
    OutdatedRow {
        id: entry.id.to_string(),
        scope: root.word(),
        source_kind: SourceSpec::parse(&entry.source).map_or("unknown", |spec| spec.kind().name()),
        current: entry.version.clone(),
        status: freshness(&peek, &entry.version),
        latest: peek.version,
        note,
    }
}

fn ask(
    engine: &Engine,
    snapshot: &Snapshot,
    wish: &OutdatedWish<'_>,
    root: &ScopeRoot,
    entry: &Entry,
) -> Result<(Peek, Vec<String>), WireError> {
    // A relative path is relative to where it was written down.
    let mut ctx = wish.ctx.clone();
    ctx.cwd.clone_from(&root.dir);
    let project = (root.scope == Scope::Project).then(|| snapshot.project_root.clone());
    let caller = obtain::caller(engine, &ctx, &snapshot.project_root, wish.cancel.clone())?
        .for_project(project)
        .offline(wish.offline);
    let peek = source::resolve::peek(&entry.source, &caller)?;
    Ok((peek, caller.notes()))
}
