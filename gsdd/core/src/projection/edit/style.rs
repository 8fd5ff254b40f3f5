//! How a file is written, so that what we add looks like the rest.

use serde_json::Value;

use super::tree::{Document, Node};
use crate::trust::canonical_json::{write_number, write_string};

/// The habits of one file.
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
    /// Whether a blank follows colons and commas on one line.
    pub(super) spaced: bool,
}

impl Style {
    pub(super) fn of(text: &str, document: &Document) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            Some(_) | None => "\n",
        };
        let unit = unit_below(text, &document.root).unwrap_or_else(|| "  ".to_owned());
        let spaced = first_member_gap(text, &document.root).unwrap_or(true);
        Self { newline, unit, spaced }
    }

    fn gap(&self) -> &'static str {
        if self.spaced { " " } else { "" }
    }

    /// A member (with key) or an item as text. `indent` is that of its first line when it is written over several
    /// lines, `None` when all of it stands on one.
    pub(super) fn fragment(&self, key: Option<&str>, value: &Value, indent: Option<&str>) -> String {
        let mut out = String::new();
        if let Some(key) = key {
            write_string(key, &mut out);
            out.push(':');
            out.push_str(self.gap());
        }
        self.write(value, indent, &mut out);
        out
    }

    fn write(&self, value: &Value, indent: Option<&str>, out: &mut String) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => write_number(number, out),
            Value::String(text) => write_string(text, out),
            Value::Array(items) => {
                self.write_parts(items.iter().map(|item| (None, item)), ('[', ']'), indent, out);
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, member)| (Some(key.as_str()), member));
                self.write_parts(members, ('{', '}'), indent, out);
            }
        }
    }

    fn write_parts<'v>(
        &self,
        parts: impl ExactSizeIterator<Item = (Option<&'v str>, &'v Value)>,
        brackets: (char, char),
        indent: Option<&str>,
        out: &mut String,
    ) {
        let is_empty = parts.len() == 0;
        let inner = indent.map(|indent| format!("{indent}{}", self.unit));
        out.push(brackets.0);
        for (index, (key, value)) in parts.enumerate() {
            if index > 0 {
                out.push(',');
            }
            match &inner {
                Some(inner) => {
                    out.push_str(self.newline);
                    out.push_str(inner);
                }
                None if index > 0 => out.push_str(self.gap()),
                None => {}
            }
            out.push_str(&self.fragment(key, value, inner.as_deref()));
        }
        if let Some(indent) = indent.filter(|_| !is_empty) {
            out.push_str(self.newline);
            out.push_str(indent);
        }
        out.push(brackets.1);
    }
}

/// Whether the parts of a container stand on lines of their own.
pub(super) fn is_multiline(text: &str, container: &Node) -> bool {
    let mut from = container.interior().start;
    for part in container.parts() {
        if has_line_end(text, from, part.start) {
            return true;
        }
        from = part.end();
    }
    has_line_end(text, from, container.interior().end)
}

fn has_line_end(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|between| between.contains(['\n', '\r']))
}

/// The white space at the start of the line of `offset`.
pub(super) fn line_indent(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = text.get(line..).unwrap_or_default();
    let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// Whether only white space stands before `offset` on its line.
pub(super) fn starts_line(text: &str, offset: usize) -> bool {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    line > 0 && before.get(line..).unwrap_or_default().chars().all(|c| c == ' ' || c == '\t')
}

/// The indentation of new parts of a container.
pub(super) fn part_indent(text: &str, container: &Node, style: &Style) -> String {
    let parts = container.parts();
    [parts.last(), parts.first()]
        .into_iter()
        .flatten()
        .find(|part| starts_line(text, part.start))
        .map_or_else(
            || format!("{}{}", line_indent(text, container.span.start), style.unit),
            |part| line_indent(text, part.start).to_owned(),
        )
}

fn unit_below(text: &str, node: &Node) -> Option<String> {
    if let Some(first) = node.parts().first()
        && starts_line(text, first.start)
        && let Some(unit) = line_indent(text, first.start).strip_prefix(line_indent(text, node.span.start))
        && !unit.is_empty()
    {
        return Some(unit.to_owned());
    }
    node.parts().iter().find_map(|part| unit_below(text, &part.value))
}

/// Whether white space follows the first colon of the document.
fn first_member_gap(text: &str, node: &Node) -> Option<bool> {
    if node.is_object()
        && let Some(first) = node.parts().first()
    {
        let before = text.get(first.start..first.value.span.start).unwrap_or_default();
        return Some(before.ends_with([' ', '\t', '\n', '\r']));
    }
    node.parts().iter().find_map(|part| first_member_gap(text, &part.value))
}
