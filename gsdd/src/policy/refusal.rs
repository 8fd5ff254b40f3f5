//! What a caller is told when a rule objects: what, by which rule, and where that stands.

use gsd_proto::{Code, WireError};
use gsdd_core::policy::{Key, Objection};

/// The refusal of `what`, with the place of the rule.
pub(crate) fn refused(code: Code, what: impl Into<String>, objection: &Objection) -> WireError {
    let rule = &objection.rule;
    let key = rule.key.name();
    let why = if rule.key == Key::File || objection.why.contains(key) {
        objection.why.clone()
    } else {
        format!("`{key}`: {}", objection.why)
    };
    let mut error =
        WireError::new(code, what).caused_by(format!("{why} ({})", rule.place)).at_file(&rule.place.file);
    error.where_.get_or_insert_default().line = rule.place.line;
    if rule.is_unusable() {
        error.with_fix("repair that file, or ask whoever keeps it", &[])
    } else {
        error.with_fix("ask whoever keeps that file", &[])
    }
}

/// The refusal of a source or of an address on the way to it; `told` is cleaned.
pub(crate) fn source_refused(told: &str, objection: &Objection) -> WireError {
    refused(Code::PolicySourceBlocked, format!("nothing may be installed from {told}"), objection)
        .with_fix("see every rule and where it stands", &["gsdctl", "policy", "show"])
}
