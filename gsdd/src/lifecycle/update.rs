//! What an update, a rollback or a grant is about: the installed capability and where it came from.
//!
//! Source: ADR-1244 D6; field reports FR-018, FR-019, FR-023.

use std::path::{Path, PathBuf};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::source::compat::compare_cores;
use gsdd_core::text::shown;

use super::Prepared;
use super::from_ledger;
use super::remove::{find_root, not_installed};
use super::stage::Staged;
use crate::engine::{Engine, Snapshot};
use crate::fs::bounded_read::{self, MAX_FILE};
use crate::store::{Linked, shared_files};

/// Switches updates on that no person watches.
const AUTO_UPDATE: &str = "capabilities.auto_update";

/// What is installed, and where it came from.
pub(crate) struct Installed {
    pub(crate) entry: Entry,
    pub(crate) scope: Scope,
    /// Folder of the scope.
    pub(crate) root: PathBuf,
    /// The caller, placed where the recorded source was written down: a relative path is relative to the project.
    pub(crate) ctx: Context,
}

impl Installed {
    /// Finds the entry of `id`.
    ///
    /// # Errors
    /// When it is not installed, or in both scopes and none was named.
    pub(crate) fn find(
        engine: &Engine,
        snapshot: &Snapshot,
        ctx: &Context,
        id: &str,
        scope: Option<Scope>,
        verb: &str,
    ) -> Result<Self, WireError> {
        let known = CapabilityId::parse(id).map_err(|_| not_installed(id, verb, snapshot))?;
        let root = find_root(engine, snapshot, &known, scope, verb)?;
        let ledger = root.ledger();
        let entry = shared_files::read_ledger(&ledger)
            .map_err(|failure| from_ledger(&ledger, &failure))?
            .and_then(|ledger| ledger.get(known.as_str()))
            .ok_or_else(|| {
                WireError::new(Code::NotFound, format!("no ledger records where {} came from", shown(id)))
                    .at_file(&ledger)
                    .with_fix("install it from its source", &["gsdctl", "install", "SOURCE"])
            })?;
        let mut ctx = ctx.clone();
        ctx.cwd.clone_from(&root.dir);
        Ok(Self { entry, scope: root.scope, root: root.dir, ctx })
    }

    /// The folder that is followed; an update takes it over now and goes on following it.
    pub(crate) fn followed<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a Linked> {
        let linked = snapshot.own().taken(&self.root, self.entry.id.as_str())?.link()?;
        (linked.path == Path::new(&self.entry.source)).then_some(linked)
    }

    /// Refuses an update without a person where it is not switched on: in the project's configuration for what the
    /// project has, in the person's own defaults for what they have. A project can't switch it on for the person.
    ///
    /// # Errors
    /// It is off.
    pub(crate) fn judge_unattended(&self, snapshot: &Snapshot) -> Result<(), WireError> {
        let files = &snapshot.config_files;
        let (on, file) = match self.scope {
            Scope::Project => (snapshot.config.is_on(AUTO_UPDATE), &files.main),
            Scope::Global | Scope::FirstParty => (is_set(&files.defaults), &files.defaults),
        };
        if on {
            return Ok(());
        }
        Err(WireError::new(
            Code::UpdateAutoOff,
            format!("updating {} by itself is not switched on", self.entry.id),
        )
        .at_file(file)
        .with_fix(format!("set {AUTO_UPDATE} to true there"), &[])
        .with_fix("or update it yourself", &["gsdctl", "update", self.entry.id.as_str()]))
    }

    /// Refuses what an update without a person must not do.
    ///
    /// # Errors
    /// Somebody would be asked: to agree, or to accept another signer or less proof of where it comes from.
    pub(crate) fn judge_waiting(
        &self,
        snapshot: &Snapshot,
        staged: &Staged,
        prepared: &Prepared,
    ) -> Result<(), WireError> {
        let id = &self.entry.id;
        let before = snapshot.own().taken(&self.root, id.as_str()).and_then(|taken| taken.from.as_ref());
        let both = before.zip(staged.taken_from.as_ref());
        let reason = if let Some(stop) = prepared.stops.first() {
            stop.said()
        } else if prepared.requires_consent {
            "it has something to agree to".to_owned()
        } else if both.is_some_and(|(before, now)| before.was_moved(now)) {
            "its tag was moved to another commit".to_owned()
        } else if both.is_some_and(|(before, now)| before.lost_attestation(now)) {
            "its registry offered an attestation for the installed one, and offers none for it".to_owned()
        } else {
            return Ok(());
        };
        let version = shown(&staged.manifest.version);
        Err(WireError::new(Code::UpdateWaits, format!("{id} {version} waits for you: {reason}"))
            .with_fix("look at it", &["gsdctl", "update", id.as_str()]))
    }

    /// Refuses what an update must not do by accident.
    ///
    /// # Errors
    /// An older version without `allow_downgrade`.
    pub(crate) fn judge(&self, staged: &Staged, allow_downgrade: bool) -> Result<(), WireError> {
        let id = &self.entry.id;
        let (new, old) = (&staged.manifest.version, &self.entry.version);
        if compare_cores(new, old).is_lt() && !allow_downgrade {
            return Err(WireError::new(
                Code::UpdateDowngrade,
                format!(
                    "the source of {id} holds {}, which is older than the installed {}",
                    shown(new),
                    shown(old)
                ),
            )
            .with_fix("to go back all the same", &["gsdctl", "update", id.as_str(), "--allow-downgrade"]));
        }
        Ok(())
    }
}

fn is_set(file: &Path) -> bool {
    let document = bounded_read::read(file, MAX_FILE).ok();
    let document = document.and_then(|bytes| gsdd_core::json::parse_lenient(&bytes));
    document.is_some_and(|document| document["capabilities"]["auto_update"] == true)
}
