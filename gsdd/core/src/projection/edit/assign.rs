//! Setting one member to a value, whether it is there or not.

use serde_json::Value;

use super::insert::{Insert, apply};
use super::parse::parse;
use super::refusal::{EditRefusal, EditRefusalKind, pointer};
use super::splice::spliced;
use super::{Dialect, is_blank, read, split_bom};

/// Sets the member at `path` of a file; `None` means that the file does not exist. Objects on the way that do not exist
/// are created; every other byte stays.
///
/// # Errors
/// [`EditRefusal`]: nothing may be written. A path that leads through something else than an object, a member that is
/// there twice, and an empty path are refused.
pub fn assign(
    original: Option<&[u8]>,
    dialect: Dialect,
    path: &[String],
    value: &Value,
) -> Result<Vec<u8>, EditRefusal> {
    let (bom, text) = original.map_or(Ok(("", "")), split_bom)?;
    let Some((key, container)) = path.split_last() else {
        return Err(EditRefusal::at(text, 0, EditRefusalKind::WrongShape, "there is no name to set", ""));
    };
    if is_blank(text) {
        return insert(original, dialect, container, key, value);
    }
    let document = parse(text, dialect)?;
    let mut node = &document.root;
    for (depth, name) in path.iter().enumerate() {
        let at = pointer(&path[..depth]);
        if !node.is_object() {
            let message = "this is not an object";
            return Err(EditRefusal::at(text, node.span.start, EditRefusalKind::WrongShape, message, &at));
        }
        let mut found = node.members(name);
        let Some(member) = found.next() else { return insert(original, dialect, container, key, value) };
        if let Some(again) = found.next() {
            let message = format!("`{}` is there twice", crate::text::shown_up_to(name, 80));
            let at = pointer(&path[..=depth]);
            return Err(EditRefusal::at(text, again.start, EditRefusalKind::DuplicateKey, &message, &at));
        }
        node = &member.value;
    }
    let new = spliced(text, vec![(node.span.clone(), value.to_string())]);
    let bytes = format!("{bom}{new}").into_bytes();
    // What can't be read back is not written.
    read(&bytes, dialect)?;
    Ok(bytes)
}

fn insert(
    original: Option<&[u8]>,
    dialect: Dialect,
    container: &[String],
    key: &str,
    value: &Value,
) -> Result<Vec<u8>, EditRefusal> {
    let insert = Insert::Member { container: container.to_vec(), key: key.to_owned(), value: value.clone() };
    apply(original, dialect, &[insert]).map(|(bytes, _)| bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn assigned(text: &str, path: &str, value: &Value) -> Result<String, EditRefusal> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        assign(Some(text.as_bytes()), Dialect::Jsonc, &path, value)
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn only_the_value_changes() {
        let text = "\u{feff}{\r\n  // mine\r\n  \"a\": { \"b\": true, }, // why\r\n  \"c\": 1e3\r\n}\r\n";
        assert_eq!(assigned(text, "a.b", &json!(false)).unwrap(), text.replace("true", "false"));
        assert_eq!(assigned(text, "c", &json!([1])).unwrap(), text.replace("1e3", "[1]"));
        let added = assigned(text, "a.d", &json!(true)).unwrap();
        assert_eq!(read(added.as_bytes(), Dialect::Jsonc).unwrap()["a"], json!({"b": true, "d": true}));
        let made = assign(None, Dialect::StrictJson, &["x".into(), "y".into()], &json!(false)).unwrap();
        assert_eq!(read(&made, Dialect::StrictJson).unwrap(), json!({"x": {"y": false}}));
    }

    #[test]
    fn what_is_in_the_way_is_refused() {
        assert_eq!(assigned("{\"a\": 1}", "a.b", &json!(1)).unwrap_err().kind, EditRefusalKind::WrongShape);
        assert_eq!(assigned("[1]", "a", &json!(1)).unwrap_err().kind, EditRefusalKind::WrongShape);
        assert_eq!(
            assigned("{\"a\": 1, \"a\": 2}", "a", &json!(1)).unwrap_err().kind,
            EditRefusalKind::DuplicateKey
        );
        assert_eq!(assigned("{oops", "a", &json!(1)).unwrap_err().kind, EditRefusalKind::Syntax);
    }

    proptest! {
        #[test]
        fn what_is_set_is_read_back(a in "[a-z]{1,3}", b in "[a-z]{1,3}", was in any::<bool>(), now in any::<bool>()) {
            let text = json!({a.clone(): {b.clone(): was}, "other": [1, {"x": null}]}).to_string();
            let path = [a.clone(), b.clone()];
            let bytes = assign(Some(text.as_bytes()), Dialect::StrictJson, &path, &json!(now)).unwrap();
            let mut expected: Value = serde_json::from_str(&text).unwrap();
            expected[&a][&b] = json!(now);
            prop_assert_eq!(read(&bytes, Dialect::StrictJson).unwrap(), expected);
        }
    }
}
