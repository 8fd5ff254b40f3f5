//! The facts that explanations are made of.

use serde_json::Value;

use super::explanation::{Fix, Party, Predicate, Verdict};
use crate::activation::{ConfigOrigin, ConfigView, EnabledSkills};
use crate::compose::{Candidate, Composition, Scope, Skip, SkipReason};
use crate::manifest::{Assessed, Manifest, RuleId};
use crate::policy::{Policy, SurfaceClass};
use crate::registry::{Base, Composed};
use crate::text::{shown, shown_up_to};

/// Rule behind a verdict that says yes.
pub(super) const CHAIN: &str = "overlay model, \"The activation chain\"";
/// Rule behind ownership.
pub(super) const OWNERS: &str = "overlay model, \"First-party always wins\"";

/// Everything that was known at one moment.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// What is shipped.
    pub base: &'a Base,
    /// What was composed and what was left out.
    pub composition: &'a Composition,
    /// The installed bundles.
    pub found: &'a [Found<'a>],
    /// The configuration.
    pub config: &'a ConfigView,
    /// What people call the documents of the configuration.
    pub config_names: &'a ConfigNames,
    /// Which skills are installed and on the surface.
    pub enabled: &'a EnabledSkills,
    /// What may run.
    pub policy: &'a Policy,
}

/// An installed bundle.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// As it was handed to composition.
    pub candidate: &'a Candidate,
    /// What may run of it.
    pub executable: Executable,
}

/// What may run of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executable {
    /// Its content is the recorded one.
    Runs,
    /// No ledger records it.
    NotRecorded,
    /// Its files changed since they were agreed to.
    Changed,
    /// The agreement was taken back.
    Revoked,
    /// Its files could not be checked.
    Unverified(String),
}

impl Executable {
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Runs => "its files are the ones that were agreed to".to_owned(),
            Self::NotRecorded => "no ledger records it, so nothing of it runs".to_owned(),
            Self::Changed => "its files changed since they were agreed to, so nothing of it runs".to_owned(),
            Self::Revoked => "the agreement was taken back, so nothing of it runs".to_owned(),
            Self::Unverified(why) => {
                format!("its files cannot be checked ({}), so nothing of it runs", shown(why))
            }
        }
    }
}

/// What people call the documents of the configuration.
#[derive(Clone, Debug, Default)]
pub struct ConfigNames {
    /// The main file.
    pub main: String,
    /// The project's root file.
    pub root: String,
    /// Machine-wide defaults.
    pub defaults: String,
}

/// What a capability passes on the way to an effect.
///
/// Source: overlay model, "The activation chain".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Composed,
    Surfaced,
    SwitchedOn,
}

impl Stage {
    pub(super) fn predicate(self, passed: bool) -> Predicate {
        let word = match self {
            Self::Composed => "composed",
            Self::Surfaced => "surfaced",
            Self::SwitchedOn => "switched on",
        };
        let value = if passed { format!("reached {word}") } else { format!("stops before {word}") };
        Predicate::new("stage", &value, "installed, composed, surfaced, switched on", passed)
    }
}

/// Why a capability is on or off.
pub(super) struct State {
    pub(super) verdict: Verdict,
    /// The last stage that it reached, or the one that it stops at.
    pub(super) stage: Stage,
    pub(super) reason: String,
    pub(super) rule: String,
    pub(super) predicates: Vec<Predicate>,
    pub(super) fixes: Vec<Fix>,
}

