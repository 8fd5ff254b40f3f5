//! Ranges of host versions.

use super::HostVersion;

/// A range of host versions: alternatives, each a list of half-open intervals that must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineRange {
    alternatives: Vec<Vec<Interval>>,
}

/// Why a text is not a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range has no alternative that any version could satisfy; write for example `>=1.6.0` or `^1.6`")]
pub struct UnreadableRange;

/// Versions from `from` up to, not including, `below`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    from: HostVersion,
    below: Option<HostVersion>,
}

impl EngineRange {
    /// Reads a range. An alternative that cannot be read is left out, as upstream does; a range without any
    /// readable alternative is refused instead of silently matching nothing.
    ///
    /// # Errors
    /// [`UnreadableRange`].
    pub fn parse(raw: &str) -> Result<Self, UnreadableRange> {
        let alternatives: Vec<_> =
            raw.split("||").filter(|text| !text.trim().is_empty()).filter_map(alternative).collect();
        if alternatives.is_empty() { Err(UnreadableRange) } else { Ok(Self { alternatives }) }
    }

    /// Reads a value of `compatVersions`: a range, where a bare full version means "this one or later".
    ///
    /// # Errors
    /// [`UnreadableRange`].
    pub fn parse_compat(raw: &str) -> Result<Self, UnreadableRange> {
        let text = raw.trim();
        match Partial::parse(text) {
            Some(Partial { given: 3, floor }) => {
                Ok(Self { alternatives: vec![vec![Interval { from: floor, below: None }]] })
            }
            Some(_) | None => Self::parse(text),
        }
    }

    /// Whether `host` is in the range.
    #[must_use]
    pub fn satisfies(&self, host: HostVersion) -> bool {
        self.alternatives.iter().any(|all| {
            all.iter()
                .all(|interval| host >= interval.from && interval.below.is_none_or(|below| host < below))
        })
    }
}

/// Whether `raw` passes upstream's shape test for ranges: known characters only, not blank, and a digit or a
/// lone wildcard.
///
/// Source: ADR-1244 D1 (`engines.gsd`).
#[must_use]
pub fn has_range_shape(raw: &str) -> bool {
    let known = |b: u8| b.is_ascii_alphanumeric() || b".-+ |<>=~^*()".contains(&b);
    raw.bytes().all(known)
        && (raw.bytes().any(|b| b.is_ascii_digit()) || matches!(raw.trim(), "*" | "x" | "X"))
}

/// A version of one to three parts, or a wildcard (no part given).
#[derive(Clone, Copy)]
struct Partial {
    /// Number of concrete parts, 0 to 3.
    given: u8,
    /// The version with missing parts as 0.
    floor: HostVersion,
}

impl Partial {
    fn parse(raw: &str) -> Option<Self> {
        let text = raw.strip_prefix('v').unwrap_or(raw);
        let core = text.split(['-', '+']).next().unwrap_or_default();
        let (mut numbers, mut given, mut wild) = ([0_u64; 3], 0_u8, false);
        for (index, part) in core.split('.').enumerate() {
            let slot = numbers.get_mut(index)?;
            if matches!(part, "x" | "X" | "*") {
                wild = true;
                continue;
            }
            if wild || part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            *slot = part.parse().unwrap_or(u64::MAX);
            given += 1;
        }
        let [major, minor, patch] = numbers;
        Some(Self { given, floor: HostVersion { major, minor, patch } })
    }

    /// First version after the ones that share the given parts; `None` when there is none.
    fn ceiling(self) -> Option<HostVersion> {
        let HostVersion { major, minor, patch } = self.floor;
        match self.given {
            0 => None,
            1 => Some(HostVersion::new(major.saturating_add(1), 0, 0)),
            2 => Some(HostVersion::new(major, minor.saturating_add(1), 0)),
            _ => Some(HostVersion::new(major, minor, patch.saturating_add(1))),
        }
    }

    fn caret_ceiling(self) -> HostVersion {
        let HostVersion { major, minor, patch } = self.floor;
        match (major, minor) {
            (0, 0) => HostVersion::new(0, 0, patch.saturating_add(1)),
            (0, _) => HostVersion::new(0, minor.saturating_add(1), 0),
            (_, _) => HostVersion::new(major.saturating_add(1), 0, 0),
        }
    }
}

const OPERATORS: [&str; 7] = [">=", "<=", ">", "<", "=", "^", "~"];

fn alternative(text: &str) -> Option<Vec<Interval>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut intervals = Vec::new();
    let mut rest = words.as_slice();
    while let [first, tail @ ..] = rest {
        // `a - b`
        if let [dash, last, after @ ..] = tail
            && *dash == "-"
        {
            let (low, high) = (Partial::parse(first)?, Partial::parse(last)?);
            intervals.push(Interval { from: low.floor, below: high.ceiling() });
            rest = after;
            continue;
        }
        // An operator that stands alone belongs to the next word.
        if OPERATORS.contains(first) {
            let [version, after @ ..] = tail else { return None };
            intervals.push(comparator(first, version)?);
            rest = after;
            continue;
        }
        let operator = OPERATORS.into_iter().find(|operator| first.starts_with(operator)).unwrap_or("");
        intervals.push(comparator(operator, first.get(operator.len()..).unwrap_or_default())?);
        rest = tail;
    }
    Some(intervals)
}

fn comparator(operator: &str, version: &str) -> Option<Interval> {
    let partial = Partial::parse(version)?;
    let lowest = HostVersion::default();
    let after = |version: HostVersion| HostVersion { patch: version.patch.saturating_add(1), ..version };
    Some(match operator {
        "" | "=" => Interval { from: partial.floor, below: partial.ceiling() },
        "^" => Interval { from: partial.floor, below: Some(partial.caret_ceiling()) },
        "~" if partial.given >= 2 => Interval {
            from: partial.floor,
            below: Some(HostVersion::new(partial.floor.major, partial.floor.minor.saturating_add(1), 0)),
        },
        "~" => Interval {
            from: partial.floor,
            below: Some(HostVersion::new(partial.floor.major.saturating_add(1), 0, 0)),
        },
        // A relation to a bare wildcard says nothing.
        _ if partial.given == 0 => return None,
        ">=" => Interval { from: partial.floor, below: None },
        ">" => Interval { from: after(partial.floor), below: None },
        "<" => Interval { from: lowest, below: Some(partial.floor) },
        "<=" => Interval { from: lowest, below: Some(after(partial.floor)) },
        _ => return None,
    })
}
