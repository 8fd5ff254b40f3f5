//! Names of files and folders inside a bundle.
//!
//! One strict rule set on every platform: a bundle that installs on one machine installs on all, and no name means
//! something else to another file system, shell or reader.

use std::fmt;

use super::unstaged::is_vcs_name;
use crate::text::is_hostile;

/// Longest component, in bytes.
pub const MAX_COMPONENT_BYTES: usize = 255;
/// Longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 1024;
/// Most components of a path.
pub const MAX_DEPTH: usize = 32;

/// A relative path with forward slashes that passed every rule of this module; it can be joined to a bundle root on
/// any platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Box<str>);

impl RelPath {
    /// Reads a path from text; the same as [`check_member`].
    ///
    /// # Errors
    /// [`MemberRefusal`].
    pub fn parse(raw: &str) -> Result<Self, MemberRefusal> {
        check_member(raw.as_bytes())
    }

    /// The path, components joined by `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The components; at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name is refused. The texts do not repeat the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum MemberRefusal {
    /// Nothing, or an empty component as in `a//b`.
    #[error("it has an empty component")]
    Empty,
    /// `.` or `./`: the root of the container itself. A reader may skip it when it is a directory.
    #[error("it names the root of the bundle")]
    Root,
    /// Not UTF-8.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// A C0 or C1 control, NUL and DEL included.
    #[error("it has a control character")]
    Control,
    /// A bidirectional control, an invisible character, a separator, private use.
    #[error("it has an invisible or text-reordering character")]
    Invisible,
    /// A backslash, which separates components on some platforms.
    #[error("it has a backslash")]
    Backslash,
    /// A colon: drives, alternate data streams.
    #[error("it has a colon")]
    Colon,
    /// A leading slash.
    #[error("it is absolute")]
    Absolute,
    /// A `..` component, even one that stays inside.
    #[error("it has a `..` component")]
    Parent,
    /// A `.` component after the start.
    #[error("it has a `.` component")]
    Current,
    /// A component that ends in a dot or a space.
    #[error("a component ends in a dot or a space")]
    TrailingDotOrSpace,
    /// A component that is a device on Windows.
    #[error("a component is a reserved device name")]
    DeviceName,
    /// Metadata of a version control system.
    #[error("it lies in the folder of a version control system")]
    VersionControl,
    /// Characters that file systems may compose with their neighbours.
    #[error("it is not in the composed Unicode form")]
    NotComposed,
    /// A component beyond 255 bytes, a path beyond 1024 bytes, or more than 32 components.
    #[error("it is too long or too deep")]
    TooLong,
}

/// Proves a member name. A leading `./` and one trailing `/` are dropped: archivers write them.
///
/// # Errors
/// [`MemberRefusal`] for the first rule that the name breaks.
pub fn check_member(path: &[u8]) -> Result<RelPath, MemberRefusal> {
    if path.len() > MAX_PATH_BYTES {
        return Err(MemberRefusal::TooLong);
    }
    let text = std::str::from_utf8(path).map_err(|_| MemberRefusal::NotUtf8)?;
    for c in text.chars() {
        if c.is_control() {
            return Err(MemberRefusal::Control);
        }
        if is_hostile(c) {
            return Err(MemberRefusal::Invisible);
        }
        if c == '\\' {
            return Err(MemberRefusal::Backslash);
        }
        if c == ':' {
            return Err(MemberRefusal::Colon);
        }
        if may_compose(c) {
            return Err(MemberRefusal::NotComposed);
        }
    }
    if text.starts_with('/') {
        return Err(MemberRefusal::Absolute);
    }
    if matches!(text, "." | "./") {
        return Err(MemberRefusal::Root);
    }
    let inner = text.strip_prefix("./").unwrap_or(text);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (depth, component) in inner.split('/').enumerate() {
        if depth >= MAX_DEPTH {
            return Err(MemberRefusal::TooLong);
        }
        check_component(component)?;
    }
    Ok(RelPath(inner.into()))
}

fn check_component(component: &str) -> Result<(), MemberRefusal> {
    match component {
        "" => return Err(MemberRefusal::Empty),
        "." => return Err(MemberRefusal::Current),
        ".." => return Err(MemberRefusal::Parent),
        _ => {}
    }
    if component.len() > MAX_COMPONENT_BYTES {
        return Err(MemberRefusal::TooLong);
    }
    if component.ends_with(['.', ' ']) {
        return Err(MemberRefusal::TrailingDotOrSpace);
    }
    if is_device_name(component) {
        return Err(MemberRefusal::DeviceName);
    }
    if is_vcs_name(component.as_bytes()) {
        return Err(MemberRefusal::VersionControl);
    }
    Ok(())
}

