//! What must hold for any bytes that a source sends: shared by the everyday property tests and the fuzz targets.
//!
//! Each function panics when something does not hold.

use gsdd_core::source::NpmSelector;
use gsdd_core::source::index::{Entry, IndexName};
use gsdd_core::source::npmrc::read_settings;
use gsdd_core::source::packument::Packument;
use gsdd_core::version::HostVersion;

/// Bytes as a packument: what is taken was offered.
pub(crate) fn packument(bytes: &[u8]) {
    let Ok(packument) = Packument::read(bytes, "p") else { return };
    let range = |text: &str| NpmSelector::Range(text.to_owned());
    for selector in [NpmSelector::None, range("^1"), range("*"), NpmSelector::Tag("next".to_owned())] {
        let choice = packument.choose(&selector, |range| range.len() % 2 == 0);
        assert!(choice.taken.is_none_or(|taken| packument.release(&taken).is_some()), "an offered version");
    }
}

/// Bytes as the `.npmrc` of a project: no secret and no host that the person does not know.
pub(crate) fn npmrc(bytes: &[u8]) {
    let env = |name: &str| Some(name.to_owned());
    let settings = read_settings(None, Some(bytes), env);
    let plain = read_settings(None, None, env);
    for package in ["p", "@a/p", "@acme/p"] {
        assert_eq!(settings.registry_of(package).host(), plain.registry_of(package).host(), "a known host");
    }
    assert_eq!(settings.cafile, None, "no certificates");
    drop(read_settings(Some(bytes), None, env));
}

/// Bytes as an entry of an index: nothing that was taken back is taken.
pub(crate) fn index_entry(bytes: &[u8]) {
    let name = IndexName::parse("a");
    let Some(entry) = name.and_then(|name| Entry::read(bytes, &name).ok()) else { return };
    for selector in [None, Some("1"), Some("1.0.0"), Some("next")] {
        let choice = entry.choose(selector, HostVersion::new(1, 10, 0));
        let taken = choice.taken.map(|taken| entry.version(&taken).is_some_and(|row| row.yanked.is_none()));
        assert!(taken.unwrap_or(true), "an offered version");
    }
}