impl<'a> World<'a> {
    pub(super) fn composed(&self, id: &str) -> Option<&'a Composed> {
        self.composition.registry.get(id).map(AsRef::as_ref)
    }

    /// The installed bundle behind a composed capability.
    pub(super) fn bundle_of(&self, composed: &Composed) -> Option<&'a Found<'a>> {
        let id = composed.id().as_str();
        self.found
            .iter()
            .find(|found| found.candidate.dir_name == id && found.candidate.scope == composed.scope)
    }

    /// Bundles that were left out, with the reason.
    pub(super) fn skipped(&self) -> impl Iterator<Item = (&'a Found<'a>, &'a Skip)> {
        let composition = self.composition;
        self.found.iter().filter_map(move |found| {
            let candidate = found.candidate;
            let skip = composition
                .skips
                .iter()
                .find(|skip| skip.id == candidate.dir_name && skip.scope == candidate.scope)?;
            Some((found, skip))
        })
    }

    pub(super) fn origin(&self, origin: ConfigOrigin) -> String {
        match origin {
            ConfigOrigin::Main => self.config_names.main.clone(),
            ConfigOrigin::Root => self.config_names.root.clone(),
            ConfigOrigin::Defaults => self.config_names.defaults.clone(),
            ConfigOrigin::Declared => "default of the capability".to_owned(),
        }
    }

    /// The value of a key that switches something.
    pub(super) fn switch(&self, key: &str) -> Predicate {
        let name = format!("config {key}");
        match self.config.resolve_with_origin(key) {
            None => Predicate::new(&name, "not set", "", false),
            Some((value, origin)) => {
                Predicate::new(&name, &value.to_string(), &self.origin(origin), self.config.is_on(key))
            }
        }
    }

    pub(super) fn switch_fix(&self, key: &str) -> Fix {
        let file =
            if self.config_names.main.is_empty() { ".planning/config.json" } else { &self.config_names.main };
        Fix::words(format!("set `{}` to true in {}", shown_up_to(key, 120), shown(file)))
    }

    /// The activation chain of a composed capability.
    pub(super) fn state(&self, composed: &Composed) -> State {
        let manifest = composed.manifest.as_ref();
        let mut state = State {
            verdict: Verdict::Active,
            stage: Stage::SwitchedOn,
            reason: "it is composed, on the surface and switched on".to_owned(),
            rule: CHAIN.to_owned(),
            predicates: Vec::new(),
            fixes: Vec::new(),
        };
        self.add_trust(composed, &mut state);
        if let Some(range) = &manifest.engines_gsd {
            let version = self.base.gsd_version();
            let fits = manifest.engine_range.as_ref().is_none_or(|range| range.satisfies(version));
            state.predicates.push(Predicate::new(
                "engines.gsd",
                range,
                &format!("this is GSD {version}"),
                fits,
            ));
        }
        if !manifest.skills.is_empty() {
            self.add_surface(manifest, &mut state);
        }
        if let Some(key) = &manifest.activation_key {
            let switch = self.switch(key);
            if !switch.holds {
                state.turn_off(
                    Stage::SwitchedOn,
                    format!("`{}` is off ({})", shown_up_to(key, 120), switch.origin),
                    "feature.activation-key.declared",
                    self.switch_fix(key),
                );
            }
            state.predicates.push(switch);
        }
        state.predicates.insert(0, state.stage.predicate(state.verdict == Verdict::Active));
        state
    }

    /// Why nothing of this class runs of a capability, or that it does.
    pub(super) fn resting(&self, class: SurfaceClass, composed: &Composed) -> Option<String> {
        let executable = match self.bundle_of(composed) {
            Some(found) if found.executable != Executable::Runs => return Some(found.executable.sentence()),
            Some(_) => self.policy.judge_use(class, composed.scope),
            None => Ok(()),
        };
        executable.err().map(|objection| format!("{} ({})", objection.why, objection.rule.place))
    }

    fn add_trust(&self, composed: &Composed, state: &mut State) {
        let Some(found) = self.bundle_of(composed) else {
            state.predicates.push(Predicate::new("scope", composed.scope.as_str(), "shipped", true));
            return;
        };
        let candidate = found.candidate;
        state.predicates.push(Predicate::new("scope", candidate.scope.as_str(), &candidate.bundle_dir, true));
        state.predicates.push(ledger(candidate));
        state.predicates.push(consent(candidate));
        let runs = found.executable == Executable::Runs;
        if runs_something(&composed.manifest) {
            state.predicates.push(Predicate::new("content", &found.executable.sentence(), "", runs));
        }
        if found.executable == Executable::Revoked {
            let fix = Fix::words("install it again to agree anew");
            state.turn_off(Stage::Composed, found.executable.sentence(), "decision D-06", fix);
        }
    }

    fn add_surface(&self, manifest: &Manifest, state: &mut State) {
        let (installed, surfaced) =
            (self.enabled.installed(&manifest.skills), self.enabled.surfaced(&manifest.skills));
        let tier = format!("tier {}", manifest.tier.as_str());
        let say = |yes: bool| if yes { "yes" } else { "no" };
        state.predicates.push(Predicate::new("in the install profile", say(installed), &tier, installed));
        state.predicates.push(Predicate::new("on the surface", say(surfaced), "", surfaced));
        if !installed {
            let fix = Fix::words(format!(
                "choose an install profile that has tier {} (file `.gsd-profile` of the host)",
                manifest.tier.as_str()
            ));
            state.turn_off(
                Stage::Surfaced,
                "its skills are not in the install profile of the host".to_owned(),
                CHAIN,
                fix,
            );
        } else if !surfaced {
            let fix = Fix::words(
                "take it out of `disabledClusters` and `explicitRemoves` in `.gsd-surface.json` of the host",
            );
            state.turn_off(
                Stage::Surfaced,
                "its skills are not on the surface of the host".to_owned(),
                CHAIN,
                fix,
            );
        }
    }

    /// A capability as a party.
    pub(super) fn party(&self, composed: &Composed, part: &'static str, note: &str) -> Party {
        let state = self.state(composed);
        let note = match (note.is_empty(), state.verdict) {
            (_, Verdict::Active) => note.to_owned(),
            (true, _) => state.reason,
            (false, _) => format!("{note}; {}", state.reason),
        };
        Party {
            id: composed.id().to_string(),
            scope: composed.scope.as_str(),
            part,
            status: state.verdict.word(),
            note: shown_up_to(&note, 300),
        }
    }

    /// A bundle that was left out as a party.
    pub(super) fn left_out(&self, skip: &Skip, part: &'static str) -> Party {
        Party {
            id: shown(&skip.id),
            scope: skip.scope.as_str(),
            part,
            status: Verdict::Skipped.word(),
            note: shown_up_to(&skip.text(), 300),
        }
    }
}