/// Whether Windows opens a device for this name, whatever its extension.
fn is_device_name(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_lowercase();
    if matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" | "clock$") {
        return true;
    }
    let Some(port) = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt")) else {
        return false;
    };
    let mut characters = port.chars();
    matches!((characters.next(), characters.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}

/// Whether a character can merge with a neighbour or stand for another one under Unicode normalisation: the common
/// combining marks, conjoining Hangul, Kana sound marks, letter-like signs, compatibility ideographs. Without the
/// full tables this refuses a few names that are composed, and does not see twins of Indic two-part vowels.
fn may_compose(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036f | 0x1100..=0x11ff | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff
        | 0x2126 | 0x212a | 0x212b | 0x2329 | 0x232a | 0x3099 | 0x309a | 0xa960..=0xa97f
        | 0xd7b0..=0xd7ff | 0xf900..=0xfaff | 0xfe20..=0xfe2f | 0x2f800..=0x2fa1f)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn refused(path: &str, why: MemberRefusal) {
        assert_eq!(check_member(path.as_bytes()), Err(why), "{path:?}");
    }

    #[track_caller]
    fn accepted(path: &str, clean: &str) {
        assert_eq!(check_member(path.as_bytes()).unwrap().as_str(), clean, "{path:?}");
    }

    #[test]
    fn ordinary_names_pass() {
        for name in [
            "capability.json",
            "package/hooks/a.sh",
            "a -> b",
            ".hidden",
            "we ird '\"$(x);`y`.md",
            "skills/été/SKILL.md",
            "console.log",
            "common",
            "com10",
            ".github/x",
            ".gitignore",
            "a..b",
            "...a",
        ] {
            accepted(name, name);
        }
        accepted("./a/b/", "a/b");
    }

    #[test]
    fn t01_absolute_member_path() {
        refused("/etc/cron.d/x", MemberRefusal::Absolute);
        refused("//srv/x", MemberRefusal::Absolute);
    }

    #[test]
    fn t02_parent_traversal() {
        for path in ["package/../../x", "a/..", "./../x", ".."] {
            refused(path, MemberRefusal::Parent);
        }
        refused("a/./b", MemberRefusal::Current);
        refused("a//b", MemberRefusal::Empty);
        refused("", MemberRefusal::Empty);
        refused("./", MemberRefusal::Root);
    }

    #[test]
    fn t03_backslash() {
        refused("..\\x", MemberRefusal::Backslash);
        refused("a\\b", MemberRefusal::Backslash);
    }

    #[test]
    fn t04_drive_and_device_prefixes() {
        refused("C:x", MemberRefusal::Colon);
        refused("\\\\?\\C:\\x", MemberRefusal::Backslash);
    }

    #[test]
    fn t18_reserved_names() {
        for path in ["CON", "nul.txt", "COM1", "a/LPT9.x", "com¹", "Aux .md", "CONIN$"] {
            refused(path, MemberRefusal::DeviceName);
        }
    }

    #[test]
    fn t19_streams() {
        refused("a:stream", MemberRefusal::Colon);
        refused(".git::$INDEX_ALLOCATION", MemberRefusal::Colon);
    }

    #[test]
    fn t20_trailing_dot_or_space() {
        refused("x. ", MemberRefusal::TrailingDotOrSpace);
        refused("x./y", MemberRefusal::TrailingDotOrSpace);
    }

    #[test]
    fn t21_t22_controls() {
        refused("a\0b", MemberRefusal::Control);
        refused("a\u{1b}[31m\nb", MemberRefusal::Control);
        refused("a\u{9b}", MemberRefusal::Control);
    }

    #[test]
    fn t23_invisible_and_reordering() {
        refused("a\u{202e}gpj.exe", MemberRefusal::Invisible);
        refused("a\u{200b}", MemberRefusal::Invisible);
        refused("a\u{2028}", MemberRefusal::Invisible);
    }

    #[test]
    fn t24_names_that_are_not_utf8() {
        assert_eq!(check_member(&[0xff, 0xfe]), Err(MemberRefusal::NotUtf8));
    }

    #[test]
    fn t16_names_that_are_not_composed() {
        refused("skills/e\u{301}te\u{301}/SKILL.md", MemberRefusal::NotComposed);
        refused("\u{212a}", MemberRefusal::NotComposed);
    }

    #[test]
    fn t25_long_and_deep_names() {
        accepted(&"n".repeat(255), &"n".repeat(255));
        refused(&"n".repeat(256), MemberRefusal::TooLong);
        let deep = ["d"; 32].join("/");
        accepted(&deep, &deep);
        refused(&format!("{deep}/d"), MemberRefusal::TooLong);
        refused(&["nn"; 400].join("/"), MemberRefusal::TooLong);
        let long = |lengths: [usize; 5]| lengths.map(|length| "n".repeat(length)).join("/");
        let longest = long([255, 255, 255, 254, 1]);
        assert_eq!(longest.len(), 1024);
        accepted(&longest, &longest);
        refused(&long([255, 255, 255, 255, 1]), MemberRefusal::TooLong);
    }

    #[test]
    fn t33_version_control_folders() {
        for path in [".git/config", "a/.GIT/x", ".git", ".hg/x", ".svn", ".bzr", ".jj", "git~1/x"] {
            refused(path, MemberRefusal::VersionControl);
        }
    }

    proptest! {
        /// Whatever is accepted stays below the root and survives being checked again.
        #[test]
        fn accepted_names_are_confined_and_stable(path in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(clean) = check_member(&path) {
                prop_assert_eq!(check_member(clean.as_str().as_bytes()), Ok(clean.clone()));
                prop_assert!(clean.components().all(|part| !part.is_empty() && part != "." && part != ".."));
                prop_assert!(!clean.as_str().starts_with('/'));
            }
        }
    }
}
