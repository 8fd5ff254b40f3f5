//! Why a task stopped.

use std::fmt::{self, Display};

/// What went wrong, in words.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// The outcome of a step of a task.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was being done when something failed.
pub(crate) trait Doing<T> {
    /// Turns an error, or nothing, into a [`Failure`] that names the activity.
    fn doing(self, what: impl Display) -> Outcome<T>;
}

impl<T, E: Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{what}: {error}")))
    }
}

impl<T> Doing<T> for Option<T> {
    fn doing(self, what: impl Display) -> Outcome<T> {
        self.ok_or_else(|| Failure(format!("{what}: nothing found")))
    }
}
