//! What is left behind when a folder becomes a bundle: caches and version control.
//!
//! Neither belongs to what a person approves: it changes by itself, can be executed without being looked at, and
//! makes two installs of one source differ.

/// Whether `path` is, or lies in, a cache that tools create beside sources.
#[must_use]
pub fn is_cache_entry(path: &[u8]) -> bool {
    let in_cache = components(path)
        .any(|name| [&b"__pycache__"[..], b".pytest_cache", b".mypy_cache", b".ruff_cache"].contains(&name));
    let name = components(path).next_back().unwrap_or_default();
    in_cache || has_extension(name, b".pyc") || has_extension(name, b".pyo")
}

/// Whether `path` is, or lies in, the folder of a version control system.
#[must_use]
pub fn is_vcs_entry(path: &[u8]) -> bool {
    components(path).any(is_vcs_name)
}

/// Whether one component is the folder of a version control system, in any case, or the short name of one.
pub(super) fn is_vcs_name(name: &[u8]) -> bool {
    [&b".git"[..], b".hg", b".svn", b".bzr", b".jj", b"git~1"]
        .iter()
        .any(|vcs| name.eq_ignore_ascii_case(vcs))
}

fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|b| *b == b'/').filter(|name| !name.is_empty())
}

fn has_extension(name: &[u8], extension: &[u8]) -> bool {
    name.len() > extension.len() && name[name.len() - extension.len()..].eq_ignore_ascii_case(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t35_caches_are_recognised_at_any_depth() {
        for path in ["__pycache__/m.pyc", "a/__pycache__", "a/.pytest_cache/x", "tools/legacy.pyc", "x.PYO"] {
            assert!(is_cache_entry(path.as_bytes()), "{path}");
        }
        for path in ["a.py", "pycache", ".pyc", "__pycache__2/x"] {
            assert!(!is_cache_entry(path.as_bytes()), "{path}");
        }
        assert!(is_vcs_entry(b"a/.Git/config"));
        assert!(!is_vcs_entry(b".gitignore"));
    }
}
