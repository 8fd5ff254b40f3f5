//! Command words of the host, which no installed family may take.
//!
//! Source: overlay model, "First-party always wins": an installed capability can only add, never override.

/// The words, sorted.
pub static BUILT_IN_WORDS: &[&str] = &[
    "capability",
    "check",
    "completions",
    "config",
    "config-get",
    "config-set",
    "consent",
    "current-timestamp",
    "daemon",
    "disable",
    "doctor",
    "enable",
    "explain",
    "hash",
    "help",
    "hook",
    "inspect",
    "install",
    "ledger",
    "list",
    "lock",
    "loop",
    "man",
    "matrix",
    "mcp",
    "new",
    "outdated",
    "pack",
    "policy",
    "publish",
    "query",
    "reconcile",
    "registry",
    "remove",
    "rollback",
    "run",
    "runtime",
    "search",
    "set",
    "show",
    "source",
    "state",
    "surface",
    "sync",
    "trust",
    "uninstall",
    "update",
    "validate",
    "version",
];

/// Whether `family` is a command word of the host, in any case.
#[must_use]
pub fn is_built_in_word(family: &str) -> bool {
    BUILT_IN_WORDS.binary_search(&family.to_ascii_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted() {
        assert!(BUILT_IN_WORDS.is_sorted());
        assert!(is_built_in_word("Capability") && !is_built_in_word("acme"));
    }
}
