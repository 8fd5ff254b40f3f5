//! The text of a manifest.

use std::sync::Arc;

use serde_json::Value;

use crate::json::parse_strict;

/// A manifest as its author wrote it; cheap to clone.
///
/// Manifests stay in memory for as long as they are composed, and a parsed document takes several times the memory of
/// its text. What is asked often is a member of [`Manifest`](super::Manifest); the rest is read when it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(Arc<str>);

impl Document {
    /// `text` must be what [`parse_strict`] accepts.
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The whole document. Takes time in its length, so read it once for several questions.
    #[must_use]
    pub fn read(&self) -> Value {
        // It was accepted before it got here.
        parse_strict(self.0.as_bytes()).unwrap_or_default()
    }
}
