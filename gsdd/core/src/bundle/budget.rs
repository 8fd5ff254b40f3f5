//! How much a bundle may hold, counted while it is read so that nothing larger ever reaches the disk.

/// Most entries of a bundle that we stage, directories included.
pub const MAX_STAGED_ENTRIES: u64 = 10_000;
/// Most entries of a bundle that is only hashed: upstream's limit, for bundles that upstream installed.
pub const MAX_HASHED_ENTRIES: u64 = 100_000;
/// Most content of a bundle, in bytes, unless its person allows more: the limit of the shared format.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The most content that a person can allow, in bytes. What was installed is hashed up to here, whatever is allowed now.
pub const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// Limits and what is left of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most files and directories.
    pub max_entries: u64,
    /// Most content bytes over all files.
    pub max_bytes: u64,
    entries: u64,
    bytes: u64,
}

/// Which limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetExceeded {
    /// Too many files and directories.
    #[error("the bundle has more than {max} files and directories")]
    Entries {
        /// The limit.
        max: u64,
    },
    /// Too much content.
    #[error("the bundle has more than {max} bytes of content")]
    Bytes {
        /// The limit.
        max: u64,
    },
}

impl BudgetExceeded {
    /// Short stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Entries { .. } => "too-many-entries",
            Self::Bytes { .. } => "too-large",
        }
    }
}

impl Budget {
    /// The limits for a bundle that is staged, with at most `max_bytes` of content.
    #[must_use]
    pub fn staging(max_bytes: u64) -> Self {
        Self::of(MAX_STAGED_ENTRIES, max_bytes)
    }

    /// The limits for a bundle that is only hashed, with at most `max_bytes` of content.
    #[must_use]
    pub fn hashing(max_bytes: u64) -> Self {
        Self::of(MAX_HASHED_ENTRIES, max_bytes)
    }

    /// Limits of one's own.
    #[must_use]
    pub fn of(max_entries: u64, max_bytes: u64) -> Self {
        Self { max_entries, max_bytes, entries: 0, bytes: 0 }
    }

    /// Counts a file of `len` bytes. A reader that does not know the length announces 0 and uses
    /// [`Budget::add_bytes`] as content arrives.
    ///
    /// # Errors
    /// [`BudgetExceeded`].
    pub fn add_file(&mut self, len: u64) -> Result<(), BudgetExceeded> {
        self.add_dir()?;
        self.add_bytes(len)
    }

    /// Counts a directory.
    ///
    /// # Errors
    /// [`BudgetExceeded`].
    pub fn add_dir(&mut self) -> Result<(), BudgetExceeded> {
        self.entries = self.entries.saturating_add(1);
        if self.entries > self.max_entries {
            return Err(BudgetExceeded::Entries { max: self.max_entries });
        }
        Ok(())
    }

    /// Counts content.
    ///
    /// # Errors
    /// [`BudgetExceeded`].
    pub fn add_bytes(&mut self, len: u64) -> Result<(), BudgetExceeded> {
        self.bytes = self.bytes.saturating_add(len);
        if self.bytes > self.max_bytes {
            return Err(BudgetExceeded::Bytes { max: self.max_bytes });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t29_entries_are_bounded_while_streaming() {
        let mut budget = Budget::of(2, 10);
        budget.add_dir().unwrap();
        budget.add_file(10).unwrap();
        assert_eq!(budget.add_dir(), Err(BudgetExceeded::Entries { max: 2 }));
    }

    /// Source: lifecycle formats, section 8: what is hashed has at most 16,777,216 bytes.
    #[test]
    fn the_limits_are_those_of_the_format() {
        let (staging, hashing) = (Budget::staging(MAX_BYTES), Budget::hashing(MAX_BYTES));
        assert_eq!((staging.max_bytes, hashing.max_bytes), (16_777_216, 16_777_216));
        assert_eq!((staging.max_entries, hashing.max_entries), (10_000, 100_000));
        assert_eq!(MOST_BYTES, 1_073_741_824, "what docs/reference/config.md offers");
        let names = [BudgetExceeded::Entries { max: 1 }.name(), BudgetExceeded::Bytes { max: 1 }.name()];
        assert_eq!(names, ["too-many-entries", "too-large"]);
    }

    #[test]
    fn t28_bytes_are_bounded_and_sizes_do_not_overflow() {
        let mut budget = Budget::of(10, 10);
        budget.add_file(0).unwrap();
        budget.add_bytes(10).unwrap();
        assert_eq!(budget.add_bytes(1), Err(BudgetExceeded::Bytes { max: 10 }));
        assert_eq!(
            Budget::staging(MAX_BYTES).add_file(u64::MAX),
            Err(BudgetExceeded::Bytes { max: MAX_BYTES })
        );
    }
}
