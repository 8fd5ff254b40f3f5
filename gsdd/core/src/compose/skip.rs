//! Why a candidate was left out.

use super::scope::Scope;
use crate::ids::has_id_shape;
use crate::manifest::{Problem, RuleId};
use crate::text::{shown, shown_up_to};
use crate::version::HostVersion;

/// One candidate that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Name of the folder, verbatim.
    pub id: String,
    /// Scope of the root, after demotion.
    pub scope: Scope,
    /// Why.
    pub reason: SkipReason,
    /// Whether the root is the person's own, treated as a project's.
    pub demoted: bool,
    /// Whether the bundle needs consent and has none; its own words are not repeated then.
    pub unconsented: bool,
}

/// Why a candidate was left out, in the order of the gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// An install or upgrade is under way.
    Pending,
    /// There is no manifest.
    ManifestMissing,
    /// The manifest cannot be read.
    ManifestUnreadable {
        /// Fixed words.
        why: String,
    },
    /// The id is reserved for shipped capabilities.
    ReservedPrefix {
        /// The prefix.
        prefix: &'static str,
    },
    /// The manifest breaks rules.
    ManifestInvalid {
        /// The first of them.
        problems: Vec<Problem>,
        /// How many there are.
        total: usize,
    },
    /// The id is taken.
    IdCollision {
        /// By whom.
        holder: Scope,
    },
    /// A skill is taken.
    SkillOwned {
        /// Each claim that failed.
        problems: Vec<Problem>,
    },
    /// An agent is taken.
    AgentOwned {
        /// Each claim that failed.
        problems: Vec<Problem>,
    },
    /// A config key is taken.
    ConfigKeyOwned {
        /// Each claim that failed.
        problems: Vec<Problem>,
    },
    /// A command family is taken.
    FamilyOwned {
        /// Each claim that failed.
        problems: Vec<Problem>,
    },
    /// The host's version is not in the range.
    EngineIncompatible {
        /// The range as written.
        range: String,
        /// The host's version.
        host: HostVersion,
    },
    /// Nobody agreed to the bundle as it is.
    Unconsented {
        /// Why not.
        cause: UnconsentedCause,
    },
    /// A fragment file is not acceptable.
    FragmentInvalid {
        /// Path as written.
        path: String,
        /// Fixed words.
        why: String,
    },
    /// Reading a fragment file failed.
    FragmentFault {
        /// Path as written.
        path: String,
        /// Fixed words.
        why: String,
    },
    /// The set would break a rule.
    CrossInvalid {
        /// The first of them.
        problems: Vec<Problem>,
    },
    /// Two steps would make the same artifact at one point.
    CrossFault {
        /// Each of them.
        problems: Vec<Problem>,
    },
    /// A destination of a runtime leaves the config home.
    Confinement {
        /// Destination as written.
        dest: String,
    },
    /// Something unexpected happened while the candidate was judged.
    ProcessingFault,
    /// The views could not be built with this capability.
    ComposeFallback {
        /// What the hooks do at which point.
        problem: Problem,
    },
}

/// Why nobody agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnconsentedCause {
    /// Never asked, or never answered with yes.
    Missing,
    /// The content is another one than agreed to.
    Changed,
    /// The consent was withdrawn.
    Revoked,
    /// The root is the person's own, but the project makes it impossible to tell it from its own.
    Demoted,
}

