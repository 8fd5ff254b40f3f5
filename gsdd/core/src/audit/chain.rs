//! Binding a line to the one before it, and finding where that does not hold.

use serde_json::{Map, Value};

use super::event::Event;
use crate::json::parse_strict;
use crate::trust::canonical_json::canonical;
use crate::trust::sha256;

/// The line that the next one is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number, from 1.
    pub seq: u64,
    /// Its digest, `sha256:<64 hex>`.
    pub hash: String,
}

impl Link {
    /// Reads the link of a line; `None` when it is not a line of an audit log, or was changed.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        read(line).ok().map(|read| read.link)
    }
}

/// Writes an event as the line after `last`, without a line break. `time` is RFC 3339 in UTC.
#[must_use]
pub fn seal(event: &Event, time: &str, last: Option<&Link>) -> (String, Link) {
    let seq = last.map_or(0, |link| link.seq) + 1;
    let mut members = Map::new();
    members.insert("seq".to_owned(), seq.into());
    members.insert("time".to_owned(), time.into());
    members.extend(event.members());
    members.insert("prev".to_owned(), last.map(|link| link.hash.as_str()).unwrap_or_default().into());
    let hash = digest(&members);
    members.insert("hash".to_owned(), hash.as_str().into());
    (Value::Object(members).to_string(), Link { seq, hash })
}

/// Digest of a line without its own.
fn digest(members: &Map<String, Value>) -> String {
    sha256(canonical(&Value::Object(members.clone())).as_bytes())
}

/// Why a line does not belong where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is no line of an audit log.
    #[error("it is not a line of an audit log")]
    NotALine,
    /// Its digest is not that of its text.
    #[error("its text was changed")]
    Changed,
    /// It is not bound to the line before it.
    #[error("it does not follow the line before it: a line was put in, left out or moved")]
    NotNext,
}

/// Where the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Line over all files, from 1.
    pub line: u64,
    /// What number the line should have.
    pub expected_seq: Option<u64>,
    /// Why.
    pub why: Why,
}

/// What was found of a whole chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines that were read.
    pub lines: u64,
    /// Number of the first line; above 1 where older ones were dropped with their file.
    pub first_seq: Option<u64>,
    /// The last line that holds.
    pub last: Option<Link>,
    /// Where it does not hold, in order; at most [`Chain::MAX_BROKEN`].
    pub broken: Vec<Broken>,
    /// Whether the digest that was looked for is that of a line.
    pub has_wanted: bool,
}

struct Read {
    link: Link,
    prev: String,
}

fn read(line: &str) -> Result<Read, Why> {
    let Ok(Value::Object(mut members)) = parse_strict(line.as_bytes()) else { return Err(Why::NotALine) };
    let hash = members.shift_remove("hash").and_then(|hash| hash.as_str().map(str::to_owned));
    let seq = members.get("seq").and_then(Value::as_u64);
    let prev = members.get("prev").and_then(Value::as_str).map(str::to_owned);
    let (Some(hash), Some(seq), Some(prev)) = (hash, seq, prev) else { return Err(Why::NotALine) };
    if digest(&members) != hash {
        return Err(Why::Changed);
    }
    Ok(Read { link: Link { seq, hash }, prev })
}

/// Verifies lines in order, oldest first, over all files of a log.
#[derive(Debug, Default)]
pub struct Chain {
    wanted: Option<String>,
    found: Summary,
}

impl Chain {
    /// Most breaks that are told.
    pub const MAX_BROKEN: usize = 20;

    /// A verification that also looks for the line with the digest `wanted`: whoever noted it down proves with it that
    /// nothing was cut off the end since.
    #[must_use]
    pub fn new(wanted: Option<&str>) -> Self {
        Self { wanted: wanted.map(str::to_owned), found: Summary::default() }
    }

