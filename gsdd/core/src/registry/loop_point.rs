//! The twelve points of the loop.

use std::fmt;

/// A point of the loop where hooks are rendered; the order is the order of the loop.
///
/// Source: ADR-1244 Context (loop extension points).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoopPoint {
    /// `discuss:pre`.
    DiscussPre,
    /// `discuss:post`.
    DiscussPost,
    /// `plan:pre`.
    PlanPre,
    /// `plan:post`.
    PlanPost,
    /// `execute:pre`.
    ExecutePre,
    /// `execute:wave:pre`.
    ExecuteWavePre,
    /// `execute:wave:post`.
    ExecuteWavePost,
    /// `execute:post`.
    ExecutePost,
    /// `verify:pre`.
    VerifyPre,
    /// `verify:post`.
    VerifyPost,
    /// `ship:pre`.
    ShipPre,
    /// `ship:post`.
    ShipPost,
}

impl LoopPoint {
    /// Every point, in the order of the loop.
    pub const ALL: [Self; 12] = [
        Self::DiscussPre,
        Self::DiscussPost,
        Self::PlanPre,
        Self::PlanPost,
        Self::ExecutePre,
        Self::ExecuteWavePre,
        Self::ExecuteWavePost,
        Self::ExecutePost,
        Self::VerifyPre,
        Self::VerifyPost,
        Self::ShipPre,
        Self::ShipPost,
    ];

    /// The point with this name.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == raw)
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiscussPre => "discuss:pre",
            Self::DiscussPost => "discuss:post",
            Self::PlanPre => "plan:pre",
            Self::PlanPost => "plan:post",
            Self::ExecutePre => "execute:pre",
            Self::ExecuteWavePre => "execute:wave:pre",
            Self::ExecuteWavePost => "execute:wave:post",
            Self::ExecutePost => "execute:post",
            Self::VerifyPre => "verify:pre",
            Self::VerifyPost => "verify:post",
            Self::ShipPre => "ship:pre",
            Self::ShipPost => "ship:post",
        }
    }

    /// Position in the loop, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for LoopPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
