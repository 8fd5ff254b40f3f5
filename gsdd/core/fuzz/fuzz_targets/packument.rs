//! Whatever a registry answers, reading it and choosing from it ends.

#![no_main]

use gsdd_core::source::NpmSelector;
use gsdd_core::source::packument::Packument;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(packument) = Packument::read(bytes, "p") {
        for selector in [NpmSelector::None, NpmSelector::Range("^1".to_owned()), NpmSelector::Tag("next".to_owned())] {
            let choice = packument.choose(&selector, |range| range.len() % 2 == 0);
            assert!(choice.taken.is_none_or(|taken| packument.release(&taken).is_some()));
        }
    }
});