impl SkipReason {
    /// Stable category for programs.
    #[must_use]
    pub fn category(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::ManifestMissing => "manifest-missing",
            Self::ManifestUnreadable { .. } => "manifest-unreadable",
            Self::ReservedPrefix { .. } => "reserved-prefix",
            Self::ManifestInvalid { .. } => "manifest-invalid",
            Self::IdCollision { .. } => "id-collision",
            Self::SkillOwned { .. } => "skill-owned",
            Self::AgentOwned { .. } => "agent-owned",
            Self::ConfigKeyOwned { .. } => "config-key-owned",
            Self::FamilyOwned { .. } => "family-owned",
            Self::EngineIncompatible { .. } => "engine-incompatible",
            Self::Unconsented { cause: UnconsentedCause::Demoted } => "unconsented-demoted",
            Self::Unconsented { .. } => "unconsented",
            Self::FragmentInvalid { .. } => "fragment-invalid",
            Self::FragmentFault { .. } => "fragment-fault",
            Self::CrossInvalid { .. } => "cross-invalid",
            Self::CrossFault { .. } => "cross-fault",
            Self::Confinement { .. } => "confinement",
            Self::ProcessingFault => "processing-fault",
            Self::ComposeFallback { .. } => "compose-fallback",
        }
    }

    /// The structural tag that upstream's consumers look for.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        matches!(self, Self::Unconsented { .. }).then_some("unconsented")
    }

    /// Broken rules behind the reason.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::ManifestInvalid { problems, .. }
            | Self::SkillOwned { problems }
            | Self::AgentOwned { problems }
            | Self::ConfigKeyOwned { problems }
            | Self::FamilyOwned { problems }
            | Self::CrossInvalid { problems }
            | Self::CrossFault { problems } => problems,
            Self::ComposeFallback { problem } => std::slice::from_ref(problem),
            Self::Pending
            | Self::ManifestMissing
            | Self::ManifestUnreadable { .. }
            | Self::ReservedPrefix { .. }
            | Self::IdCollision { .. }
            | Self::EngineIncompatible { .. }
            | Self::Unconsented { .. }
            | Self::FragmentInvalid { .. }
            | Self::FragmentFault { .. }
            | Self::Confinement { .. }
            | Self::ProcessingFault => &[],
        }
    }

    /// Stable words below the category, at most three: which cross rule, which cause.
    #[must_use]
    pub fn details(&self) -> Vec<&'static str> {
        if let Self::Unconsented { cause } = self {
            return vec![match cause {
                UnconsentedCause::Missing => "missing",
                UnconsentedCause::Changed => "changed",
                UnconsentedCause::Revoked => "revoked",
                UnconsentedCause::Demoted => "demoted",
            }];
        }
        self.problems().iter().filter_map(|problem| detail_word(problem.rule)).take(3).collect()
    }
}

impl Skip {
    /// What happened, for people: one line, cleaned; of a bundle that nobody agreed to only fixed words.
    #[must_use]
    pub fn text(&self) -> String {
        if self.unconsented {
            return match &self.reason {
                SkipReason::Unconsented { cause } => cause_text(*cause).to_owned(),
                other => format!(
                    "nobody agreed to this project capability, and it is not usable ({})",
                    other.category()
                ),
            };
        }
        match &self.reason {
            SkipReason::Pending => "an install or upgrade is still under way".to_owned(),
            SkipReason::ManifestMissing => "there is no `capability.json`".to_owned(),
            SkipReason::ManifestUnreadable { why } => {
                format!("`capability.json` cannot be read: {}", shown(why))
            }
            SkipReason::ReservedPrefix { prefix } => format!("ids that start with `{prefix}` are reserved"),
            SkipReason::ManifestInvalid { problems, total } => {
                let more = total.saturating_sub(problems.len());
                let tail = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                format!("the manifest breaks rules: {}{tail}", listed(problems))
            }
            SkipReason::IdCollision { holder } => {
                format!("the id belongs to a {} capability", holder.as_str())
            }
            SkipReason::SkillOwned { problems }
            | SkipReason::AgentOwned { problems }
            | SkipReason::ConfigKeyOwned { problems }
            | SkipReason::FamilyOwned { problems }
            | SkipReason::CrossInvalid { problems }
            | SkipReason::CrossFault { problems } => listed(problems),
            SkipReason::EngineIncompatible { range, host } => {
                format!("it needs GSD {}, this is GSD {host}", shown_up_to(range, 80))
            }
            SkipReason::Unconsented { cause } => cause_text(*cause).to_owned(),
            SkipReason::FragmentInvalid { path, why } | SkipReason::FragmentFault { path, why } => {
                format!("the fragment `{}` cannot be used: {}", shown_up_to(path, 120), shown(why))
            }
            SkipReason::Confinement { dest } => {
                format!("the destination `{}` leaves the config home", shown_up_to(dest, 120))
            }
            SkipReason::ProcessingFault => "something unexpected happened while it was read".to_owned(),
            SkipReason::ComposeFallback { problem } => problem.message.clone(),
        }
    }