impl State {
    /// The first reason counts; every remedy does.
    pub(super) fn turn_off(&mut self, stage: Stage, reason: String, rule: &str, fix: Fix) {
        if self.verdict == Verdict::Active {
            self.verdict = Verdict::Inactive;
            self.stage = stage;
            self.reason = reason;
            rule.clone_into(&mut self.rule);
        }
        self.fixes.push(fix);
    }
}

pub(super) fn runs_something(manifest: &Manifest) -> bool {
    !manifest.hooks.is_empty() || !manifest.commands.is_empty() || manifest.mcp_servers.is_some()
}

pub(super) fn ledger(candidate: &Candidate) -> Predicate {
    use crate::compose::LedgerState as L;
    let (value, holds) = match candidate.ledger {
        L::Committed => ("committed", true),
        L::Pending => ("pending: an install or upgrade is under way", false),
        L::Absent => ("no entry: nothing of it runs", false),
    };
    Predicate::new("ledger", value, "", holds)
}

pub(super) fn consent(candidate: &Candidate) -> Predicate {
    use crate::compose::ConsentVerdict as C;
    let (value, holds) = match candidate.consent {
        C::NotNeeded => ("not needed in this scope", true),
        C::Granted => ("granted", true),
        C::Missing => ("never given", false),
        C::Changed => ("given for other content", false),
        C::Revoked => ("taken back", false),
    };
    Predicate::new("consent", value, "", holds)
}

pub(super) fn assessed(candidate: &Candidate) -> Option<&Assessed> {
    candidate.assessed()
}

/// A list of names that a manifest declares, readable or not as a whole.
pub(super) fn declares(candidate: &Candidate, holds: impl Fn(&Value) -> bool) -> bool {
    assessed(candidate)
        .and_then(|assessed| assessed.document.as_ref())
        .is_some_and(|document| holds(&document.read()))
}

/// The rule by which a capability was left out.
pub(super) fn rule_of(skip: &Skip) -> String {
    let reason = &skip.reason;
    if let Some(problem) = reason.problems().first() {
        return problem.rule.as_str().to_owned();
    }
    let rule = match reason {
        SkipReason::Pending => return "decision D-14".to_owned(),
        SkipReason::Unconsented { .. } => return "ADR-1244 D5 rule 8".to_owned(),
        SkipReason::ProcessingFault => return "decision D-09".to_owned(),
        SkipReason::ManifestMissing => RuleId::BundleManifestPresent,
        SkipReason::ManifestUnreadable { .. } => RuleId::ParseSize,
        SkipReason::ReservedPrefix { .. } => RuleId::OverlayIdReservedPrefix,
        SkipReason::IdCollision { .. } => RuleId::OverlayIdFirstParty,
        SkipReason::EngineIncompatible { .. } => RuleId::OverlayEnginesGsd,
        SkipReason::FragmentInvalid { .. } | SkipReason::FragmentFault { .. } => {
            RuleId::OverlayFragmentUnreadable
        }
        SkipReason::Confinement { .. } => RuleId::OverlayDescriptorDestConfined,
        SkipReason::ManifestInvalid { .. } => RuleId::ManifestObject,
        SkipReason::SkillOwned { .. } => RuleId::OverlaySkillClaimed,
        SkipReason::AgentOwned { .. } => RuleId::OverlayAgentClaimed,
        SkipReason::ConfigKeyOwned { .. } => RuleId::OverlayConfigKeyClaimed,
        SkipReason::FamilyOwned { .. } => RuleId::OverlayCommandFamilyClaimed,
        SkipReason::CrossInvalid { .. }
        | SkipReason::CrossFault { .. }
        | SkipReason::ComposeFallback { .. } => RuleId::CrossRequiresExists,
    };
    rule.as_str().to_owned()
}

/// What would bring a left-out capability back.
pub(super) fn fixes_of(skip: &Skip) -> Vec<Fix> {
    let mut fixes = Vec::new();
    if !skip.unconsented {
        let mut texts: Vec<&str> = skip
            .reason
            .problems()
            .iter()
            .map(|problem| problem.fix.as_str())
            .filter(|fix| !fix.is_empty())
            .collect();
        texts.dedup();
        fixes.extend(texts.into_iter().take(3).map(|text| Fix::words(format!("its author can: {text}"))));
    }
    if let Some(command) = skip.remedy() {
        fixes.push(Fix::command("settle it", &command));
    }
    fixes
}

/// Whether two scopes are the same place.
pub(super) fn is_shipped(scope: Scope) -> bool {
    scope == Scope::FirstParty
}
