//! Where a value stands in its text.

use std::collections::HashMap;

use super::cursor::{Cursor, Fault};

/// Line and column (both from 1, the column in characters) of the value that `pointer` names; `None` when the
/// text is not JSON up to there or has no such value.
#[must_use]
pub fn locate(text: &str, pointer: &str) -> Option<(u32, u32)> {
    locate_all(text, &[pointer]).pop().flatten()
}

/// [`locate`] for many pointers in one walk over the text.
#[must_use]
pub fn locate_all(text: &str, pointers: &[&str]) -> Vec<Option<(u32, u32)>> {
    let mut root = Wanted::default();
    for (index, pointer) in pointers.iter().enumerate() {
        root.add(pointer, index);
    }
    let mut offsets = vec![None; pointers.len()];
    // Whatever was found before a fault stands.
    let _walked = walk(&mut Cursor::new(text), Some(&root), &mut offsets, 0);
    to_lines(text, &offsets)
}

/// The pointers of interest as a tree, so that subtrees without one are stepped over.
#[derive(Default)]
struct Wanted {
    here: Vec<usize>,
    below: HashMap<String, Wanted>,
}

impl Wanted {
    fn add(&mut self, pointer: &str, index: usize) {
        let mut node = self;
        for token in pointer.split('/').skip(1) {
            node = node.below.entry(token.replace("~1", "/").replace("~0", "~")).or_default();
        }
        node.here.push(index);
    }
}

fn walk(
    cursor: &mut Cursor<'_>,
    wanted: Option<&Wanted>,
    offsets: &mut [Option<usize>],
    depth: usize,
) -> Result<(), Fault> {
    let opening = cursor.peek_token()?;
    for index in wanted.into_iter().flat_map(|node| &node.here) {
        if let Some(slot) = offsets.get_mut(*index) {
            *slot = Some(cursor.offset());
        }
    }
    match opening {
        b'{' => {
            cursor.open(depth + 1)?;
            if cursor.close(b'}')? {
                return Ok(());
            }
            loop {
                let key = cursor.key()?;
                walk(cursor, wanted.and_then(|node| node.below.get(&key)), offsets, depth + 1)?;
                if !cursor.more(b'}')? {
                    return Ok(());
                }
            }
        }
        b'[' => {
            cursor.open(depth + 1)?;
            if cursor.close(b']')? {
                return Ok(());
            }
            let mut position = 0_usize;
            loop {
                let inner = wanted
                    .filter(|node| !node.below.is_empty())
                    .and_then(|node| node.below.get(position.to_string().as_str()));
                walk(cursor, inner, offsets, depth + 1)?;
                position += 1;
                if !cursor.more(b']')? {
                    return Ok(());
                }
            }
        }
        b'"' => cursor.string().map(|_| ()),
        _ => cursor.scalar().map(|_| ()),
    }
}

/// Line and column of a byte offset.
pub(super) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    to_lines(text, &[Some(offset)]).pop().flatten().unwrap_or((1, 1))
}

fn to_lines(text: &str, offsets: &[Option<usize>]) -> Vec<Option<(u32, u32)>> {
    let mut order: Vec<(usize, usize)> =
        offsets.iter().enumerate().filter_map(|(index, offset)| Some(((*offset)?, index))).collect();
    order.sort_unstable();
    let mut out = vec![None; offsets.len()];
    let (mut line, mut column, mut done) = (1_u32, 1_u32, 0_usize);
    for (offset, index) in order {
        for c in text.get(done..offset).unwrap_or_default().chars() {
            if c == '\n' {
                line = line.saturating_add(1);
                column = 1;
            } else {
                column = column.saturating_add(1);
            }
        }
        done = done.max(offset);
        if let Some(slot) = out.get_mut(index) {
            *slot = Some((line, column));
        }
    }
    out
}
