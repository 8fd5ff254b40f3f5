//! Whose rule it is, and where it stands.

use std::fmt;
use std::path::PathBuf;

use crate::text::shown;

/// Who wrote a rule. The order is the order in which they are asked, and none can undo what another said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Whoever administers the machine.
    Machine,
    /// The person.
    User,
    /// The project, and so everybody who can write to its repository.
    Project,
}

impl Layer {
    /// Every layer, in order.
    pub const ALL: [Self; 3] = [Self::Machine, Self::User, Self::Project];

    /// Short stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub layer: Layer,
    /// The file.
    pub file: PathBuf,
    /// From 1; `None` for a rule about the file as a whole.
    pub line: Option<u32>,
}

/// `policy.toml:14, layer: machine`
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        f.write_str(&shown(&name.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ", layer: {}", self.layer.name())
    }
}
