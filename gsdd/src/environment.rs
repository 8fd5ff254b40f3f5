//! The process environment, read once at the start and never again.
//!
//! Requests bring their own context; what is here decides only where the daemon itself lives.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gsd_proto::endpoint::Surroundings;
use gsd_proto::private_dir;

/// What the process was started with.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    vars: BTreeMap<String, OsString>,
    cwd: PathBuf,
    uid: u32,
}

impl Environment {
    /// Reads that of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let vars =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Self {
            vars,
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            uid: private_dir::our_uid(),
        }
    }

    /// One made up for a test.
    #[must_use]
    pub fn of(vars: impl IntoIterator<Item = (&'static str, OsString)>, cwd: &Path) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { vars, cwd: cwd.to_owned(), uid: private_dir::our_uid() }
    }

    /// The value of a variable; an empty one counts as unset.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&OsString> {
        self.vars.get(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable as text, if it is UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.var(name)?.to_str()
    }

    /// The directory the process was started in.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The part that decides where the socket is.
    #[must_use]
    pub fn surroundings(&self) -> Surroundings {
        Surroundings::from_vars(|name| self.var(name).cloned(), &self.cwd, self.uid)
    }
}
