//! Versions and version ranges of `engines.gsd` and `compatVersions`.
//!
//! The range grammar is upstream's, widened by what authors write anyway: blanks after an operator and hyphen
//! ranges. Prerelease and build never matter, so development builds of the host satisfy what their release
//! would. This is neither the npm grammar nor the one of the `semver` crate.
//!
//! Source: ADR-1244 D1, D6 (`engines.gsd`).

mod range;
mod strict;

use std::fmt;

pub use range::{EngineRange, UnreadableRange, has_range_shape};
pub use strict::is_full_semver;

/// The three numbers of the host's version that ranges are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostVersion {
    /// Major number.
    pub major: u64,
    /// Minor number.
    pub minor: u64,
    /// Patch number.
    pub patch: u64,
}

impl HostVersion {
    /// A version from its numbers.
    #[must_use]
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch }
    }

    /// Reads a version text that begins with three dot-separated numbers, after an optional `v`; what follows is
    /// ignored. `None` for any other text.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let text = raw.trim();
        let core = text.strip_prefix('v').unwrap_or(text);
        let mut parts = core.splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        let digits: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { major, minor, patch: digits.parse().ok()? })
    }

    /// Reads any text as upstream does: three leading numbers, 0 for whatever cannot be read.
    #[must_use]
    pub fn parse_lossy(raw: &str) -> Self {
        let text = raw.trim();
        let core = text.strip_prefix('v').unwrap_or(text);
        let core = core.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = core.split('.').map(|part| {
            let digits: String = part.trim_start().chars().take_while(char::is_ascii_digit).collect();
            if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) }
        });
        let mut next = || numbers.next().unwrap_or(0);
        Self { major: next(), minor: next(), patch: next() }
    }
}

impl fmt::Display for HostVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests;
