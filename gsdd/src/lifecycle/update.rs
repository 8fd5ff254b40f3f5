//! What an update, a rollback or a grant is about: the installed capability and where it came from.
//!
//! Source: ADR-1244 D6; field reports FR-018, FR-019, FR-023.

use std::path::PathBuf;

use gsd_proto::{Code, Context, WireError};
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::ledger::Entry;
use gsdd_core::source::compat::compare_cores;
use gsdd_core::text::shown;

use super::from_ledger;
use super::remove::{find_root, not_installed};
use super::stage::Staged;
use crate::engine::{Engine, Snapshot};
use crate::store::shared_files;

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