    /// Takes the next line.
    pub fn feed(&mut self, line: &str) {
        self.found.lines += 1;
        let expected_seq = self.found.last.as_ref().map(|link| link.seq + 1);
        let why = match read(line) {
            Err(why) => Some(why),
            Ok(read) => {
                let follows = match &self.found.last {
                    Some(last) => read.prev == last.hash && read.link.seq == last.seq + 1,
                    // The oldest line that is left may follow one that was dropped with its file.
                    None => self.found.lines == 1 && (read.link.seq > 1) != read.prev.is_empty(),
                };
                self.found.first_seq.get_or_insert(read.link.seq);
                self.found.has_wanted |= self.wanted.as_ref() == Some(&read.link.hash);
                // Goes on from here: one break is told once.
                self.found.last = Some(read.link);
                (!follows).then_some(Why::NotNext)
            }
        };
        if let Some(why) = why.filter(|_| self.found.broken.len() < Self::MAX_BROKEN) {
            self.found.broken.push(Broken { line: self.found.lines, expected_seq, why });
        }
    }

    /// What was found.
    #[must_use]
    pub fn end(self) -> Summary {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::Happening;

    fn log(count: usize) -> Vec<String> {
        let mut last = None;
        (0..count)
            .map(|at| {
                let mut event = Event::new(Happening::ALL[at % Happening::ALL.len()]);
                event.id = format!("acme-{at}");
                event.detail = "two\nlines \u{202e}".to_owned();
                let (line, link) = seal(&event, "2026-01-01T00:00:00.000Z", last.as_ref());
                last = Some(link);
                line
            })
            .collect()
    }

    fn judged(lines: &[String]) -> Summary {
        let mut chain = Chain::new(None);
        lines.iter().for_each(|line| chain.feed(line));
        chain.end()
    }

    #[test]
    fn a_whole_chain_holds_and_so_does_one_whose_oldest_file_is_gone() {
        let lines = log(20);
        assert!(lines.iter().all(|line| !line.contains('\n') && !line.contains('\u{202e}')));
        let whole = judged(&lines);
        assert_eq!((whole.lines, whole.first_seq, whole.broken.len()), (20, Some(1), 0));
        let rest = judged(&lines[7..]);
        assert_eq!((rest.first_seq, rest.broken.len(), rest.last), (Some(8), 0, whole.last.clone()));
        assert_eq!(Link::of(&lines[19]), whole.last);
        assert_eq!(judged(&[]), Summary::default());
        let mut looking = Chain::new(whole.last.as_ref().map(|link| link.hash.as_str()));
        lines.iter().for_each(|line| looking.feed(line));
        assert!(looking.end().has_wanted);
        let mut cut = Chain::new(whole.last.as_ref().map(|link| link.hash.as_str()));
        lines[..19].iter().for_each(|line| cut.feed(line));
        assert!(!cut.end().has_wanted);
    }

    #[test]
    fn what_was_done_to_a_line_is_told() {
        let lines = log(5);
        let broken =
            |lines: &[String]| judged(lines).broken.iter().map(|it| (it.line, it.why)).collect::<Vec<_>>();
        let mut edited = lines.clone();
        edited[2] = edited[2].replace("acme-2", "acme-3");
        assert_eq!(broken(&edited), [(3, Why::Changed), (4, Why::NotNext)]);
        let mut dropped = lines.clone();
        dropped.remove(2);
        assert_eq!(broken(&dropped), [(3, Why::NotNext)]);
        let mut doubled = lines.clone();
        doubled.insert(2, lines[1].clone());
        assert_eq!(broken(&doubled), [(3, Why::NotNext)]);
        let mut swapped = lines.clone();
        swapped.swap(1, 2);
        assert_eq!(broken(&swapped).len(), 3);
        let mut garbage = lines;
        garbage.insert(0, "x".to_owned());
        assert_eq!(broken(&garbage), [(1, Why::NotALine), (2, Why::NotNext)]);
    }

    proptest! {
        /// Any flipped bit of any line is found.
        #[test]
        fn t144_a_flipped_bit_is_found(line in 0_usize..8, at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let mut lines = log(8);
            let mut bytes = lines[line].clone().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            lines[line] = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert!(!judged(&lines).broken.is_empty());
        }

        #[test]
        fn any_text_can_be_fed(lines in prop::collection::vec("\\PC{0,60}", 0..5)) {
            let summary = judged(&lines);
            prop_assert_eq!(summary.lines as usize, lines.len());
        }
    }
}
