//! Taking an agreement back: the capability stays where it is and nothing of it runs.

use std::path::Path;

use gsd_proto::WireError;
use gsdd_core::compose::Scope;
use gsdd_core::lifecycle::{FileBytes, OUR_RECORDS, Plan, Step, Verb};

use super::{from_consent, from_state};
use crate::engine::Engine;
use crate::store::{OwnState, ScopeRoot, clock, shared_files};

/// Plans that the agreement to `id` in `root` is taken back; an empty plan when there is none.
pub(crate) fn plan_revoke(engine: &Engine, root: &ScopeRoot, id: &str) -> Result<Plan, WireError> {
    let places = engine.places();
    let state_path = places.own_state();
    let (mut state, before) =
        OwnState::read(&state_path).map_err(|failure| from_state(&state_path, &failure))?;
    let mut plan = Plan { verb: Verb::Project, id: id.to_owned(), roots: Vec::new(), steps: Vec::new() };
    if root.scope == Scope::Project {
        let (consents, refused) = shared_files::read_consent(&places.consent_store());
        if let Some(reason) = refused {
            return Err(from_consent(&places.consent_store(), &reason));
        }
        let project = real(&root.dir);
        if let Some(record) = consents.find(&project, id) {
            plan.roots.push(places.consent_store());
            plan.steps.push(Step::Consent {
                path: places.consent_store(),
                root: project,
                id: id.to_owned(),
                before: Some(record.to_value()),
                after: None,
            });
        }
    }
    if let Some(taken) =
        state.taken.get_mut(&OwnState::taken_key(&root.dir, id)).filter(|taken| taken.revoked_at.is_none())
    {
        taken.revoked_at = Some(clock::now());
        // A later agreement is to what was shown for it, which may be a copy.
        taken.linked = None;
        plan.roots.push(state_path.clone());
        plan.steps.push(Step::WriteFile {
            path: state_path,
            before: before.map(FileBytes),
            after: FileBytes(state.to_bytes()),
            mode: Some(0o600),
            why: OUR_RECORDS.to_owned(),
        });
    }
    Ok(plan)
}

fn real(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}
