//! Where everything lies.

use std::path::{Path, PathBuf};

use gsdd_core::compose::Scope;

/// The folders of one person, resolved once.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The plain home directory.
    pub(crate) user_home: PathBuf,
    /// The home that upstream shares with us: `GSD_HOME`, else the home directory.
    pub(crate) gsd_home: PathBuf,
    /// Our own data: agreed contents.
    pub(crate) data: PathBuf,
    /// Our own state: records, journal, logs.
    pub(crate) state: PathBuf,
}

impl Places {
    /// The store of agreed contents.
    pub(crate) fn objects(&self) -> PathBuf {
        self.data.join("objects")
    }

    /// The journal of operations under way.
    pub(crate) fn journal(&self) -> PathBuf {
        self.state.join("journal")
    }

    /// Our records of what was installed and wired.
    pub(crate) fn own_state(&self) -> PathBuf {
        self.state.join("state.json")
    }

    /// The consent store that upstream shares with us.
    pub(crate) fn consent_store(&self) -> PathBuf {
        self.gsd_home.join(".gsd").join("consent.json")
    }

    /// Machine-wide configuration defaults of upstream.
    pub(crate) fn defaults(&self) -> PathBuf {
        self.gsd_home.join(".gsd").join("defaults.json")
    }

    /// The launcher that host files name; its path never changes.
    pub(crate) fn launcher(&self) -> PathBuf {
        self.gsd_home.join(".gsd").join("bin").join("gsdctl")
    }

    /// The root that serves every project of this person.
    pub(crate) fn global_root(&self) -> ScopeRoot {
        ScopeRoot { scope: Scope::Global, dir: self.gsd_home.clone() }
    }
}

/// A place where capabilities are installed: the person's home or a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScopeRoot {
    pub(crate) scope: Scope,
    pub(crate) dir: PathBuf,
}

impl ScopeRoot {
    pub(crate) fn project(dir: &Path) -> Self {
        Self { scope: Scope::Project, dir: dir.to_owned() }
    }

    /// The ledger.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.dir.join(".gsd-capabilities.json")
    }

    /// The `.gsd` folder.
    pub(crate) fn gsd(&self) -> PathBuf {
        self.dir.join(".gsd")
    }

    /// The folder with one bundle per capability.
    pub(crate) fn bundles(&self) -> PathBuf {
        self.gsd().join("capabilities")
    }

    /// The bundle of a capability. `id` is a proven id, so this stays inside.
    pub(crate) fn bundle(&self, id: &gsdd_core::ids::CapabilityId) -> PathBuf {
        self.bundles().join(id.as_str())
    }

    /// Data that survives removal.
    pub(crate) fn capability_data(&self, id: &gsdd_core::ids::CapabilityId) -> PathBuf {
        self.gsd().join("capability-data").join(id.as_str())
    }

    /// The folder in which bundles are prepared.
    pub(crate) fn staging(&self) -> PathBuf {
        self.bundles().join(".staging")
    }

    /// Word for people and for the wire.
    pub(crate) fn word(&self) -> &'static str {
        match self.scope {
            Scope::Project => "project",
            Scope::Global | Scope::FirstParty => "global",
        }
    }

    /// The first of `.gsd`, `.gsd/capabilities` and, in a project, the ledger that is a symlink: a repository could
    /// lead installs and removals somewhere else with it (T42, T43). The person may keep the ledger of their home
    /// behind a link.
    pub(crate) fn planted_link(&self) -> Option<PathBuf> {
        let ledger = (self.scope == Scope::Project).then(|| self.ledger());
        [self.gsd(), self.bundles(), self.staging()].into_iter().chain(ledger).find(|path| {
            std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_symlink())
        })
    }
}
