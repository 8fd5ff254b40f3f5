//! Why a file is not edited, and where in it.

/// A file that is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct EditRefusal {
    /// Which rule.
    pub kind: EditRefusalKind,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, without text of the file except cleaned names.
    pub message: String,
    /// JSON pointer to the value in question; empty for the document.
    pub pointer: String,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EditRefusalKind {
    /// It does not parse in its dialect.
    Syntax,
    /// A container has another type than what belongs into it, the root included.
    WrongShape,
    /// A key on the way appears twice, so that it is unclear which one the host reads.
    DuplicateKey,
    /// The name that we would insert is taken.
    KeyTaken,
    /// The edit would not come out as intended; a fault of ours, caught before anything is written.
    Internal,
}

impl EditRefusalKind {
    /// Short stable name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::WrongShape => "wrong-shape",
            Self::DuplicateKey => "duplicate-key",
            Self::KeyTaken => "key-taken",
            Self::Internal => "internal",
        }
    }
}

impl EditRefusal {
    pub(super) fn at(text: &str, offset: usize, kind: EditRefusalKind, message: &str, pointer: &str) -> Self {
        let (line, column) = position(text, offset);
        Self { kind, line, column, message: message.to_owned(), pointer: pointer.to_owned() }
    }
}

/// Line and column of a byte offset, both from 1. Lines end at `\n`, `\r\n` or a lone `\r`.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut before = text.get(..offset).unwrap_or(text);
    let mut line = 1;
    while let Some(at) = before.find(['\n', '\r']) {
        let is_pair = before[at..].starts_with("\r\n");
        before = &before[at + if is_pair { 2 } else { 1 }..];
        line += 1;
    }
    (line, before.chars().count() + 1)
}

/// A JSON pointer made of keys.
pub(super) fn pointer(keys: &[String]) -> String {
    keys.iter()
        .fold(String::new(), |path, key| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_every_kind_of_line_end() {
        let text = "a\r\nbé\rc\n\nd";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, text.find('é').unwrap() + 2), (2, 3));
        assert_eq!(position(text, text.find('c').unwrap()), (3, 1));
        assert_eq!(position(text, text.len()), (5, 2));
    }

    #[test]
    fn pointers_escape_their_separators() {
        assert_eq!(pointer(&["a/b".to_owned(), "c~".to_owned()]), "/a~1b/c~0");
    }
}
