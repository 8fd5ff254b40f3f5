//! Durations as people write them: `500ms`, `5s`, `2m`, `1h`; a bare number means seconds.

use std::time::Duration;

/// Parses a duration; `None` if it is not one.
#[must_use]
pub fn parse(raw: &str) -> Option<Duration> {
    let raw = raw.trim();
    let digits = raw.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = raw.get(..digits)?.parse().ok()?;
    match raw.get(digits..)? {
        "ms" => Some(Duration::from_millis(number)),
        "" | "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("5s"), Some(Duration::from_secs(5)));
        assert_eq!(parse("2m"), Some(Duration::from_secs(120)));
        assert_eq!(parse("0"), Some(Duration::ZERO));
        for bad in ["", "s", "5 s", "-1s", "1d", "1.5s", "99999999999999999999s", "é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
