//! The policy files of the machine and of the person.

use std::path::{Path, PathBuf};

use gsd_proto::{Code, Context, WireError};
use gsdd_core::source::network::{NetworkLayer, NetworkPolicy};
use gsdd_core::text::shown;

use crate::fs::bounded_read::{self, ReadFailure};

/// Most bytes of a policy file.
const MAX_POLICY: u64 = 1024 * 1024;

/// The file of the machine. Its place is fixed: nothing that a caller sends can point somewhere else.
#[cfg(not(windows))]
const MACHINE: &str = "/etc/gsd/policy.toml";
#[cfg(windows)]
const MACHINE: &str = r"C:\ProgramData\gsd\policy.toml";

/// What both files say about the network.
///
/// # Errors
/// For a file that can't be read or understood: nothing is fetched over the network until it is repaired.
pub(crate) fn network(ctx: &Context) -> Result<NetworkPolicy, WireError> {
    of_files(Path::new(MACHINE), of_person(ctx).as_deref())
}

fn of_files(machine: &Path, person: Option<&Path>) -> Result<NetworkPolicy, WireError> {
    Ok(NetworkPolicy { machine: layer(machine)?, user: person.map(layer).transpose()?.unwrap_or_default() })
}

/// `policy.toml` in the caller's configuration folder; relative places are ignored.
fn of_person(ctx: &Context) -> Option<PathBuf> {
    let folder = |name: &str| ctx.env.get(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = if cfg!(windows) {
        folder("APPDATA")
    } else {
        folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))
    };
    config.map(|config| config.join("gsd").join("policy.toml"))
}

fn layer(file: &Path) -> Result<NetworkLayer, WireError> {
    let closed = |why: String| {
        WireError::new(Code::PolicyBlocked, "a policy file can't be used, so nothing is fetched")
            .caused_by(shown(&why))
            .at_file(file)
            .with_fix("repair that file, or ask whoever keeps it", &[])
    };
    let bytes = match bounded_read::read(file, MAX_POLICY) {
        Ok(bytes) => bytes,
        Err(ReadFailure::Missing) => return Ok(NetworkLayer::default()),
        Err(failure) => return Err(closed(failure.to_string())),
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| closed("it is not UTF-8 text".to_owned()))?;
    NetworkLayer::parse(text).map_err(|problem| {
        let mut error = closed(problem.to_string());
        error.where_.get_or_insert_default().line = Some(problem.line);
        error
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::atomic;

    fn put(file: &Path, text: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        atomic::write(file, text.as_bytes(), atomic::Mode::Keep(0o022)).unwrap();
    }

    #[test]
    fn t160_the_machine_has_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, person) = (dir.path().join("etc/policy.toml"), dir.path().join("home/policy.toml"));
        let allows = |host: &str| of_files(&machine, Some(&person)).unwrap().allows(host, 443);
        assert!(!allows("a.example"));
        put(&person, "[network]\nprivate_hosts = [\"a.example\", \"b.example\"]\n");
        assert!(allows("a.example"));
        put(&machine, "[network]\nprivate_hosts = [\"b.example\", \"c.example\"]\n");
        assert_eq!(["a.example", "b.example", "c.example"].map(allows), [false, true, false]);
    }

    #[test]
    fn t158_a_broken_file_closes_the_door_and_names_key_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("policy.toml");
        put(&file, "\n[network]\nprivate_hosts = 5\n");
        let error = of_files(&file, None).unwrap_err();
        assert_eq!((&*error.code, error.where_.unwrap().line), ("policy.blocked", Some(3)));
        assert!(error.cause[0].contains("network.private_hosts"), "{:?}", error.cause);
        for text in ["[network", "network = 1"] {
            put(&file, text);
            assert_eq!(&*of_files(Path::new("/none"), Some(&file)).unwrap_err().code, "policy.blocked");
        }
    }

    #[test]
    fn the_file_of_the_person_is_where_their_configuration_is() {
        let at = |vars: &[(&str, &str)]| {
            let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            of_person(&Context::new("t", "/w".into(), vars))
        };
        if cfg!(not(windows)) {
            assert_eq!(at(&[("HOME", "/h")]), Some("/h/.config/gsd/policy.toml".into()));
            assert_eq!(at(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), Some("/x/gsd/policy.toml".into()));
            assert_eq!(
                at(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")]),
                Some("/h/.config/gsd/policy.toml".into())
            );
        }
        assert_eq!(at(&[]), None);
    }
}
