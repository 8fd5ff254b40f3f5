//! Differences between two texts, for people: unified, bounded.

use similar::TextDiff;

/// Lines that may differ on one side for a difference to be worked out; beyond that it is only counted. Keeps the
/// quadratic worst case below a fraction of a second.
const MAX_DIFFERING: usize = 2_000;
/// Lines of a difference that are kept.
const MAX_SHOWN: usize = 400;
/// Bytes of a line that are kept.
const MAX_LINE: usize = 1_000;
/// Lines around a change.
const CONTEXT: usize = 3;

/// The difference in unified form without file headers, not cleaned; `None` when both are equal. What is not text is
/// compared by size, and very large differences are counted.
#[must_use]
pub fn unified(before: Option<&[u8]>, after: Option<&[u8]>) -> Option<String> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    if before == after {
        return None;
    }
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        return Some(format!("not text: {} bytes before, {} bytes now\n", before.len(), after.len()));
    };
    let (removed, added) = differing(old, new);
    if removed > MAX_DIFFERING || added > MAX_DIFFERING {
        return Some(format!("too much to show: {removed} lines give way to {added}\n"));
    }
    let whole = TextDiff::from_lines(old, new).unified_diff().context_radius(CONTEXT).to_string();
    let mut lines = whole.split_inclusive('\n');
    let mut kept: String = lines.by_ref().take(MAX_SHOWN).map(cut).collect();
    let rest = lines.count();
    if rest > 0 {
        kept.push_str(&format!("… and {rest} more lines\n"));
    }
    Some(kept)
}

fn cut(line: &str) -> String {
    match line.get(..line.floor_char_boundary(MAX_LINE)) {
        Some(head) if head.len() < line.len() => format!("{head}…\n"),
        _ => line.to_owned(),
    }
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Lines of both sides between what they have in common at the start and at the end.
fn differing(old: &str, new: &str) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(left, right)| left == right).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(left, right)| left == right).count();
    (old.len() - tail, new.len() - tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changed_lines_stand_in_their_surroundings() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\n";
        let diff = unified(Some(old.as_bytes()), Some(new.as_bytes())).unwrap();
        assert_eq!(diff, "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n");
        assert_eq!(unified(Some(b"x"), Some(b"x")), None);
        assert_eq!(unified(None, Some(b"x\n")).unwrap(), "@@ -0,0 +1 @@\n+x\n");
    }

    #[test]
    fn what_is_not_text_and_what_is_too_much_is_counted() {
        assert_eq!(unified(Some(b"a\0"), Some(b"abc")).unwrap(), "not text: 2 bytes before, 3 bytes now\n");
        let many = |word: &str| (0..3_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let counted = unified(Some(many("a").as_bytes()), Some(many("b").as_bytes())).unwrap();
        assert_eq!(counted, "too much to show: 3000 lines give way to 3000\n");
        let wide = unified(None, Some("é".repeat(9_000).as_bytes())).unwrap();
        assert!(wide.len() < 1_100 && wide.contains("…\n"), "{}", wide.len());
        let long = unified(None, Some((0..1_000).map(|n| format!("{n}\n")).collect::<String>().as_bytes()));
        assert!(long.unwrap().ends_with("… and 601 more lines\n"));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_bounded_difference(
            old in prop::collection::vec(any::<u8>(), 0..400),
            new in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let diff = unified(Some(&old), Some(&new));
            prop_assert_eq!(diff.is_none(), old == new);
            prop_assert!(diff.unwrap_or_default().lines().count() <= MAX_SHOWN + 1 + 800);
        }
    }
}
