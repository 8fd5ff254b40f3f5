//! Inserting members and items.

use serde_json::{Map, Value};

use super::parse::parse;
use super::refusal::{EditRefusal, EditRefusalKind, pointer};
use super::splice::{Splice, spliced};
use super::style::{Style, is_multiline, line_indent, part_indent};
use super::tree::{Document, Node};
use super::undo::{EmptyInterior, InsertedItem, Undo};
use super::{Dialect, is_blank, split_bom};

/// One insertion. Containers on the way that do not exist are created.
#[derive(Clone, Debug, PartialEq)]
pub enum Insert {
    /// A member of an object, behind the others.
    Member {
        /// Path of keys to the object; empty for the document.
        container: Vec<String>,
        /// Its name, which must be free.
        key: String,
        /// Its value.
        value: Value,
    },
    /// An item of a list, behind the others.
    Item {
        /// Path of keys to the list.
        container: Vec<String>,
        /// The item.
        value: Value,
    },
}

/// Inserts into a file; `None` means that it does not exist. Answers with the new bytes and what to remember.
///
/// # Errors
/// [`EditRefusal`]: nothing may be written.
pub fn apply(
    original: Option<&[u8]>,
    dialect: Dialect,
    inserts: &[Insert],
) -> Result<(Vec<u8>, Undo), EditRefusal> {
    let mut undo = Undo::default();
    let (bom, given) = match original {
        Some(bytes) => split_bom(bytes)?,
        None => ("", ""),
    };
    let mut text = if is_blank(given) {
        undo.file_created = original.is_none();
        undo.blank_file = original.map(|_| given.to_owned());
        "{}\n".to_owned()
    } else {
        given.to_owned()
    };
    for insert in inserts {
        text = apply_one(&text, dialect, insert, &mut undo)?;
    }
    Ok((format!("{bom}{text}").into_bytes(), undo))
}

fn apply_one(text: &str, dialect: Dialect, insert: &Insert, undo: &mut Undo) -> Result<String, EditRefusal> {
    let document = parse(text, dialect)?;
    let (path, key, value) = match insert {
        Insert::Member { container, key, value } => (container, Some(key.as_str()), value),
        Insert::Item { container, value } => (container, None, value),
    };
    let place = find_place(text, &document, path, key.is_some())?;
    if let (true, Some(key)) = (place.missing.is_empty(), key)
        && let Some(taken) = place.node.members(key).next()
    {
        let message = format!("`{}` is already there", crate::text::shown_up_to(key, 80));
        let at = format!("{}{}", pointer(path), pointer(&[key.to_owned()]));
        return Err(EditRefusal::at(text, taken.start, EditRefusalKind::KeyTaken, &message, &at));
    }
    let nested;
    let (key, value) = match place.missing.split_first() {
        None => (key, value),
        Some((first, deeper)) => {
            nested = wrapped(deeper, key, value);
            (Some(first.as_str()), &nested)
        }
    };
    let style = Style::of(text, &document);
    let (splices, interior) = insert_part(text, &document, &place, &style, (key, value));
    let new = spliced(text, splices);
    check(&document, text, &new, dialect, insert)?;

    let present = path.len() - place.missing.len();
    if let Some(text) = interior {
        undo.interiors.push(EmptyInterior { container: path[..present].to_vec(), text });
    }
    undo.created.extend((present + 1..=path.len()).map(|depth| path[..depth].to_vec()));
    if let Insert::Item { container, value: Value::Object(members) } = insert {
        let item = InsertedItem { container: container.clone(), members: members.keys().cloned().collect() };
        if !undo.items.contains(&item) {
            undo.items.push(item);
        }
    }
    Ok(new)
}

/// Where an insertion goes: the deepest container that exists, and the keys that do not.
struct Place<'d> {
    node: &'d Node,
    /// Whether the container around it has its parts on lines of their own; the document has.
    parent_multiline: bool,
    missing: &'d [String],
}

fn find_place<'d>(
    text: &str,
    document: &'d Document,
    path: &'d [String],
    wants_object: bool,
) -> Result<Place<'d>, EditRefusal> {
    let mut place = Place { node: &document.root, parent_multiline: true, missing: &[] };
    for (depth, key) in path.iter().enumerate() {
        expect_object(text, place.node, &path[..depth])?;
        let mut found = place.node.members(key);
        let Some(member) = found.next() else {
            place.missing = &path[depth..];
            return Ok(place);
        };
        if let Some(second) = found.next() {
            return Err(duplicate(text, second.start, &path[..=depth]));
        }
        place.parent_multiline = is_multiline(text, place.node);
        place.node = &member.value;
    }
    if wants_object {
        expect_object(text, place.node, path)?;
    } else if !place.node.is_array() {
        return Err(wrong_shape(text, place.node, path, "a list"));
    }
    Ok(place)
}

fn expect_object(text: &str, node: &Node, path: &[String]) -> Result<(), EditRefusal> {
    if node.is_object() { Ok(()) } else { Err(wrong_shape(text, node, path, "an object")) }
}

fn wrong_shape(text: &str, node: &Node, path: &[String], wanted: &str) -> EditRefusal {
    let what = match path.last() {
        Some(key) => format!("`{}` is not {wanted}", crate::text::shown_up_to(key, 80)),
        None => format!("the document is not {wanted}"),
    };
    EditRefusal::at(text, node.span.start, EditRefusalKind::WrongShape, &what, &pointer(path))
}

