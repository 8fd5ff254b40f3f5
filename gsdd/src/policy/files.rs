//! The files of a policy, read when they differ from the last time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gsd_proto::Context;
use gsdd_core::policy::{FileText, Layer, LayerRules, Policy, read_known_registries, read_layer};
use gsdd_core::source::policy::ConfigFile;

use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::stamp::Stamp;
use crate::user_config;

/// Most bytes of a policy file.
const MAX_POLICY: u64 = 1024 * 1024;
/// Callers and projects whose policy is kept.
const MAX_KEPT: usize = 64;

/// The file of the machine. Its place is fixed: nothing that a caller sends can point somewhere else.
#[cfg(windows)]
const MACHINE: &str = r"C:\ProgramData\gsd\policy.toml";
#[cfg(target_os = "macos")]
const MACHINE: &str = "/Library/Application Support/gsd/policy.toml";
#[cfg(not(any(windows, target_os = "macos")))]
const MACHINE: &str = "/etc/gsd/policy.toml";

/// A file that may say something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFile {
    pub(crate) layer: Layer,
    pub(crate) path: PathBuf,
    /// Whether it is the configuration that upstream reads its list from.
    pub(crate) is_upstreams: bool,
}

/// The files that count for a caller in a project, in the order of the layers.
pub(crate) fn files(ctx: &Context, user_home: &Path, project: &Path) -> [PolicyFile; 4] {
    let file = |layer, path, is_upstreams| PolicyFile { layer, path, is_upstreams };
    [
        file(Layer::Machine, PathBuf::from(MACHINE), false),
        file(Layer::User, of_person(ctx, user_home), false),
        file(Layer::Project, project.join(".gsd").join("gsd.toml"), false),
        file(Layer::Project, project.join(".planning").join("config.json"), true),
    ]
}

/// `policy.toml` in the caller's configuration folder.
fn of_person(ctx: &Context, user_home: &Path) -> PathBuf {
    user_config::folder(ctx, user_home).join("policy.toml")
}

/// The person's file and the project's.
type Key = (PathBuf, PathBuf);

struct Kept {
    /// What the files looked like before they were read.
    stamps: [Stamp; 4],
    policy: Arc<Policy>,
}

/// The policies of the callers and projects of late.
#[derive(Default)]
pub(crate) struct Policies(Mutex<HashMap<Key, Kept>>);

impl Policies {
    /// The policy as the files are now. Costs one look at each file while none of them changes.
    pub(crate) fn of(&self, ctx: &Context, user_home: &Path, project: &Path) -> Arc<Policy> {
        self.of_files(&files(ctx, user_home, project))
    }

    fn of_files(&self, files: &[PolicyFile; 4]) -> Arc<Policy> {
        // Looked at before they are read: a change in between makes the next look differ.
        let stamps = files.each_ref().map(|file| Stamp::of(&file.path));
        let [_, person, project, _] = files;
        let key = (person.path.clone(), project.path.clone());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&key).filter(|known| known.stamps == stamps) {
            return Arc::clone(&known.policy);
        }
        let policy = Arc::new(Policy::new(files.iter().map(read)));
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, Kept { stamps, policy: Arc::clone(&policy) });
        policy
    }
}

fn read(file: &PolicyFile) -> LayerRules {
    if file.is_upstreams {
        let bytes = bounded_read::read(&file.path, MAX_FILE);
        return read_known_registries(
            &file.path,
            match &bytes {
                Ok(bytes) => ConfigFile::Bytes(bytes),
                Err(ReadFailure::Missing) => ConfigFile::Absent,
                Err(_) => ConfigFile::Unreadable,
            },
        );
    }
    let bytes = bounded_read::read(&file.path, MAX_POLICY);
    let text = match &bytes {
        Ok(bytes) => FileText::Bytes(bytes),
        Err(ReadFailure::Missing) => FileText::Absent,
        Err(failure) => FileText::Unreadable(failure.to_string()),
    };
    read_layer(file.layer, &file.path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::atomic;

    fn put(file: &Path, text: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        atomic::write(file, text.as_bytes(), atomic::Mode::Keep(0o022)).unwrap();
    }

    /// The four files below a folder of the test, the machine's too.
    fn below(folder: &Path) -> [PolicyFile; 4] {
        let ctx = Context::new("t", "/w".into(), []);
        let mut files = files(&ctx, &folder.join("home"), &folder.join("proj"));
        files[0].path = folder.join("etc/gsd/policy.toml");
        files
    }

    #[test]
    fn t160_the_machine_has_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        let (files, policies) = (below(dir.path()), Policies::default());
        let allows = |host: &str| policies.of_files(&files).network().allows(host, 443);
        assert!(!allows("a.example"));
        put(&files[1].path, "[network]\nprivate_hosts = [\"a.example\", \"b.example\"]\n");
        assert!(allows("a.example"));
        put(&files[0].path, "[network]\nprivate_hosts = [\"b.example\", \"c.example\"]\n");
        assert_eq!(["a.example", "b.example", "c.example"].map(allows), [false, true, false]);
    }

    #[test]
    fn t187_a_changed_file_counts_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (files, policies) = (below(dir.path()), Policies::default());
        let blanket = || policies.of_files(&files).judge_blanket();
        assert!(blanket().is_ok());
        for file in [&files[0], &files[1]] {
            put(&file.path, "[consent]\nyes = false\n");
            assert_eq!(blanket().unwrap_err().rule.place.file, file.path);
            put(&file.path, "[consent]\nyes = true\n");
            assert!(blanket().is_ok());
        }
        put(&files[2].path, "[policy.consent]\nyes = false\n");
        assert_eq!(blanket().unwrap_err().rule.place.layer, Layer::Project);
        std::fs::remove_file(&files[2].path).unwrap();
        assert!(blanket().is_ok());
        put(&files[3].path, r#"{"capabilities": {"strict_known_registries": []}}"#);
        assert!(policies.of_files(&files).limits_sources());
        assert!(Arc::ptr_eq(&policies.of_files(&files), &policies.of_files(&files)), "read once");
    }

    #[test]
    fn t158_something_that_is_no_file_closes_the_door() {
        let dir = tempfile::tempdir().unwrap();
        let files = below(dir.path());
        std::fs::create_dir_all(&files[0].path).unwrap();
        let objection = Policies::default().of_files(&files).judge_blanket().unwrap_err();
        assert_eq!(objection.rule.place.layer, Layer::Machine);
    }

    #[test]
    fn the_file_of_the_person_is_where_their_configuration_is() {
        let at = |vars: &[(&str, &str)]| {
            let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            of_person(&Context::new("t", "/w".into(), vars), Path::new("/u"))
        };
        if cfg!(not(windows)) {
            assert_eq!(at(&[("HOME", "/h")]), Path::new("/h/.config/gsd/policy.toml"));
            assert_eq!(at(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), Path::new("/x/gsd/policy.toml"));
            assert_eq!(at(&[("XDG_CONFIG_HOME", "x")]), Path::new("/u/.config/gsd/policy.toml"));
        }
    }
}
