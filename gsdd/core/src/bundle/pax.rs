//! Extended headers of tar archives: which of their records a bundle may use.
//!
//! An extended header can rename the next member, change its size or make it something else, and readers differ in
//! what they make of it. Here it can give a longer name and nothing more; what only describes the member (times,
//! owners, attributes) is dropped, and what would change its meaning is refused.
//!
//! Source: POSIX.1-2024, pax interchange format; threats T21, T25 to T27, T36.

/// Longest extended header, in bytes: a path of 1024 bytes with room for times, owners and attributes.
pub const MAX_EXTENSION_BYTES: u64 = 64 * 1024;

/// What an extended header says about the next member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaxRecords<'a> {
    /// Its name.
    pub path: Option<&'a [u8]>,
    /// Its size; has to be the one in the plain header.
    pub size: Option<u64>,
}

/// Why an extended header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaxRefusal {
    /// A record is not `LENGTH KEY=VALUE`.
    #[error("its extended header is malformed")]
    Malformed,
    /// A key that counts is there twice.
    #[error("its extended header says one thing twice")]
    Repeated,
    /// A target of a link.
    #[error("it is a link")]
    Link,
    /// A file with holes.
    #[error("it is a sparse file")]
    Sparse,
    /// A header for all members that would rename or resize them.
    #[error("a header for all members changes what they are")]
    Global,
}

/// Reads the records of an extended header; `global` for one that is about all members that follow.
///
/// # Errors
/// [`PaxRefusal`].
pub fn read_pax(mut bytes: &[u8], global: bool) -> Result<PaxRecords<'_>, PaxRefusal> {
    let mut records = PaxRecords::default();
    // Writers fill the last block with zeros.
    while bytes.first().is_some_and(|byte| *byte != 0) {
        let (record, rest) = split_record(bytes).ok_or(PaxRefusal::Malformed)?;
        bytes = rest;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or(PaxRefusal::Malformed)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        match key {
            b"linkpath" => return Err(PaxRefusal::Link),
            _ if key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize" => {
                return Err(PaxRefusal::Sparse);
            }
            b"path" | b"size" if global => return Err(PaxRefusal::Global),
            b"path" if records.path.is_some() => return Err(PaxRefusal::Repeated),
            b"size" if records.size.is_some() => return Err(PaxRefusal::Repeated),
            b"path" => records.path = Some(value),
            b"size" => {
                let size = std::str::from_utf8(value).ok().filter(|text| is_number(text));
                let size = size.and_then(|text| text.parse().ok()).ok_or(PaxRefusal::Malformed)?;
                records.size = Some(size);
            }
            _ => {}
        }
    }
    if bytes.iter().any(|byte| *byte != 0) {
        return Err(PaxRefusal::Malformed);
    }
    Ok(records)
}

/// One record without its length and line end, and what follows it.
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let length = std::str::from_utf8(&bytes[..space]).ok().filter(|text| is_number(text))?;
    let length: usize = length.parse().ok()?;
    let record = bytes.get(space + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &bytes[length..]))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::member::MAX_PATH_BYTES;

    fn record(key: &str, value: &str) -> Vec<u8> {
        let content = key.len() + value.len() + 3;
        let mut length = content;
        while length != content + length.to_string().len() {
            length = content + length.to_string().len();
        }
        format!("{length} {key}={value}\n").into_bytes()
    }

    #[test]
    fn a_name_is_taken_and_descriptions_are_dropped() {
        let mut bytes = record("mtime", "1700000000.5");
        bytes.extend(record("path", "a=b\nc"));
        bytes.extend(record("size", "12"));
        bytes.extend([0; 100]);
        let records = read_pax(&bytes, false).unwrap();
        assert_eq!((records.path, records.size), (Some(&b"a=b\nc"[..]), Some(12)));
    }

    #[test]
    fn the_bound_has_room_for_the_longest_name_and_its_attributes() {
        let attribute = "x".repeat(255);
        let bytes = [record("path", &"n".repeat(MAX_PATH_BYTES)), record("SCHILY.xattr.user.x", &attribute)];
        assert!(bytes.concat().len() as u64 <= MAX_EXTENSION_BYTES);
    }

    #[test]
    fn t36_attributes_are_dropped() {
        for key in
            ["SCHILY.xattr.security.capability", "LIBARCHIVE.xattr.user.x", "SCHILY.acl.access", "comment"]
        {
            assert_eq!(read_pax(&record(key, "x"), false), Ok(PaxRecords::default()));
            assert_eq!(read_pax(&record(key, "x"), true), Ok(PaxRecords::default()));
        }
    }

    #[test]
    fn t27_sparse_files_and_links_are_refused() {
        for key in ["GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.name", "SCHILY.realsize"] {
            assert_eq!(read_pax(&record(key, "1"), false), Err(PaxRefusal::Sparse));
        }
        assert_eq!(read_pax(&record("linkpath", "x"), false), Err(PaxRefusal::Link));
        for key in ["path", "size"] {
            assert_eq!(read_pax(&record(key, "1"), true), Err(PaxRefusal::Global));
            let twice = [record(key, "1"), record(key, "1")].concat();
            assert_eq!(read_pax(&twice, false), Err(PaxRefusal::Repeated));
        }
    }

    #[test]
    fn t26_malformed_records_are_refused() {
        for text in [
            "x",
            "5 a=b",
            "7 a=b\n",
            "6 a=b\nx",
            "4 ab\n",
            " a=b\n",
            "-6 a=b\n",
            "+6 a=b\n",
            "99999999 a=b\n",
            "999999999999999999999 a=b\n",
            "2 \n",
            "0 a=b\n",
            "1 a=b\n",
        ] {
            assert_eq!(read_pax(text.as_bytes(), false), Err(PaxRefusal::Malformed), "{text:?}");
        }
        for size in ["-1", "+1", "1e9", "", "99999999999999999999"] {
            assert_eq!(read_pax(&record("size", size), false), Err(PaxRefusal::Malformed), "{size}");
        }
        let hidden = [&[0; 4][..], &record("path", "x")].concat();
        assert_eq!(read_pax(&hidden, false), Err(PaxRefusal::Malformed));
    }

    proptest! {
        /// Reading ends, whatever the bytes are, and what is written is read.
        #[test]
        fn reading_is_total(bytes in prop::collection::vec(any::<u8>(), 0..256), name in "[a-z/=\n]{1,200}") {
            let _ = read_pax(&bytes, false);
            let written = record("path", &name);
            prop_assert_eq!(read_pax(&written, false).unwrap().path, Some(name.as_bytes()));
        }
    }
}
