//! A parsed document whose every part knows where it stands in the text.

use std::ops::Range;

use serde_json::{Map, Number, Value};

/// A document.
pub(super) struct Document {
    /// The root value.
    pub(super) root: Node,
    /// Comments in the order of the text; a line comment ends before its line end.
    pub(super) comments: Vec<Range<usize>>,
}

/// A value.
pub(super) struct Node {
    /// Where it stands; brackets included.
    pub(super) span: Range<usize>,
    pub(super) kind: NodeKind,
}

/// What a value is.
pub(super) enum NodeKind {
    Object(Vec<Part>),
    Array(Vec<Part>),
    String(String),
    Number,
    Bool(bool),
    Null,
}

/// A member of an object or an item of an array.
pub(super) struct Part {
    /// The key; empty for items.
    pub(super) key: String,
    /// Start of the key or of the item.
    pub(super) start: usize,
    pub(super) value: Node,
    /// Where the comma behind it stands.
    pub(super) comma: Option<usize>,
}

impl Part {
    /// End of the value.
    pub(super) fn end(&self) -> usize {
        self.value.span.end
    }
}

impl Node {
    /// Members or items; none for other values.
    pub(super) fn parts(&self) -> &[Part] {
        match &self.kind {
            NodeKind::Object(parts) | NodeKind::Array(parts) => parts,
            NodeKind::String(_) | NodeKind::Number | NodeKind::Bool(_) | NodeKind::Null => &[],
        }
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, NodeKind::Object(_))
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.kind, NodeKind::Array(_))
    }

    /// What stands between the brackets.
    pub(super) fn interior(&self) -> Range<usize> {
        self.span.start + 1..self.span.end.saturating_sub(1).max(self.span.start + 1)
    }

    /// The members of this name.
    pub(super) fn members<'n>(&'n self, key: &'n str) -> impl Iterator<Item = &'n Part> {
        let members: &[Part] = if self.is_object() { self.parts() } else { &[] };
        members.iter().filter(move |part| part.key == key)
    }

    /// The value without positions; of duplicate keys the last one counts.
    pub(super) fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            NodeKind::Object(parts) => {
                let members: Map<String, Value> =
                    parts.iter().map(|part| (part.key.clone(), part.value.to_value(text))).collect();
                Value::Object(members)
            }
            NodeKind::Array(parts) => parts.iter().map(|part| part.value.to_value(text)).collect(),
            NodeKind::String(content) => Value::String(content.clone()),
            NodeKind::Number => text
                .get(self.span.clone())
                .and_then(|digits| digits.parse::<Number>().ok())
                .map_or(Value::Null, Value::Number),
            NodeKind::Bool(flag) => Value::Bool(*flag),
            NodeKind::Null => Value::Null,
        }
    }
}
