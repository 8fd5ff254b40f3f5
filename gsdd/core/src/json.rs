//! JSON text that we did not write, read so that two readers cannot disagree about it.
//!
//! [`parse_strict`] accepts RFC 8259 text only: UTF-8 without a byte-order mark, every key once per object, no
//! lone surrogate, no number outside the range of a double, at most [`MAX_DEPTH`] containers inside each other.
//! [`parse_lenient`] is for files that upstream writes and we only read: there the last duplicate wins.
//! [`locate`] finds the line and column of a value, for messages.

mod cursor;
mod position;

use serde_json::{Map, Value};

use cursor::{Cursor, Fault};

pub use position::{locate, locate_all};

/// Most containers that may be nested in each other; more is refused instead of exhausting a stack.
pub const MAX_DEPTH: usize = 64;

/// Largest manifest, fragment, ledger or store that is read, in bytes.
///
/// Source: overlay model, "When a single overlay fails" (oversized).
pub const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Most values in one manifest; a hostile file of the allowed size could hold millions, and each costs memory.
const MAX_VALUES: usize = 200_000;

/// Most values in a ledger or consent store, which list many files.
const MAX_VALUES_OF_OURS: usize = 2_000_000;

/// Why a text is not acceptable JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonProblem {
    /// `parse.json` or `parse.duplicate-key`.
    pub rule: &'static str,
    /// Line of the offending character, from 1.
    pub line: u32,
    /// Column of the offending character in characters, from 1.
    pub column: u32,
    /// JSON pointer of the innermost value being read.
    pub pointer: String,
    /// The fact, without text from the file.
    pub message: String,
}

/// How duplicate keys are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duplicates {
    Refuse,
    LastWins,
}

/// Parses one JSON document under the strict rules of this module.
///
/// # Errors
/// The first [`JsonProblem`] in reading order.
pub fn parse_strict(bytes: &[u8]) -> Result<Value, JsonProblem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let readable = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let (line, column) = position::line_and_column(&String::from_utf8_lossy(readable), readable.len());
        JsonProblem {
            rule: "parse.json",
            line,
            column,
            pointer: String::new(),
            message: "the text is not UTF-8".to_owned(),
        }
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(JsonProblem {
            rule: "parse.size",
            line: 1,
            column: 1,
            pointer: String::new(),
            message: format!("the text has more than {MAX_BYTES} bytes"),
        });
    }
    let mut trail = Vec::new();
    document(text, Duplicates::Refuse, &mut trail).map_err(|fault| {
        let (line, column) = position::line_and_column(text, fault.at);
        JsonProblem {
            rule: fault.rule,
            line,
            column,
            pointer: pointer(text, &trail),
            message: fault.message.to_owned(),
        }
    })
}

/// Parses one JSON document that another tool wrote: the last of several equal keys wins. The other rules of
/// [`parse_strict`] hold; `None` when the text breaks one.
#[must_use]
pub fn parse_lenient(bytes: &[u8]) -> Option<Value> {
    if bytes.len() as u64 > MAX_BYTES {
        return None;
    }
    document(std::str::from_utf8(bytes).ok()?, Duplicates::LastWins, &mut Vec::new()).ok()
}

/// Adds one reference token to a JSON pointer, escaped as RFC 6901 demands.
pub(crate) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// A value inside another one that is being read.
#[derive(Clone, Copy)]
enum Inside {
    /// Below the key at this offset.
    Key(usize),
    /// At this position of a list.
    Item(usize),
}

/// The pointer to the innermost value being read. Most documents have no fault, so nothing is kept of their keys.
fn pointer(text: &str, trail: &[Inside]) -> String {
    let mut pointer = String::new();
    for inside in trail {
        match inside {
            Inside::Key(at) => {
                let key = text.get(*at..).and_then(|rest| Cursor::new(rest).string().ok());
                push_token(&mut pointer, &key.unwrap_or_default());
            }
            Inside::Item(index) => push_token(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

fn document(text: &str, duplicates: Duplicates, trail: &mut Vec<Inside>) -> Result<Value, Fault> {
    let mut cursor = Cursor::new(text);
    cursor.limit_values(match duplicates {
        Duplicates::Refuse => MAX_VALUES,
        Duplicates::LastWins => MAX_VALUES_OF_OURS,
    });
    let value = value(&mut cursor, duplicates, trail, 0)?;
    cursor.end()?;
    Ok(value)
}

/// Reads one value. `trail` keeps where the values being read stand; on an error it is left as it is.
fn value(
    cursor: &mut Cursor<'_>,
    duplicates: Duplicates,
    trail: &mut Vec<Inside>,
    depth: usize,
) -> Result<Value, Fault> {
    cursor.count_value()?;
    match cursor.peek_token()? {
        b'{' => object(cursor, duplicates, trail, depth + 1).map(Value::Object),
        b'[' => array(cursor, duplicates, trail, depth + 1).map(Value::Array),
        b'"' => cursor.string().map(Value::String),
        _ => cursor.scalar(),
    }
}

fn object(
    cursor: &mut Cursor<'_>,
    duplicates: Duplicates,
    trail: &mut Vec<Inside>,
    depth: usize,
) -> Result<Map<String, Value>, Fault> {
    cursor.open(depth)?;
    // The members are gathered first, so that the map gets exactly the memory it needs: manifests stay in memory.
    let mut members: Vec<(usize, String, Value)> = Vec::new();
    let mut more = !cursor.close(b'}')?;
    while more {
        cursor.skip_blanks();
        let key_at = cursor.offset();
        let key = cursor.key()?;
        trail.push(Inside::Key(key_at));
        let member = value(cursor, duplicates, trail, depth)?;
        trail.pop();
        members.push((key_at, key, member));
        more = cursor.more(b'}')?;
    }
    let mut map = Map::with_capacity(members.len());
    for (key_at, key, member) in members {
        if duplicates == Duplicates::Refuse && map.contains_key(&key) {
            trail.push(Inside::Key(key_at));
            let message = "the same key stands twice in one object";
            return Err(Fault { rule: "parse.duplicate-key", at: key_at, message });
        }
        map.insert(key, member);
    }
    Ok(map)
}

fn array(
    cursor: &mut Cursor<'_>,
    duplicates: Duplicates,
    trail: &mut Vec<Inside>,
    depth: usize,
) -> Result<Vec<Value>, Fault> {
    cursor.open(depth)?;
    let mut items = Vec::new();
    let mut more = !cursor.close(b']')?;
    while more {
        trail.push(Inside::Item(items.len()));
        items.push(value(cursor, duplicates, trail, depth)?);
        trail.pop();
        more = cursor.more(b']')?;
    }
    items.shrink_to_fit();
    Ok(items)
}

#[cfg(test)]
mod tests;
