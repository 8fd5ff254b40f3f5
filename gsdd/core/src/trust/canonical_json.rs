//! JSON written the way the Node implementation writes it, so that both sides produce the same bytes.
//!
//! Two forms: [`canonical`] (sorted keys, no spaces) is signed; [`pretty`] (two spaces, key order kept) is what
//! the ledger and the consent store hold.
//!
//! Source: ADR-1244 D5 (signature stability), lifecycle formats section 9.2.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// `value` without spaces, object keys sorted by UTF-16 code unit, numbers as JavaScript prints a double.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// `value` with two-space indentation and its own key order, without a final newline.
///
/// Integers keep every digit (a rewrite must not damage a member that is not ours); other numbers are written as
/// JavaScript writes them.
#[must_use]
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write_pretty(value, 0, &mut out);
    out
}

/// Appends `text` as a JSON string: quote, backslash and the C0 controls escaped, everything else raw.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{9}' => out.push_str("\\t"),
            '\u{a}' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\u{d}' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// `text` as a JSON string.
#[must_use]
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

/// How JavaScript orders two strings: by UTF-16 code unit, not by code point.
#[must_use]
pub fn utf16_order(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Members in the order in which JavaScript visits them: array indices ascending, then the rest as written.
pub(crate) fn javascript_order<V>(members: impl IntoIterator<Item = (String, V)>) -> Vec<(String, V)> {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by_key(|(key, _)| array_index(key).map_or((1, 0), |index| (0, index)));
    members
}

fn array_index(key: &str) -> Option<u32> {
    let index: u32 = key.parse().ok()?;
    (index != u32::MAX && index.to_string() == key).then_some(index)
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_double(number.as_f64().unwrap_or(f64::NAN), out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| utf16_order(left, right));
            out.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
    }
}

fn write_pretty(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                new_line(index, depth + 1, out);
                write_pretty(item, depth + 1, out);
            }
            new_line(0, depth, out);
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                new_line(index, depth + 1, out);
                write_string(key, out);
                out.push_str(": ");
                write_pretty(member, depth + 1, out);
            }
            new_line(0, depth, out);
            out.push('}');
        }
        Value::Number(number) => write_number(number, out),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            write_canonical(value, out);
        }
    }
}

fn new_line(index: usize, depth: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// Appends a number: integers digit for digit, others as JavaScript prints them.
pub(crate) fn write_number(number: &Number, out: &mut String) {
    if number.is_f64() {
        write_double(number.as_f64().unwrap_or(f64::NAN), out);
    } else {
        let _ = write!(out, "{number}");
    }
}

/// Appends a double the way JavaScript's `Number::toString` does; what JSON cannot hold becomes `null`.
fn write_double(number: f64, out: &mut String) {
    if !number.is_finite() {
        out.push_str("null");
        return;
    }
    if number == 0.0 {
        out.push('0');
        return;
    }
    if number < 0.0 {
        out.push('-');
    }
    // `{:e}` prints the shortest digits that read back as the same double, as JavaScript does; only the layout differs.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let point = exponent.parse::<i32>().unwrap_or(0).saturating_add(1);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if count <= point && point <= 21 {
        out.push_str(&digits);
        push_zeros(point - count, out);
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    } else if -6 < point && point <= 0 {
        out.push_str("0.");
        push_zeros(-point, out);
        out.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let _ = write!(out, "e{:+}", point - 1);
    }
}

fn push_zeros(count: i32, out: &mut String) {
    for _ in 0..count {
        out.push('0');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_number(text: &str, expected: &str) {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical(&value), expected, "{text}");
    }

    #[test]
    fn numbers_look_like_javascript() {
        check_number("1.0", "1");
        check_number("-0", "0");
        check_number("-0.0", "0");
        check_number("1e2", "100");
        check_number("1e21", "1e+21");
        check_number("1e20", "100000000000000000000");
        check_number("1.5e300", "1.5e+300");
        check_number("123456789012345678901", "123456789012345680000");
        check_number("12345678901234567890", "12345678901234567000");
        check_number("-9007199254740993", "-9007199254740992");
        check_number("0.1", "0.1");
        check_number("0.000001", "0.000001");
        check_number("0.0000012", "0.0000012");
        check_number("1e-7", "1e-7");
        check_number("-1.25e-7", "-1.25e-7");
        check_number("5e-324", "5e-324");
        check_number("123.456", "123.456");
    }

    #[test]
    fn keys_sort_by_utf16_unit() {
        assert_eq!(
            canonical(&json!({"\u{ff5e}": 1, "\u{1f600}": 2, "b": [], "a": {}})),
            "{\"a\":{},\"b\":[],\"\u{1f600}\":2,\"\u{ff5e}\":1}"
        );
    }

    #[test]
    fn pretty_text_keeps_order_digits_and_empties() {
        let value: Value =
            serde_json::from_str(r#"{"b":[],"a":{},"n":12345678901234567890,"f":2.0,"l":[1,"x"]}"#).unwrap();
        assert_eq!(
            pretty(&value),
            "{\n  \"b\": [],\n  \"a\": {},\n  \"n\": 12345678901234567890,\n  \"f\": 2,\n  \"l\": [\n    1,\n    \"x\"\n  ]\n}"
        );
    }
}
