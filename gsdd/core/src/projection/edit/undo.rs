//! What an edit created, so that removing it can take exactly that away again.

use serde::{Deserialize, Serialize};

/// The record of one or several edits of one file. It belongs beside our own state, never into the file.
///
/// One record per file is kept: [`Undo::absorb`] adds a later edit to it, and
/// [`remove_keeping_undo`](super::remove_keeping_undo) returns what is left of it. So a container that the first
/// capability created goes with the last one, whoever comes and goes in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Undo {
    /// The file did not exist.
    pub file_created: bool,
    /// The file existed and held nothing but this white space.
    pub blank_file: Option<String>,
    /// Containers that did not exist, as paths of keys.
    pub created: Vec<Vec<String>>,
    /// Containers that were empty, with the text between their brackets.
    pub interiors: Vec<EmptyInterior>,
    /// Objects that were inserted as items, by the names of their members.
    pub items: Vec<InsertedItem>,
}

/// A container that was empty before we inserted into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyInterior {
    /// Path of keys.
    pub container: Vec<String>,
    /// The text between its brackets.
    pub text: String,
}

/// An object that was inserted as an item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertedItem {
    /// Path of keys of the list.
    pub container: Vec<String>,
    /// Names of its members.
    pub members: Vec<String>,
}

impl Undo {
    /// Adds the record of a later edit of the same file.
    pub fn absorb(&mut self, later: Self) {
        if later.file_created || later.blank_file.is_some() {
            // The file was new to the later edit, so nothing of the earlier record exists any more.
            *self = later;
            return;
        }
        for path in later.created {
            self.interiors.retain(|interior| interior.container != path);
            if !self.created.contains(&path) {
                self.created.push(path);
            }
        }
        for interior in later.interiors {
            self.interiors.retain(|earlier| earlier.container != interior.container);
            self.interiors.push(interior);
        }
        for item in later.items {
            if !self.items.contains(&item) {
                self.items.push(item);
            }
        }
    }

    /// Whether there is nothing to remember.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn interior_of(&self, container: &[String]) -> Option<&str> {
        self.interiors
            .iter()
            .find(|interior| interior.container == container)
            .map(|interior| interior.text.as_str())
    }

    /// Whether an emptied group may go: its members are among those of a group that we inserted here. Without any
    /// record for the list it may go as well, since a group without handlers does nothing.
    pub(super) fn group_may_go<'k>(
        &self,
        container: &[String],
        mut members: impl Iterator<Item = &'k str> + Clone,
    ) -> bool {
        let mut here = self.items.iter().filter(|item| item.container == container).peekable();
        here.peek().is_none()
            || here.any(|item| {
                members.clone().all(|name| name == "matcher" || item.members.iter().any(|own| own == name))
            })
            || members.next().is_none()
    }
}
