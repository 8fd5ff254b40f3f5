//! Linked folders: what changed in one is staged, judged and carried out as an install is, before an answer is given.
//!
//! What does not pass changes nothing: the content before stays, and it is said until the folder is in order again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gsd_proto::{Code, WireError};
use gsdd_core::audit::Happening;
use gsdd_core::compose::Scope;
use gsdd_core::ids::CapabilityId;
use gsdd_core::text::{shown, shown_up_to};
use tokio_util::sync::CancellationToken;

use super::snapshot::Snapshot;
use super::writer::{Engine, Writer};
use crate::fs::bundle_tree;
use crate::fs::stamp::Stamp;
use crate::lifecycle::{self, Origin, StageRequest};
use crate::patience::Patience;
use crate::policy;
use crate::store::{Linked, OwnState, ScopeRoot, Taken};

/// Files and folders of a linked folder that are looked at: one more than a bundle may have, so that one with too many
/// is looked at again when it gets smaller at the top.
const MAX_STAMPS: usize = 10_001;
/// Causes that are told of one refusal.
const MAX_CAUSES: usize = 5;

/// What the linked folders looked like for a snapshot, and what of them is not in it.
#[derive(Default)]
pub(crate) struct Followed {
    pub(crate) stamps: Vec<(PathBuf, Stamp)>,
    /// Folders to watch.
    pub(crate) folders: Vec<PathBuf>,
    /// By id: why the folder's content was not taken over.
    pub(crate) refused: BTreeMap<String, String>,
    /// Somebody else was at work: the next query has to look again.
    pub(crate) put_off: bool,
}

/// What came of the last look at each linked folder, by id.
#[derive(Default)]
pub(super) struct Looks(Mutex<BTreeMap<String, Look>>);

struct Look {
    stamps: Vec<(PathBuf, Stamp)>,
    outcome: Outcome,
}

#[derive(Clone)]
enum Outcome {
    /// The folder holds this content.
    Holds(String),
    /// It is not taken over.
    Refused {
        said: String,
        /// Whether trying again is of no use before the folder changes.
        until_changed: bool,
    },
}

enum Attempt {
    Settled(Outcome),
    PutOff,
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome for a folder that still looks the same.
    fn known(&self, id: &str, stamps: &[(PathBuf, Stamp)]) -> Option<Outcome> {
        self.lock().get(id).filter(|look| look.stamps == stamps).map(|look| look.outcome.clone())
    }

    /// What is not taken over, as the last look at each folder found.
    pub(super) fn refused(&self) -> Vec<String> {
        let said = |look: &Look| match &look.outcome {
            Outcome::Refused { said, .. } => Some(said.clone()),
            Outcome::Holds(_) => None,
        };
        self.lock().values().filter_map(said).collect()
    }
}

impl Engine {
    /// Takes over what changed in linked folders, and has `snapshot` taken again by `take` when something did.
    pub(super) fn follow_links(&self, snapshot: &mut Snapshot, take: &dyn Fn() -> Snapshot, writer: Writer) {
        let root = self.places().global_root();
        let count = snapshot.own().links(&root.dir).count();
        if count == 0 {
            self.looks().lock().clear();
            return;
        }
        if !self.trusts(&root, &snapshot.project_root) {
            return;
        }
        // One that is refused may pass once another one was taken over. Who writes without pause is not waited for.
        for round in 0..=2 * count {
            let links: Vec<(String, Taken)> = snapshot
                .own()
                .links(&root.dir)
                .map(|(id, taken, _)| (id.to_owned(), taken.clone()))
                .collect();
            self.looks().lock().retain(|id, _| links.iter().any(|(linked, _)| linked == id));
            let writer = if round < 2 * count { writer } else { Writer::Held };
            let mut followed = Followed::default();
            let touched = links
                .iter()
                .any(|(id, taken)| self.follow(snapshot, &root, id, taken, writer, &mut followed));
            if !touched {
                snapshot.warnings.extend(followed.refused.values().cloned());
                snapshot.followed = followed;
                return;
            }
            *snapshot = take();
        }
    }

    /// Looks at one folder; whether anything was written.
    fn follow(
        &self,
        snapshot: &Snapshot,
        root: &ScopeRoot,
        id: &str,
        taken: &Taken,
        writer: Writer,
        followed: &mut Followed,
    ) -> bool {
        let Some(linked) = taken.link() else { return false };
        // Before anything is read: what changes from here on differs from it.
        let look = bundle_tree::source_stamps(&linked.path, MAX_STAMPS);
        followed.stamps.extend(look.stamps.iter().cloned());
        followed.folders.extend(look.folders);
        let entry = snapshot.ledger_entries().remove(&(root.word().to_owned(), id.to_owned()));
        // Removed by somebody who does not know our records.
        let Some(entry) = entry else { return false };
        if linked.path.as_os_str() != entry.source.as_str() {
            let why = format!("by now the ledger says that it comes from {}", shown(&entry.source));
            followed.refused.insert(id.to_owned(), told(id, linked, &why));
            return false;
        }
        // A policy that is changed may let it pass.
        let rules = || {
            let ctx = lifecycle::ctx_of(linked, root);
            let files = policy::files(&ctx, &self.places().user_home, &snapshot.project_root);
            files.map(|file| (file.path.clone(), Stamp::of_link(&file.path)))
        };
        match self.looks().known(id, &look.stamps) {
            Some(Outcome::Holds(content)) if content == taken.content_hash => return false,
            Some(Outcome::Refused { said, until_changed }) if until_changed || writer == Writer::Held => {
                followed.stamps.extend(rules());
                followed.refused.insert(id.to_owned(), said);
                return false;
            }
            _ => {}
        }
        if writer == Writer::Held {
            followed.put_off = true;
            return false;
        }
        let rules = rules();
        let mut touched = false;
        match self.take_over(snapshot, root, id, taken, linked, &mut touched) {
            Attempt::PutOff => followed.put_off = true,
            Attempt::Settled(outcome) => {
                if let Outcome::Refused { said, .. } = &outcome {
                    tracing::warn!("{said}");
                    followed.stamps.extend(rules);
                    followed.refused.insert(id.to_owned(), said.clone());
                }
                self.looks().lock().insert(id.to_owned(), Look { stamps: look.stamps, outcome });
            }
        }
        touched
    }

