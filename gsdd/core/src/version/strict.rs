//! Full SemVer 2.0.0, with numbers of any length.

/// Whether `raw` is a full SemVer 2.0.0 version: three numbers without leading zeros, an optional prerelease, an
/// optional build. No `v`, no blanks, no bound on the numbers.
#[must_use]
pub fn is_full_semver(raw: &str) -> bool {
    let (rest, build) = match raw.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (raw, None),
    };
    let (core, prerelease) = match rest.split_once('-') {
        Some((core, prerelease)) => (core, Some(prerelease)),
        None => (rest, None),
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && prerelease.is_none_or(|text| text.split('.').all(|id| is_identifier(id) && !has_leading_zero(id)))
        && build.is_none_or(|text| text.split('.').all(is_identifier))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    is_digits(text) && !has_leading_zero(text)
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && is_digits(text)
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
