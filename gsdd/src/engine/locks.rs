//! Who is kept out while something is changed: other processes of this home, daemons of other homes, upstream.

use std::fs::File;
use std::path::Path;

use gsd_proto::{Code, WireError};

use super::turns::{NoLock, held, wait_for};
use super::writer::Engine;
use crate::apply;
use crate::fs::atomic;
use crate::patience::holder_words;
use crate::store::{LockFailure, ScopeRoot, UpstreamLock};

impl Engine {
    /// Keeps a private process of the same home (a client without the daemon) out while state is changed.
    pub(crate) fn exclusive(&self) -> Result<File, WireError> {
        let state = &self.places().state;
        let path = state.join("writer.lock");
        let open = || -> std::io::Result<File> {
            atomic::private_folder(state)?;
            File::options().create(true).truncate(false).write(true).open(&path)
        };
        let unwritable = |error: std::io::Error| {
            WireError::new(Code::IoFailed, format!("our state folder can't be written: {error}"))
                .at_file(state)
                .with_fix("make that folder writable for you, then run the same command again", &[])
        };
        let file = open().map_err(unwritable)?;
        wait_for(&file, "another process of this home")
            .map_err(|failure| failure.map_or_else(|held| held.at_file(&path), unwritable))?;
        Ok(file)
    }

    /// Keeps the daemons of other homes out of a project while it is changed. They have their own records and this lock
    /// in common; it goes with its process, so nobody can leave it behind.
    pub(super) fn project_lock(&self, project: &Path) -> Result<Option<File>, WireError> {
        // Where folders can't be locked there is upstream's lock alone.
        let Ok(folder) = File::open(project) else { return Ok(None) };
        match wait_for(&folder, "a change of this project from another home") {
            Ok(()) => Ok(Some(folder)),
            Err(NoLock::Held(held)) => Err(held.at_file(project)),
            Err(NoLock::Io(_)) => Ok(None),
        }
    }

    pub(super) fn writer_lock(&self) -> std::io::Result<File> {
        let state = &self.places().state;
        atomic::private_folder(state)?;
        File::options().create(true).truncate(false).write(true).open(state.join("writer.lock"))
    }

    /// Tells upstream that a root is being changed. A root that does not exist yet needs no lock: nobody else can be
    /// at work in it.
    pub(crate) fn lock(&self, root: &ScopeRoot) -> Result<Option<UpstreamLock>, WireError> {
        if !root.bundles().is_dir() {
            return Ok(None);
        }
        let file = UpstreamLock::mutation_file(&root.bundles());
        apply::note_lock(&self.places().journal(), &file).map_err(|error| {
            WireError::new(Code::IoFailed, format!("our state folder can't be written: {error}"))
                .at_file(self.places().journal())
        })?;
        UpstreamLock::mutation(&root.bundles()).map(Some).map_err(|failure| match failure {
            LockFailure::Busy { path, holder, waited } => {
                held("another operation", &holder_words(holder), waited).at_file(path)
            }
            LockFailure::Io { path, error } => {
                WireError::new(Code::IoFailed, format!("the lock can't be taken: {error}"))
                    .at_file(path)
                    .with_fix("make that folder writable for you, then run the same command again", &[])
            }
        })
    }
}
