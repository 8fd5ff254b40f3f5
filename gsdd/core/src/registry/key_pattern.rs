//! Patterns of central config keys: a small, anchored part of regular expressions.
//!
//! Known are literals, `\.` and other escaped signs, classes such as `[a-zA-Z0-9_-]` with an optional `+`, and
//! groups with alternatives. Matching keeps a set of positions, so no key can make it slow.

/// One pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    source: String,
    alternatives: Vec<Vec<Node>>,
}

/// Why a text is not a pattern of this kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key pattern uses a form that is not known here")]
pub struct InvalidPattern;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Literal(u8),
    Class { ranges: Vec<(u8, u8)>, repeated: bool },
    Group(Vec<Vec<Node>>),
}

/// Deepest nesting of groups.
const MAX_GROUPS: usize = 16;

impl KeyPattern {
    /// Reads a pattern; it begins with `^` and ends with `$`.
    ///
    /// # Errors
    /// [`InvalidPattern`].
    pub fn parse(source: &str) -> Result<Self, InvalidPattern> {
        let inner = source.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')).ok_or(InvalidPattern)?;
        let mut parser = Parser { bytes: inner.as_bytes(), at: 0 };
        let alternatives = parser.alternatives(0)?;
        if parser.at != parser.bytes.len() {
            return Err(InvalidPattern);
        }
        Ok(Self { source: source.to_owned(), alternatives })
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether the whole key matches.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        let key = key.as_bytes();
        // Most keys differ from most patterns in their first letters.
        let possible = self.alternatives.iter().filter(|nodes| may_start(nodes, key));
        possible.into_iter().any(|nodes| run(nodes, key, &[0]).contains(&key.len()))
    }
}

/// Whether the literals that an alternative begins with are those that the key begins with.
fn may_start(nodes: &[Node], key: &[u8]) -> bool {
    let literals = nodes.iter().map_while(|node| match node {
        Node::Literal(byte) => Some(byte),
        Node::Class { .. } | Node::Group(_) => None,
    });
    literals.enumerate().all(|(at, byte)| key.get(at) == Some(byte))
}

/// Positions after any of the alternatives, from any of the positions `from`; sorted, without repeats.
fn run_any(alternatives: &[Vec<Node>], key: &[u8], from: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = alternatives.iter().flat_map(|nodes| run(nodes, key, from)).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn run(nodes: &[Node], key: &[u8], from: &[usize]) -> Vec<usize> {
    let mut positions = from.to_vec();
    for node in nodes {
        if positions.is_empty() {
            break;
        }
        positions = match node {
            Node::Literal(byte) => advance(&positions, |at| key.get(at) == Some(byte)),
            Node::Class { ranges, repeated } => {
                let fits = |at: usize| {
                    key.get(at)
                        .is_some_and(|byte| ranges.iter().any(|(low, high)| (low..=high).contains(&byte)))
                };
                if *repeated { repeat(&positions, fits) } else { advance(&positions, fits) }
            }
            Node::Group(alternatives) => run_any(alternatives, key, &positions),
        };
    }
    positions
}

fn advance(positions: &[usize], fits: impl Fn(usize) -> bool) -> Vec<usize> {
    positions.iter().copied().filter(|at| fits(*at)).map(|at| at + 1).collect()
}

/// Every position after one or more fitting bytes; each byte is looked at once.
fn repeat(positions: &[usize], fits: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::new();
    for start in positions {
        let mut at = (*start).max(out.last().copied().unwrap_or(0));
        while fits(at) {
            at += 1;
            out.push(at);
        }
    }
    out
}

struct Parser<'p> {
    bytes: &'p [u8],
    at: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<u8, InvalidPattern> {
        let byte = self.bytes.get(self.at).copied().ok_or(InvalidPattern)?;
        self.at += 1;
        Ok(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn alternatives(&mut self, depth: usize) -> Result<Vec<Vec<Node>>, InvalidPattern> {
        if depth > MAX_GROUPS {
            return Err(InvalidPattern);
        }
        let mut all = vec![Vec::new()];
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if byte == b')' {
                break;
            }
            self.at += 1;
            let node = match byte {
                b'|' => {
                    all.push(Vec::new());
                    continue;
                }
                b'(' => {
                    let group = self.alternatives(depth + 1)?;
                    if !self.eat(b')') {
                        return Err(InvalidPattern);
                    }
                    Node::Group(group)
                }
                b'[' => self.class()?,
                b'\\' => match self.next()? {
                    sign if sign.is_ascii_punctuation() => Node::Literal(sign),
                    _ => return Err(InvalidPattern),
                },
                b'.' | b'*' | b'+' | b'?' | b'{' | b'}' | b'^' | b'$' | b']' => return Err(InvalidPattern),
                plain => Node::Literal(plain),
            };
            all.last_mut().ok_or(InvalidPattern)?.push(node);
        }
        Ok(all)
    }

    fn class(&mut self) -> Result<Node, InvalidPattern> {
        let mut ranges = Vec::new();
        loop {
            let low = match self.next()? {
                b']' => break,
                b'\\' => self.next()?,
                b'^' if ranges.is_empty() => return Err(InvalidPattern),
                plain => plain,
            };
            let range_follows = self.bytes.get(self.at) == Some(&b'-')
                && self.bytes.get(self.at + 1).is_some_and(|after| *after != b']');
            if range_follows {
                self.at += 1;
                ranges.push((low, self.next()?));
            } else {
                ranges.push((low, low));
            }
        }
        let repeated = self.eat(b'+');
        Ok(Node::Class { ranges, repeated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, key: &str, expected: bool) {
        assert_eq!(KeyPattern::parse(pattern).unwrap().matches(key), expected, "{pattern} {key}");
    }

    #[test]
    fn the_forms_in_use_match() {
        check(r"^agent_skills\.[a-zA-Z0-9_-]+$", "agent_skills.a-B_9", true);
        check(r"^agent_skills\.[a-zA-Z0-9_-]+$", "agent_skills.", false);
        check(r"^agent_skills\.[a-zA-Z0-9_-]+$", "agent_skills.a.b", false);
        check(r"^agent_skills\.[a-zA-Z0-9_-]+$", "xagent_skills.a", false);
        check(r"^d\.(on|tier\.(low|high))$", "d.tier.high", true);
        check(r"^d\.(on|tier\.(low|high))$", "d.tier", false);
        check(r"^o\.[a-z]+\.(opus|sonnet)$", "o.x.sonnet", true);
        check(r"^[a-z]+[a-z]+b$", &format!("{}b", "a".repeat(100_000)), true);
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["a", "^a", "^a*$", "^.$", "^(a$", "^[^a]$", "^a)$", r"^\d$", "^[a$", "^a?$"] {
            assert!(KeyPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
