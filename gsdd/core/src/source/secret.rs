//! A text that is sent and never shown.

use std::fmt;

/// A token, a password, the value of an authorization header. Neither `Debug` nor `Display` gives it away, and it has no
/// serialisation (threat T185).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Keeps a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
