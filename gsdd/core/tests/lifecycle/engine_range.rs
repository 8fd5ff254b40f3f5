//! The range grammar of `engines.gsd`, as small as it can be, so that the decision over `compatVersions` is tested
//! apart from the product's own reader.
//!
//! Source: manifest rules section 10.3.

use std::cmp::Ordering;

use gsdd_core::source::compat::compare_cores;

pub(crate) fn satisfies(host: &str, range: &str) -> bool {
    let host = host.trim();
    range
        .split("||")
        .filter(|alternative| !alternative.trim().is_empty())
        .any(|alternative| alternative.split_whitespace().all(|one| comparator(host, one).unwrap_or(false)))
}

fn comparator(host: &str, text: &str) -> Option<bool> {
    let operator =
        [">=", "<=", ">", "<", "=", "^", "~"].into_iter().find(|op| text.starts_with(op)).unwrap_or("");
    let rest = &text[operator.len()..];
    let rest = rest.strip_prefix('v').unwrap_or(rest).split(['-', '+']).next()?;
    let mut given: Vec<u128> = Vec::new();
    let mut wild = rest.is_empty();
    let parts: Vec<&str> = if rest.is_empty() { vec![] } else { rest.split('.').collect() };
    if parts.len() > 3 {
        return None;
    }
    for part in parts {
        match part {
            "x" | "X" | "*" => wild = true,
            digits if wild || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => {
                return None;
            }
            digits => given.push(digits.parse().ok()?),
        }
    }
    let count = given.len();
    let part = |index: usize| given.get(index).copied().unwrap_or(0);
    let dotted = |a: u128, b: u128, c: u128| format!("{a}.{b}.{c}");
    let order = compare_cores(host, &dotted(part(0), part(1), part(2)));
    let below = |upper: String| order.is_ge() && compare_cores(host, &upper) == Ordering::Less;
    Some(match operator {
        "" | "=" => match count {
            0 => true,
            1 => below(dotted(part(0) + 1, 0, 0)),
            2 => below(dotted(part(0), part(1) + 1, 0)),
            _ => order.is_eq(),
        },
        _ if count == 0 => return None,
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        "<" => order.is_lt(),
        "~" if count >= 2 => below(dotted(part(0), part(1) + 1, 0)),
        "~" => below(dotted(part(0) + 1, 0, 0)),
        _ if part(0) > 0 => below(dotted(part(0) + 1, 0, 0)),
        _ if part(1) > 0 => below(dotted(0, part(1) + 1, 0)),
        _ => below(dotted(0, 0, part(2) + 1)),
    })
}
