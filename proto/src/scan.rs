//! One pass over a JSON document that looks only at its shape: depth and repeated keys.
//!
//! Run on documents that already parsed. Repeated keys are refused because two readers may see two different documents
//! in one (threat T176); depth is bounded because some readers recurse.

/// Deepest nesting accepted.
pub(crate) const MAX_DEPTH: usize = 120;

/// Keys of one object up to this number are compared one by one, more through a set.
const FEW_KEYS: usize = 16;

/// What is wrong with the shape of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadShape {
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// An object has a key twice.
    DuplicateKey,
}

enum Level<'a> {
    Array,
    Object { keys: Keys<'a>, awaits_key: bool },
}

#[derive(Default)]
struct Keys<'a> {
    few: Vec<std::borrow::Cow<'a, [u8]>>,
    many: std::collections::HashSet<std::borrow::Cow<'a, [u8]>>,
}

impl<'a> Keys<'a> {
    /// Whether the key is new.
    fn insert(&mut self, key: std::borrow::Cow<'a, [u8]>) -> bool {
        if self.many.is_empty() && self.few.len() < FEW_KEYS {
            let fresh = !self.few.contains(&key);
            self.few.push(key);
            return fresh;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key)
    }
}

/// Checks a document that is valid JSON.
pub(crate) fn check(document: &[u8]) -> Result<(), BadShape> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = document.get(at) {
        match byte {
            b'{' | b'[' => {
                if levels.len() == MAX_DEPTH {
                    return Err(BadShape::TooDeep);
                }
                levels.push(if byte == b'[' {
                    Level::Array
                } else {
                    Level::Object { keys: Keys::default(), awaits_key: true }
                });
            }
            b'}' | b']' => {
                levels.pop();
            }
            b',' => {
                if let Some(Level::Object { awaits_key, .. }) = levels.last_mut() {
                    *awaits_key = true;
                }
            }
            b'"' => {
                let end = string_end(document, at);
                if let Some(Level::Object { keys, awaits_key }) = levels.last_mut()
                    && std::mem::take(awaits_key)
                    && !keys.insert(key(document.get(at..=end).unwrap_or_default()))
                {
                    return Err(BadShape::DuplicateKey);
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Index of the closing quote of the string that opens at `open`.
fn string_end(document: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(&byte) = document.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    document.len().saturating_sub(1)
}

/// The key itself: `"a"` and `"\u0061"` are the same one.
fn key(quoted: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let raw = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !raw.contains(&b'\\') {
        return raw.into();
    }
    match serde_json::from_slice::<String>(quoted) {
        Ok(text) => text.into_bytes().into(),
        Err(_) => raw.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t176_deep_documents_are_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(deep(MAX_DEPTH).as_bytes()), Ok(()));
        assert_eq!(check(deep(100_000).as_bytes()), Err(BadShape::TooDeep));
    }

    #[test]
    fn t176_repeated_keys_are_refused() {
        for bad in
            [r#"{"a":1,"a":2}"#, r#"[{"x":{"k":"}{","k":0}}]"#, r#"{"a":1,"\u0061":2}"#, r#"{"":1,"":1}"#]
        {
            assert_eq!(check(bad.as_bytes()), Err(BadShape::DuplicateKey), "{bad}");
        }
        for good in [
            r#"{"a":"a","b":{"a":1},"c":[{"a":1},{"a":2}]}"#,
            r#"["a","a"]"#,
            r#""a""#,
            r#"{"a\"":1,"a":2}"#,
            "7",
        ] {
            assert_eq!(check(good.as_bytes()), Ok(()), "{good}");
        }
        let many: Vec<String> = (0..100).map(|n| format!("\"k{n}\":0")).collect();
        assert_eq!(check(format!("{{{}}}", many.join(",")).as_bytes()), Ok(()));
        assert_eq!(check(format!("{{{},\"k3\":0}}", many.join(",")).as_bytes()), Err(BadShape::DuplicateKey));
    }
}
