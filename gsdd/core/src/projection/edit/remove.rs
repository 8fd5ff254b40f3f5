//! Taking our fragments away again.

use std::ops::Range;

use serde_json::Value;

use super::insert::duplicate;
use super::parse::parse;
use super::refusal::EditRefusal;
use super::splice::{Splice, spliced};
use super::tree::{Document, Node, Part};
use super::undo::Undo;
use super::{Dialect, is_blank, split_bom};

/// What is ours. A container that does not exist or has another shape holds nothing of ours.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// A member.
    Member {
        /// Path of keys to the object.
        container: &'a [String],
        /// Its name.
        key: &'a str,
    },
    /// Every item of a list that the test accepts.
    Item {
        /// Path of keys to the list.
        container: &'a [String],
        /// The test.
        is_ours: &'a dyn Fn(&Value) -> bool,
    },
    /// Every item that the test accepts in the lists inside the items of a list: our handlers in groups that may hold
    /// handlers of others. A group that this empties goes too, when we inserted it.
    NestedItem {
        /// Path of keys to the list of groups.
        container: &'a [String],
        /// The member of a group that holds the handlers.
        inner: &'a str,
        /// The test of a handler.
        is_ours: &'a dyn Fn(&Value) -> bool,
    },
}

/// The outcome of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The new bytes; `None` means that the file goes: we created it and it is empty again.
    pub bytes: Option<Vec<u8>>,
    /// What remains to be remembered for the other fragments in the file.
    pub undo: Undo,
    /// How many fragments were removed.
    pub removed: usize,
}

/// Removes our fragments and what we created around them; `None` means that the file goes.
///
/// # Errors
/// [`EditRefusal`]: nothing may be written.
pub fn remove(
    current: &[u8],
    dialect: Dialect,
    targets: &[Target<'_>],
    undo: &Undo,
) -> Result<Option<Vec<u8>>, EditRefusal> {
    remove_keeping_undo(current, dialect, targets, undo).map(|removal| removal.bytes)
}

/// Like [`remove`], and says what is left to remember.
///
/// # Errors
/// [`EditRefusal`]: nothing may be written.
pub fn remove_keeping_undo(
    current: &[u8],
    dialect: Dialect,
    targets: &[Target<'_>],
    undo: &Undo,
) -> Result<Removal, EditRefusal> {
    let (bom, given) = split_bom(current)?;
    if is_blank(given) {
        // Someone emptied the file: nothing of ours is left in it, and the file is theirs now.
        return Ok(Removal { bytes: Some(current.to_vec()), undo: Undo::default(), removed: 0 });
    }
    let mut undo = undo.clone();
    let mut text = given.to_owned();
    let mut removed = 0;
    for target in targets {
        loop {
            let document = parse(&text, dialect)?;
            let Some(hit) = find(&text, &document, *target, &undo)? else { break };
            text = without(&text, &document, &hit, &mut undo);
            removed += 1;
        }
    }
    prune(&mut text, dialect, &mut undo)?;
    let document = parse(&text, dialect)?;
    let is_bare =
        document.root.is_object() && document.root.parts().is_empty() && document.comments.is_empty();
    let bytes = match (is_bare, &undo.blank_file) {
        (true, _) if undo.file_created => None,
        (true, Some(blank)) => Some(format!("{bom}{blank}").into_bytes()),
        _ => Some(format!("{bom}{text}").into_bytes()),
    };
    if is_bare && (bytes.is_none() || undo.blank_file.is_some()) {
        undo = Undo::default();
    }
    Ok(Removal { bytes, undo, removed })
}

/// A part to take away.
struct Hit<'d> {
    container: &'d Node,
    index: usize,
    /// Path of keys of the container, when it has one.
    path: Option<&'d [String]>,
}

fn find<'d>(
    text: &str,
    document: &'d Document,
    target: Target<'d>,
    undo: &Undo,
) -> Result<Option<Hit<'d>>, EditRefusal> {
    let (path, wants_array) = match target {
        Target::Member { container, .. } => (container, false),
        Target::Item { container, .. } | Target::NestedItem { container, .. } => (container, true),
    };
    let Some(container) = locate(text, &document.root, path)?.filter(|node| node.is_array() == wants_array)
    else {
        return Ok(None);
    };
    let hit = |index| Some(Hit { container, index, path: Some(path) });
    match target {
        Target::Member { key, .. } => {
            if let Some(second) = container.members(key).nth(1) {
                let path: Vec<String> = path.iter().cloned().chain([key.to_owned()]).collect();
                return Err(duplicate(text, second.start, &path));
            }
            let parts = if container.is_object() { container.parts() } else { &[] };
            Ok(parts.iter().position(|part| part.key == key).and_then(hit))
        }
        Target::Item { is_ours, .. } => {
            Ok(container.parts().iter().position(|part| is_ours(&part.value.to_value(text))).and_then(hit))
        }
        Target::NestedItem { inner, is_ours, .. } => {
            for (group_index, group) in container.parts().iter().enumerate() {
                for handlers in group.value.members(inner).filter(|member| member.value.is_array()) {
                    let parts = handlers.value.parts();
                    let Some(index) = parts.iter().position(|part| is_ours(&part.value.to_value(text)))
                    else {
                        continue;
                    };
                    let others = group.value.parts().iter().map(|part| part.key.as_str());
                    if parts.len() == 1 && undo.group_may_go(path, others.filter(|key| *key != inner)) {
                        return Ok(hit(group_index));
                    }
                    return Ok(Some(Hit { container: &handlers.value, index, path: None }));
                }
            }
            Ok(None)
        }
    }
}

