//! Names from a manifest that become file names and paths.
//!
//! Source: ADR-1244 D5 rule 5 (path traversal), ADR-1016 D9 (write-confinement), decision D-19.

use crate::text::is_hostile;

/// Longest name that is accepted as a file name, in bytes.
const MAX_STEM_BYTES: usize = 128;

/// Names that Windows gives to devices, with any extension.
const DEVICE_NAMES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Whether `raw` can be the name of a file or folder on every platform, and has no twin that another spelling of
/// the same characters would make: one path segment without control, invisible or combining characters.
#[must_use]
pub fn is_safe_stem(raw: &str) -> bool {
    !raw.is_empty()
        && raw.len() <= MAX_STEM_BYTES
        && !raw.starts_with(['.', '-', ' '])
        && !raw.ends_with(['.', ' '])
        && !raw.chars().any(|c| {
            matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
                || is_hostile(c)
                || is_combining(c)
        })
        && !is_device_name(raw)
}

/// Whether `raw` is a relative path inside a bundle: `[A-Za-z0-9._/-]` only, not absolute, no `..` segment, no
/// segment that starts with a hyphen.
#[must_use]
pub fn is_safe_bundle_path(raw: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._/-".contains(&b);
    raw.bytes().all(plain)
        && !raw.starts_with('/')
        && raw.split('/').all(|segment| segment != ".." && !segment.starts_with('-'))
}

/// Whether `raw`, joined to some root, could name a place outside it, on any platform.
#[must_use]
pub fn leaves_root(raw: &str) -> bool {
    has_absolute_form(raw) || raw.split(['/', '\\']).any(|segment| segment == "..")
}

/// Whether `raw`, joined to some root and resolved, is a place outside it, on any platform. Unlike [`leaves_root`]
/// it allows `a/../b`.
#[must_use]
pub fn escapes_root(raw: &str) -> bool {
    let mut depth = 0_usize;
    for segment in raw.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    has_absolute_form(raw)
}

fn has_absolute_form(raw: &str) -> bool {
    let drive = raw.as_bytes().get(1) == Some(&b':') && raw.starts_with(|c: char| c.is_ascii_alphabetic());
    drive || raw.starts_with(['/', '\\']) || raw.contains('\0')
}

fn is_device_name(raw: &str) -> bool {
    let stem = raw.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICE_NAMES.contains(&stem.as_str())
        || numbered.is_some_and(|n| n.len() == 1 && n != "0" && n.parse::<u8>().is_ok())
}

/// Whether a character joins with the one before it, or is only another code for a common letter; without these,
/// two different names cannot look and compare the same after Unicode normalisation.
fn is_combining(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5c7 | 0x610..=0x61a | 0x64b..=0x65f | 0x1100..=0x11ff
        | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0x2126 | 0x212a | 0x212b | 0x3099 | 0x309a
        | 0xa960..=0xa97f | 0xd7b0..=0xd7ff | 0xf900..=0xfaff | 0xfe20..=0xfe2f | 0x2f800..=0x2fa1f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_one_harmless_segment() {
        for good in ["lint", "a.b", "a_b-c", "Überblick", "数", "console", "com10", "x y"] {
            assert!(is_safe_stem(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "C:x",
            "\0",
            "a\nb",
            "con",
            "NUL.txt",
            "com1",
            "-rf",
            ".git",
            "a.",
            "a ",
            "e\u{301}",
            "\u{202e}x",
            "a\u{200b}",
            "\u{212b}",
        ] {
            assert!(!is_safe_stem(bad), "{bad:?}");
        }
    }

    #[test]
    fn t46_t102_t126_paths_stay_in_the_bundle() {
        assert!(is_safe_bundle_path("hooks/a.sh") && is_safe_bundle_path("./a//b/"));
        assert!(!is_safe_bundle_path("/a") && !is_safe_bundle_path("a/../b") && !is_safe_bundle_path("a/-b"));
        assert!(
            escapes_root("a/../../b") && escapes_root("/a") && !escapes_root("a/../b") && !escapes_root(".")
        );
        assert!(
            leaves_root("C:\\x") && leaves_root("a\\..\\b") && leaves_root("/x") && !leaves_root("a..b/c")
        );
    }
}
