//! Judging a bundle in its author's folder: gathers what the rules of [`gsdd_core::validate`] need.
//!
//! Everything is read bounded, without following links and without blocking (decision D-20); nothing is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsdd_core::compose::{
    Candidate, ConsentVerdict, FragmentRead, LedgerState, ManifestRead, Scope, check_install,
};
use gsdd_core::manifest::Problem;
use gsdd_core::registry::Base;
use gsdd_core::validate::{BundleFacts, Draft, ManifestFile};

use crate::engine::{Engine, Snapshot, read_fragment};
use crate::fs::bounded_read::{self, MAX_FILE, ReadFailure};
use crate::fs::bundle_survey::survey;

/// Name of the manifest in its folder.
const MANIFEST: &str = "capability.json";

/// A bundle folder that was looked at.
pub(crate) struct Desk {
    /// The manifest file, absolute.
    pub(crate) file: PathBuf,
    /// The judged manifest.
    pub(crate) draft: Draft,
    /// The rest of the folder; absent when the manifest could not be read.
    pub(crate) facts: Option<BundleFacts>,
}

impl Desk {
    /// Looks at `path`, a folder or its manifest; blocks. `None` when there is no such folder.
    pub(crate) fn open(path: &Path, base: &Base) -> Option<Self> {
        let folder = if path.is_dir() {
            std::fs::canonicalize(path).ok()?
        } else {
            // A path to the manifest itself, whatever kind of file it is.
            let named = path.file_name().is_some_and(|name| name == MANIFEST);
            let parent = path.parent().filter(|_| named)?;
            std::fs::canonicalize(parent).ok().filter(|folder| folder.is_dir())?
        };
        let dir_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = folder.join(MANIFEST);
        let read = bounded_read::read_no_follow(&file, MAX_FILE);
        let manifest = match &read {
            Ok((bytes, _)) => ManifestFile::Bytes(bytes),
            Err(ReadFailure::Missing) => ManifestFile::Missing,
            Err(ReadFailure::TooBig { .. }) => ManifestFile::TooBig,
            Err(ReadFailure::NotRegular) => ManifestFile::NotRegular(kind_of(&file)),
            // A socket can't be opened at all.
            Err(ReadFailure::Io(_)) => match kind_of(&file) {
                "a regular file" => ManifestFile::Unreadable,
                other => ManifestFile::NotRegular(other),
            },
        };
        let draft = Draft::read(&dir_name, manifest, base.contract());
        let shipped = base.registry().get(&dir_name).is_some();
        let facts = draft.assessed().map(|_| facts(&folder, &draft, shipped));
        Some(Self { file, draft, facts })
    }
}

fn facts(folder: &Path, draft: &Draft, shipped: bool) -> BundleFacts {
    let found = survey(folder, MANIFEST);
    let mut fragments = BTreeMap::new();
    for path in draft.fragment_paths() {
        let file = folder.join(&path);
        // One that is not there gets the words of the rule, not those of the operating system.
        if std::fs::symlink_metadata(&file).is_ok() {
            fragments.insert(path, read_fragment(folder, &file));
        }
    }
    BundleFacts { shipped, files: found.files, faults: found.faults, fragments }
}

fn kind_of(file: &Path) -> &'static str {
    let Ok(metadata) = std::fs::symlink_metadata(file) else { return "not readable" };
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return "a symlink";
    }
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_file() {
        return "a regular file";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    "a special file"
}

/// What speaks against installing the draft beside what is shipped and installed. A draft with problems of its own
/// is not compared.
pub(crate) fn against_installed(
    engine: &Engine,
    snapshot: &Snapshot,
    draft: &Draft,
    facts: Option<&BundleFacts>,
    scope: Scope,
) -> Vec<Problem> {
    let Some(assessed) = draft.assessed().filter(|assessed| assessed.manifest.is_some()) else {
        return Vec::new();
    };
    let read = |path: String| {
        let text = match facts {
            Some(facts) => facts.fragments.get(&path).cloned(),
            // A manifest without its folder: the text of a fragment decides nothing.
            None => Some(FragmentRead::Text("".into())),
        };
        let missing = || FragmentRead::Refused("the bundle does not contain it".to_owned());
        (path, text.unwrap_or_else(missing))
    };
    let id = assessed.dir_name.clone();
    let candidate = Candidate {
        dir_name: id.clone(),
        scope,
        demoted: false,
        bundle_dir: String::new(),
        ledger: LedgerState::Committed,
        consent: ConsentVerdict::Granted,
        fragments: Arc::new(draft.fragment_paths().into_iter().map(read).collect()),
        manifest: ManifestRead::Read(Arc::new(assessed.clone())),
        config_home: None,
    };
    let others: Vec<&Candidate> = snapshot
        .candidates()
        .filter(|other| !(other.dir_name == id && other.scope == scope))
        .filter(|other| scope == Scope::Project || other.scope == Scope::Global)
        .collect();
    check_install(engine.base(), &others, &candidate)
}
