//! Where a capability comes from.

/// Where a capability comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Shipped with the host.
    FirstParty,
    /// Installed for the person, trusted by them.
    Global,
    /// Installed in a project, as trustworthy as the repository.
    Project,
}

impl Scope {
    /// Its word in ledgers and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstParty => "first-party",
            Self::Global => "global",
            Self::Project => "project",
        }
    }
}