/// The value at a path of keys; a key on the way that appears twice is refused.
fn locate<'d>(text: &str, root: &'d Node, path: &[String]) -> Result<Option<&'d Node>, EditRefusal> {
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        let mut found = node.parts().iter().filter(|part| node.is_object() && part.key == *key);
        let Some(member) = found.next() else { return Ok(None) };
        if let Some(second) = found.next() {
            return Err(duplicate(text, second.start, &path[..=depth]));
        }
        node = &member.value;
    }
    Ok(Some(node))
}

/// Takes containers away that we created and that are empty, the inner ones first.
fn prune(text: &mut String, dialect: Dialect, undo: &mut Undo) -> Result<(), EditRefusal> {
    undo.created.sort_by_key(|path| std::cmp::Reverse(path.len()));
    let mut kept = Vec::new();
    for path in std::mem::take(&mut undo.created) {
        let document = parse(text, dialect)?;
        let Some((key, parent_path)) = path.split_last() else { continue };
        let Some(node) = locate(text, &document.root, &path)? else { continue };
        let is_bare = (node.is_object() || node.is_array())
            && node.parts().is_empty()
            && !document.comments.iter().any(|comment| node.span.contains(&comment.start));
        let parent = locate(text, &document.root, parent_path)?;
        let index = parent.and_then(|parent| parent.parts().iter().position(|part| part.key == *key));
        match (parent, index) {
            (Some(container), Some(index)) if is_bare => {
                let hit = Hit { container, index, path: Some(parent_path) };
                *text = without(text, &document, &hit, undo);
            }
            _ => kept.push(path),
        }
    }
    undo.created = kept;
    let document = parse(text, dialect)?;
    undo.interiors.retain(|interior| {
        locate(text, &document.root, &interior.container)
            .ok()
            .flatten()
            .is_some_and(|node| !node.parts().is_empty())
    });
    undo.items.retain(|item| {
        locate(text, &document.root, &item.container)
            .ok()
            .flatten()
            .is_some_and(|node| !node.parts().is_empty())
    });
    Ok(())
}

/// The text without one part.
fn without(text: &str, document: &Document, hit: &Hit<'_>, undo: &mut Undo) -> String {
    let container = hit.container;
    let interior = container.interior();
    let has_comments = document.comments.iter().any(|comment| {
        let own =
            container.parts().get(hit.index).is_some_and(|part| part.value.span.contains(&comment.start));
        interior.contains(&comment.start) && !own
    });
    if container.parts().len() == 1
        && !has_comments
        && let Some(before) = hit.path.and_then(|path| undo.interior_of(path))
    {
        return spliced(text, vec![(interior, before.to_owned())]);
    }
    spliced(text, cuts(text, document, container, hit.index))
}

fn cuts(text: &str, document: &Document, container: &Node, index: usize) -> Vec<Splice> {
    let parts = container.parts();
    let Some(part) = parts.get(index) else { return Vec::new() };
    let previous = index.checked_sub(1).and_then(|before| parts.get(before));
    let next = parts.get(index + 1);
    if let (None, Some(next), Some(comma)) = (previous, next, part.comma) {
        let free =
            |range: Range<usize>| !document.comments.iter().any(|comment| range.contains(&comment.start));
        if free(part.end()..comma) && free(comma..next.start) {
            return vec![cut(part.start..next.start)];
        }
    }
    let end = match part.comma {
        Some(comma) if text.get(part.end()..comma).is_some_and(is_blank) => comma + 1,
        _ => part.end(),
    };
    let mut cuts = vec![cut(lead(text, document, container, previous, part, end)..end)];
    if let Some(comma) = part.comma.filter(|comma| *comma >= end) {
        cuts.push(cut(comma..comma + 1));
    }
    // Last without a comma of its own: the comma before it was ours.
    if let (None, None, Some(comma)) = (next, part.comma, previous.and_then(|previous| previous.comma)) {
        cuts.push(cut(comma..comma + 1));
    }
    cuts
}

fn cut(range: Range<usize>) -> Splice {
    (range, String::new())
}

/// Where the white space before a part starts, back to a comma, comment, value or bracket.
fn lead(
    text: &str,
    document: &Document,
    container: &Node,
    previous: Option<&Part>,
    part: &Part,
    end: usize,
) -> usize {
    let open = container.interior().start;
    let behind_previous =
        previous.map_or(open, |previous| previous.comma.map_or(previous.end(), |comma| comma + 1));
    let comment =
        document.comments.iter().rfind(|comment| comment.end <= part.start && comment.start >= open);
    match comment.filter(|comment| comment.end > behind_previous) {
        // What follows on our line must not slide into a line comment.
        Some(comment) if text.get(comment.clone()).is_some_and(|comment| comment.starts_with("//")) => {
            let behind = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
            if behind.starts_with(['\n', '\r']) { comment.end } else { part.start }
        }
        Some(comment) => comment.end,
        None => behind_previous,
    }
}
