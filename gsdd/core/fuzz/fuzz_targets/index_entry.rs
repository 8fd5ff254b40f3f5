//! Whatever an index holds, reading an entry and choosing from it ends, and nothing taken back is taken.

#![no_main]

use gsdd_core::source::index::{Entry, IndexName};
use gsdd_core::version::HostVersion;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(name) = IndexName::parse("a") else { return };
    if let Ok(entry) = Entry::read(bytes, &name) {
        for selector in [None, Some("1"), Some("1.0.0"), Some("next")] {
            let choice = entry.choose(selector, HostVersion::new(1, 10, 0));
            let taken = choice.taken.map(|taken| entry.version(&taken).cloned());
            assert!(taken.is_none_or(|row| row.is_some_and(|row| row.yanked.is_none())));
        }
    }
});
