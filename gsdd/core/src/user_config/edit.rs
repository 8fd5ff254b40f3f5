//! One key changed, everything else left byte for byte.

use toml_edit::{DocumentMut, Item, Table};

use super::key::ConfigKey;
use super::parse;

/// Why the file can't be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    /// It can't be read; the text says where.
    #[error("{0}")]
    Unreadable(String),
    /// Some lines end in one way and some in another, and writing would make them alike.
    #[error("its lines end in different ways")]
    MixedLineEnds,
    /// Where a table belongs there is something else.
    #[error("`{0}` is not a table")]
    NotATable(&'static str),
    /// The value does not fit the key.
    #[error("{0}")]
    Value(String),
    /// The result would not say what it should.
    #[error("the file can't be changed without changing other lines")]
    NotLossless,
}

/// The file with `key` set to `value`.
///
/// # Errors
/// [`EditRefusal`]; nothing is changed then.
pub fn set(file: &[u8], key: &ConfigKey, value: &str) -> Result<Vec<u8>, EditRefusal> {
    key.check(value).map_err(EditRefusal::Value)?;
    edited(file, |document| {
        let (table, name) = key.path();
        let table = match table {
            None => document.as_table_mut() as &mut dyn toml_edit::TableLike,
            Some(table) => {
                let item = document.entry(table).or_insert_with(|| Item::Table(Table::new()));
                item.as_table_like_mut().ok_or(EditRefusal::NotATable(table))?
            }
        };
        match table.get_mut(name).and_then(Item::as_value_mut) {
            // A comment behind the old value stays behind the new one.
            Some(old) => {
                let decor = old.decor().clone();
                *old = key.value(value);
                *old.decor_mut() = decor;
            }
            None => drop(table.insert(name, Item::Value(key.value(value)))),
        }
        Ok(())
    })
}

/// The file without `key`; a table that was made for it goes with it when nothing else is in it.
///
/// # Errors
/// [`EditRefusal`]; nothing is changed then.
pub fn unset(file: &[u8], key: &ConfigKey) -> Result<Vec<u8>, EditRefusal> {
    edited(file, |document| {
        let (table, name) = key.path();
        let Some(table) = table else {
            document.remove(name);
            return Ok(());
        };
        let Some(item) = document.get_mut(table) else { return Ok(()) };
        let inner = item.as_table_like_mut().ok_or(EditRefusal::NotATable(table))?;
        inner.remove(name);
        let is_bare = inner.is_empty()
            && item.as_table().is_some_and(|table| {
                let decor = table.decor();
                let blank = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
                blank(decor.prefix().and_then(|raw| raw.as_str()))
                    && blank(decor.suffix().and_then(|raw| raw.as_str()))
            });
        if is_bare {
            document.remove(table);
        }
        Ok(())
    })
}

fn edited(
    file: &[u8],
    change: impl FnOnce(&mut DocumentMut) -> Result<(), EditRefusal>,
) -> Result<Vec<u8>, EditRefusal> {
    let mut document = parse(file).map_err(EditRefusal::Unreadable)?;
    let text = std::str::from_utf8(file).map_err(|error| EditRefusal::Unreadable(error.to_string()))?;
    let bare = text.strip_prefix('\u{feff}');
    let (mark, text) = (if bare.is_some() { "\u{feff}" } else { "" }, bare.unwrap_or(text));
    let (lines, carried) = (text.matches('\n').count(), text.matches("\r\n").count());
    if carried != 0 && carried != lines {
        return Err(EditRefusal::MixedLineEnds);
    }
    let with_ends = |text: String| if carried == 0 { text } else { text.replace('\n', "\r\n") };
    // What the writer makes of the unchanged file has to be the file.
    if with_ends(document.to_string()) != text {
        return Err(EditRefusal::NotLossless);
    }
    change(&mut document)?;
    let written = with_ends(document.to_string());
    Ok(format!("{mark}{written}").into_bytes())
}
