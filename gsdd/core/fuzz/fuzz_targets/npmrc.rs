//! Whatever a project's `.npmrc` says, it adds no secret and no host that the person does not know.

#![no_main]

use gsdd_core::source::npmrc::read_settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|files: (&[u8], &[u8], &str)| {
    let (user, project, package) = files;
    let _ = read_settings(Some(user), Some(project), |name| Some(name.to_owned()));
    let settings = read_settings(None, Some(project), |name| Some(name.to_owned()));
    assert_eq!(settings.registry_of(package).host(), "registry.npmjs.org");
    assert_eq!(settings.cafile, None);
});