    /// The command that removes the cause, when there is one and the name is safe to repeat.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        if !has_id_shape(&self.id) {
            return None;
        }
        let scope = if self.demoted { Scope::Global } else { self.scope };
        let (id, scope) = (&self.id, scope.as_str());
        match &self.reason {
            SkipReason::Unconsented { cause: UnconsentedCause::Demoted } => {
                Some(format!("gsdctl registry explain {id}"))
            }
            SkipReason::Unconsented { .. } => Some(format!("gsdctl consent grant {id}")),
            SkipReason::Pending
            | SkipReason::ManifestMissing
            | SkipReason::ManifestUnreadable { .. }
            | SkipReason::ReservedPrefix { .. }
            | SkipReason::ManifestInvalid { .. }
            | SkipReason::IdCollision { .. }
            | SkipReason::SkillOwned { .. }
            | SkipReason::AgentOwned { .. }
            | SkipReason::ConfigKeyOwned { .. }
            | SkipReason::FamilyOwned { .. }
            | SkipReason::EngineIncompatible { .. }
            | SkipReason::FragmentInvalid { .. }
            | SkipReason::FragmentFault { .. }
            | SkipReason::CrossInvalid { .. }
            | SkipReason::CrossFault { .. }
            | SkipReason::Confinement { .. }
            | SkipReason::ProcessingFault
            | SkipReason::ComposeFallback { .. } => Some(format!("gsdctl remove {id} --scope {scope}")),
        }
    }
}

fn cause_text(cause: UnconsentedCause) -> &'static str {
    match cause {
        UnconsentedCause::Missing => "nobody agreed to this project capability yet",
        UnconsentedCause::Changed => "its files changed since they were agreed to",
        UnconsentedCause::Revoked => "the agreement to it was taken back",
        UnconsentedCause::Demoted => {
            "the project's capability folder cannot be told from your own, so yours needs consent here"
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems
        .iter()
        .take(3)
        .map(|problem| {
            let place = if problem.pointer.is_empty() {
                String::new()
            } else {
                format!("{}: ", shown_up_to(&problem.pointer, 80))
            };
            format!("{place}{}", problem.message)
        })
        .collect();
    texts.join("; ")
}

/// Short word of a rule that is examined over the set, as the composition reference names it.
fn detail_word(rule: RuleId) -> Option<&'static str> {
    Some(match rule {
        RuleId::ContractContributionIntoRole => "role-unknown",
        RuleId::ContractStepWhenDeclared
        | RuleId::ContractContributionWhenDeclared
        | RuleId::ContractGateWhenDeclared => "when-undeclared",
        RuleId::CrossArtifactSingleProducerPerPoint => "duplicate-producer",
        RuleId::CrossConsumesNeverProduced => "consumes-unproduced",
        RuleId::CrossConsumesSelfOnly => "consumes-self",
        RuleId::CrossConsumesTooLate => "consumes-too-early",
        RuleId::CrossSkillSingleOwner => "skill-dup",
        RuleId::CrossAgentSingleOwner => "agent-dup",
        RuleId::CrossCommandFamilySingleOwner => "family-dup",
        RuleId::CrossConfigKeySingleOwner => "config-dup",
        RuleId::CrossConfigKeyCentralCollision
        | RuleId::CrossConfigKeyCentralPatternCollision
        | RuleId::CrossConfigKeyRuntimeState => "config-central",
        RuleId::CrossConfigKeyNested => "config-nested",
        RuleId::CrossReviewerSlugUnique => "lane-slug",
        RuleId::CrossReviewerFlagUnique => "lane-flag",
        RuleId::CrossReviewerSectionUnique => "lane-section",
        RuleId::CrossRequiresExists => "requires-missing",
        RuleId::CrossRequiresAcyclic => "requires-cycle",
        RuleId::CrossRequiresTierMonotone => "tier-monotone",
        RuleId::CrossRuntimeCompatKnownRuntime | RuleId::CrossRuntimeCompatNotesKnownRuntime => {
            "runtime-unknown"
        }
        RuleId::ComposeClusterSetMatch => "cluster-mismatch",
        RuleId::ComposeConfigFormatInstallSurfaceParity => "format-parity",
        RuleId::OrderStepsAcyclic => "step-cycle",
        RuleId::OrderContributionsAcyclic => "contribution-cycle",
        other if other.as_str().starts_with("slice.") => "config-slice",
        _ => return None,
    })
}
