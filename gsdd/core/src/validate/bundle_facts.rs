//! What the shell found in the folder of a bundle.

use std::collections::{BTreeMap, BTreeSet};

use super::verdict::Finding;
use crate::compose::FragmentRead;
use crate::manifest::{Problem, RuleId};
use crate::text::shown;

/// What lies in the folder of a bundle.
#[derive(Clone, Debug, Default)]
pub struct BundleFacts {
    /// Whether the host ships this id: then scripts, modules and texts may be part of the host.
    pub shipped: bool,
    /// Regular files, by path below the folder.
    pub files: BTreeSet<String>,
    /// Members that a bundle cannot have; the manifest itself is not among them.
    pub faults: Vec<MemberFault>,
    /// The fragment files that [`super::Draft::fragment_paths`] names.
    pub fragments: BTreeMap<String, FragmentRead>,
}

/// A member that a bundle cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFault {
    /// What is wrong with it.
    pub kind: MemberFaultKind,
    /// Its path below the folder; cleaned before it is shown.
    pub path: String,
    /// The fact, in words of ours.
    pub reason: String,
}

/// What can be wrong with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberFaultKind {
    /// Its name.
    Name,
    /// Another member has nearly the same name.
    Twin,
    /// It is neither a regular file nor a folder.
    NotRegular,
    /// It cannot be read.
    Unreadable,
    /// With it the bundle is too large.
    Size,
}

impl MemberFaultKind {
    /// The rule that it breaks.
    #[must_use]
    pub fn rule(self) -> RuleId {
        match self {
            Self::Name => RuleId::BundleMemberName,
            Self::Twin => RuleId::BundleMemberTwin,
            Self::NotRegular => RuleId::BundleMemberRegular,
            Self::Unreadable => RuleId::BundleMemberReadable,
            Self::Size => RuleId::BundleSize,
        }
    }
}

impl MemberFault {
    /// The fault as a finding about its file.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let message = if self.path.is_empty() {
            shown(&self.reason)
        } else {
            format!("`{}`: {}", shown(&self.path), shown(&self.reason))
        };
        let file = (!self.path.is_empty()).then(|| self.path.clone());
        Finding { problem: Problem::new(self.kind.rule(), String::new(), message), file }
    }
}