    fn take_over(
        &self,
        snapshot: &Snapshot,
        root: &ScopeRoot,
        id: &str,
        taken: &Taken,
        linked: &Linked,
        touched: &mut bool,
    ) -> Attempt {
        let refused = |error: &WireError, until_changed| {
            Attempt::Settled(Outcome::Refused { said: told(id, linked, &words(error)), until_changed })
        };
        let Ok(expected) = CapabilityId::parse(id) else { return Attempt::PutOff };
        let ctx = lifecycle::ctx_of(linked, root);
        let request = StageRequest {
            ctx: &ctx,
            from: Origin::Linked(linked),
            scope: Scope::Global,
            expected: Some(&expected),
            runtimes: Some(linked.runtimes.clone()),
            shared_files: linked.shared_files.clone(),
            offline: true,
            integrity: None,
            link: true,
            full: false,
            preview: false,
            cancel: CancellationToken::new(),
        };
        let staged = match lifecycle::stage(self, snapshot, &request) {
            Ok(staged) => staged,
            Err(error) => return refused(&error, false),
        };
        let content = staged.content_hash.as_str().to_owned();
        if content == taken.content_hash {
            return Attempt::Settled(Outcome::Holds(content));
        }
        let plan = || lifecycle::plan_install(self, snapshot, &staged, taken.blanket);
        // What stands in the way is found without keeping anybody out.
        if let Err(error) = plan() {
            return refused(&error, false);
        }
        let locked = || -> Result<bool, WireError> {
            let _own = self.exclusive()?;
            lifecycle::settle(self);
            if !snapshot.looks_the_same() || !self.still_follows(root, id, taken) {
                return Ok(false);
            }
            let _upstream = self.lock(root)?;
            *touched = true;
            let prepared = plan()?;
            if prepared.requires_consent || !prepared.stops.is_empty() {
                return Ok(false);
            }
            self.store(&prepared, &staged)?;
            self.apply(&prepared.plan, ctx.umask)?.close();
            Ok(true)
        };
        match Patience::of(Duration::ZERO).spend(locked) {
            Some(Ok(true)) => {
                let detail = format!("from {}", linked.path.display());
                self.tell(Happening::Followed, id, root, None, detail);
                tracing::info!(id, folder = %linked.path.display(), "the linked folder was taken over");
                Attempt::Settled(Outcome::Holds(content))
            }
            Some(Ok(false)) | None => Attempt::PutOff,
            Some(Err(error)) if &*error.code == Code::LockHeld.name() => Attempt::PutOff,
            // Trying again and again would write again and again.
            Some(Err(error)) => refused(&error, true),
        }
    }

    /// Whether the agreement is still the one that the snapshot has; another process may have ended it.
    fn still_follows(&self, root: &ScopeRoot, id: &str, taken: &Taken) -> bool {
        OwnState::read(&self.places().own_state())
            .is_ok_and(|(state, _)| state.taken(&root.dir, id) == Some(taken))
    }
}

fn told(id: &str, linked: &Linked, why: &str) -> String {
    let folder = shown_up_to(&linked.path.to_string_lossy(), 300);
    format!(
        "{}: its linked folder {folder} is not taken over, what was active before stays: {why}",
        shown(id)
    )
}

/// A refusal in one line.
fn words(error: &WireError) -> String {
    let mut words = error.message.clone();
    if let Some(place) = &error.where_
        && let Some(file) = &place.file
    {
        let _ = write!(words, " ({}", shown(&file.to_string_lossy()));
        if let Some(line) = place.line {
            let _ = write!(words, ", line {line}");
        }
        words.push(')');
    }
    for cause in error.cause.iter().take(MAX_CAUSES) {
        words.push_str("; ");
        words.push_str(cause);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_its_place_and_its_first_causes() {
        let error = WireError::new(Code::ManifestInvalid, "not valid").at_file("capability.json");
        assert_eq!(words(&error), "not valid (capability.json)");
        let many = (0..9).fold(error, |error, at| error.caused_by(format!("cause {at}")));
        assert_eq!(words(&many), "not valid (capability.json); cause 0; cause 1; cause 2; cause 3; cause 4");
    }

    #[test]
    fn an_outcome_is_known_only_for_what_looks_the_same() {
        let looks = Looks::default();
        let stamps = vec![(PathBuf::from("/none"), Stamp::of_link(std::path::Path::new("/none")))];
        let outcome = Outcome::Refused { said: "no".to_owned(), until_changed: false };
        looks.lock().insert("acme".to_owned(), Look { stamps: stamps.clone(), outcome });
        assert!(looks.known("acme", &stamps).is_some());
        assert!(looks.known("acme", &[]).is_none() && looks.known("other", &stamps).is_none());
        assert_eq!(looks.refused(), ["no"]);
    }
}
