//! The entries of the shared-file wiring, in the shape that both implementations write and strip.
//!
//! An entry carries the id of its capability in a member of its own, so that whoever removes the capability finds
//! it. The mark is a hint: a host may drop it, and a bundle may try to forge it, which is why the true id always
//! wins here and identity is what the entry runs (threat T112, field report FR-005).
//!
//! Source: ADR-1244 D4 (shared edits), lifecycle formats section 10.

use serde_json::{Map, Value, json};

use super::insert::Insert;
use crate::ids::is_reserved_property_name;

/// The member that names the capability.
pub const MARKER: &str = "_gsdCapability";
/// The table of events.
pub const HOOKS: &str = "hooks";
/// The table of servers.
pub const SERVERS: &str = "mcpServers";

/// A hook entry: a group of one handler.
#[must_use]
pub fn marked_hook(id: &str, event: &str, command: &str, matcher: Option<&str>) -> Insert {
    let mut group = Map::new();
    group.insert(MARKER.to_owned(), id.into());
    group.insert("hooks".to_owned(), json!([{"type": "command", "command": command}]));
    if let Some(matcher) = matcher.filter(|matcher| !matcher.is_empty()) {
        group.insert("matcher".to_owned(), matcher.into());
    }
    Insert::Item { container: vec![HOOKS.to_owned(), event.to_owned()], value: Value::Object(group) }
}

/// A server entry: the configuration as declared, with the mark.
#[must_use]
pub fn marked_server(id: &str, name: &str, config: &Value) -> Insert {
    let mut members = match config {
        Value::Object(members) => members.clone(),
        other => Map::from_iter([("value".to_owned(), other.clone())]),
    };
    members.insert(MARKER.to_owned(), id.into());
    Insert::Member {
        container: vec![SERVERS.to_owned()],
        key: name.to_owned(),
        value: Value::Object(members),
    }
}

/// Whether an entry carries the mark of `id`.
#[must_use]
pub fn is_marked(entry: &Value, id: &str) -> bool {
    entry.get(MARKER).and_then(Value::as_str) == Some(id)
}

/// Whether a hook can be written at all: an event that is no reserved property name, and a script of plain
/// characters below the bundle.
#[must_use]
pub fn is_writable_hook(event: &str, script: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'-');
    !event.is_empty()
        && !is_reserved_property_name(event)
        && !script.is_empty()
        && !script.starts_with('/')
        && script.bytes().all(plain)
        && script.split('/').all(|segment| segment != ".." && !segment.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t112_the_true_id_wins_over_a_forged_mark() {
        let forged = json!({"command": "x", MARKER: "other"});
        let Insert::Member { value, .. } = marked_server("acme", "db", &forged) else {
            panic!("a server is a member")
        };
        assert!(is_marked(&value, "acme") && !is_marked(&value, "other"));
        assert_eq!(value["command"], "x");
    }
}