pub(super) fn duplicate(text: &str, offset: usize, path: &[String]) -> EditRefusal {
    let key = path.last().map_or("", String::as_str);
    let message = format!("`{}` appears twice", crate::text::shown_up_to(key, 80));
    EditRefusal::at(text, offset, EditRefusalKind::DuplicateKey, &message, &pointer(path))
}

/// The value inside the containers that do not exist yet.
fn wrapped(keys: &[String], key: Option<&str>, value: &Value) -> Value {
    let innermost = match key {
        Some(key) => Value::Object(Map::from_iter([(key.to_owned(), value.clone())])),
        None => Value::Array(vec![value.clone()]),
    };
    keys.iter().rev().fold(innermost, |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])))
}

/// The splices that put a part behind the others of a container, and the text between the brackets if it is replaced.
fn insert_part(
    text: &str,
    document: &Document,
    place: &Place<'_>,
    style: &Style,
    (key, value): (Option<&str>, &Value),
) -> (Vec<Splice>, Option<String>) {
    let container = place.node;
    let interior = container.interior();
    let comments_inside = || document.comments.iter().filter(|comment| interior.contains(&comment.start));
    if let Some(last) = container.parts().last() {
        let multiline = is_multiline(text, container);
        let indent = multiline.then(|| part_indent(text, container, style));
        let gap = if inline_gap(text, container, style) { " " } else { "" };
        let lead =
            indent.as_ref().map_or_else(|| gap.to_owned(), |indent| format!("{}{indent}", style.newline));
        let fragment = style.fragment(key, value, indent.as_deref());
        // A comment behind the last part on its line belongs to that part: we go behind it, our comma before it.
        let base = last.comma.map_or(last.end(), |comma| comma + 1);
        let mut anchor = base;
        for comment in comments_inside().filter(|comment| comment.start >= base) {
            let between = text.get(anchor..comment.start).unwrap_or_default();
            if !between.chars().all(|c| c == ' ' || c == '\t') {
                break;
            }
            anchor = comment.end;
        }
        let splices = match last.comma {
            Some(_) => vec![(anchor..anchor, format!("{lead}{fragment},"))],
            None if anchor == base => vec![(base..base, format!(",{lead}{fragment}"))],
            None => vec![(base..base, ",".to_owned()), (anchor..anchor, format!("{lead}{fragment}"))],
        };
        return (splices, None);
    }
    let old = text.get(interior.clone()).unwrap_or_default();
    let multiline = old.contains(['\n', '\r']) || place.parent_multiline;
    let indent = multiline.then(|| part_indent(text, container, style));
    let fragment = style.fragment(key, value, indent.as_deref());
    match (comments_inside().next_back(), indent) {
        (Some(comment), Some(indent)) => {
            (vec![(comment.end..comment.end, format!("{}{indent}{fragment}", style.newline))], None)
        }
        (Some(comment), None) => (vec![(comment.end..comment.end, format!(" {fragment}"))], None),
        (None, Some(indent)) => {
            let closing = line_indent(text, container.span.start);
            let newline = style.newline;
            let new = format!("{newline}{indent}{fragment}{newline}{closing}");
            (vec![(interior, new)], Some(old.to_owned()))
        }
        (None, None) => (vec![(interior, fragment)], Some(old.to_owned())),
    }
}

/// Whether a blank follows the commas of a container that stands on one line.
fn inline_gap(text: &str, container: &Node, style: &Style) -> bool {
    match container.parts().first().and_then(|first| first.comma) {
        Some(comma) if container.parts().len() > 1 => {
            text.get(comma + 1..).is_some_and(|behind| behind.starts_with(' '))
        }
        _ => style.spaced,
    }
}

/// That the new text reads as the old one with the insertion, and nothing else changed.
fn check(
    old: &Document,
    old_text: &str,
    new: &str,
    dialect: Dialect,
    insert: &Insert,
) -> Result<(), EditRefusal> {
    let unintended = |message: &str| EditRefusal::at(new, 0, EditRefusalKind::Internal, message, "");
    let after = parse(new, dialect)
        .map_err(|refusal| unintended(&format!("the edit would not parse: {refusal}")))?
        .root
        .to_value(new);
    let mut expected = old.root.to_value(old_text);
    let (path, key, value) = match insert {
        Insert::Member { container, key, value } => (container, Some(key), value),
        Insert::Item { container, value } => (container, None, value),
    };
    let mut container = &mut expected;
    for key in path {
        if container.is_null() {
            *container = Value::Object(Map::new());
        }
        let Value::Object(members) = container else {
            return Err(unintended("the edit found another shape than it checked"));
        };
        container = members.entry(key.clone()).or_insert(Value::Null);
    }
    match (key, container) {
        (Some(key), Value::Object(members)) => {
            members.insert(key.clone(), value.clone());
        }
        (Some(key), other) => *other = Value::Object(Map::from_iter([(key.clone(), value.clone())])),
        (None, Value::Array(items)) => items.push(value.clone()),
        (None, other) => *other = Value::Array(vec![value.clone()]),
    }
    if same(&after, &expected) { Ok(()) } else { Err(unintended("the edit would change something else")) }
}

/// Equality that does not tell `1` from `1.0`: a number of ours is written in its shortest form.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}
