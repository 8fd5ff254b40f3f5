//! The tree of a commit as a staged bundle: names judged, then the blobs, out of the object database.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use gsd_proto::{Code, WireError};
use gsdd_core::bundle::{Budget, RelPath, TwinGuard, check_member, is_cache_entry, is_vcs_entry};
use gsdd_core::text::shown;

use super::super::raise_limit;
use super::{Git, MAX_LISTING};
use crate::fs::bundle_tree::{BundleTree, TreeRefusal};
use crate::fs::staging::Staging;
use crate::lifecycle::from_tree;

impl Git<'_> {
    pub(super) fn read_tree(&self, commit: &str, subdir: Option<&RelPath>) -> Result<BundleTree, WireError> {
        let root = subdir.map_or_else(|| commit.to_owned(), |subdir| format!("{commit}:{}", subdir.as_str()));
        let listing = self.finish(&["ls-tree", "-rzt", "--full-tree", &root], MAX_LISTING)?;
        if !listing.ok {
            let folder = subdir.map(RelPath::as_str).unwrap_or_default();
            return Err(WireError::new(
                Code::NotFound,
                format!("the commit has no folder {}", shown(folder)),
            ));
        }
        let mut budget = Budget::staging(self.caller.room.max_bytes);
        let mut twins = TwinGuard::new();
        let mut staging = Staging::new(&self.caller.room).map_err(|refusal| from_tree(&refusal))?;
        let mut blobs: Vec<(RelPath, String, bool)> = Vec::new();
        for entry in listing.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let Some((mode, kind, id, path)) = listed(entry) else { continue };
            if path.split(|byte| *byte == b'/').any(is_vcs_entry) || is_cache_entry(path) {
                continue;
            }
            let shown_path = shown(&String::from_utf8_lossy(path));
            let refuse = |code: &str, reason: &str| refused(code, &shown_path, reason);
            let member = check_member(path).map_err(|refusal| refuse("name", &refusal.to_string()))?;
            twins.add(&member, kind == "tree").map_err(|refusal| refuse("twin", &refusal.to_string()))?;
            match (kind, mode) {
                ("tree", _) => {
                    budget.add_dir().map_err(|over| refuse("too-many-entries", &over.to_string()))?;
                    staging.add_folder(&member).map_err(|refusal| from_tree(&refusal))?;
                }
                ("blob", "100644" | "100664") => blobs.push((member, id.to_owned(), false)),
                ("blob", "100755") => blobs.push((member, id.to_owned(), true)),
                ("blob", "120000") => {
                    return Err(refuse("symlink", "symlinks are not allowed in a bundle"));
                }
                _ => return Err(refuse("non-regular", "submodules are not allowed in a bundle")),
            }
        }
        self.read_blobs(&blobs, &mut budget, &mut staging)?;
        staging.finish("").map_err(|refusal| from_tree(&refusal))
    }

    fn read_blobs(
        &self,
        blobs: &[(RelPath, String, bool)],
        budget: &mut Budget,
        staging: &mut Staging,
    ) -> Result<(), WireError> {
        let lost = |error: std::io::Error| {
            WireError::new(Code::SourceUnreachable, format!("reading from git: {error}"))
        };
        let mut command = self.command();
        command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(lost)?;
        let (Some(mut requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WireError::new(Code::Internal, "git has no pipes"));
        };
        let mut answers = BufReader::new(answers);
        let result = (|| {
            for (path, id, executable) in blobs {
                writeln!(requests, "{id}").map_err(lost)?;
                requests.flush().map_err(lost)?;
                let mut header = String::new();
                answers.by_ref().take(256).read_line(&mut header).map_err(lost)?;
                let size: u64 = header
                    .trim_end()
                    .rsplit(' ')
                    .next()
                    .and_then(|size| size.parse().ok())
                    .ok_or_else(|| {
                        WireError::new(Code::SourceUnreachable, format!("git lost {}", shown(path.as_str())))
                    })?;
                budget
                    .add_file(size)
                    .map_err(|over| refused("too-large", path.as_str(), &over.to_string()))?;
                let mut content = answers.by_ref().take(size);
                let count = staging.add_file(path, *executable, |buffer| {
                    let read = content.read(buffer);
                    read.map_err(|error| TreeRefusal::new("unreadable", Path::new("git"), error.to_string()))
                });
                if count.map_err(|refusal| from_tree(&refusal))? != size {
                    return Err(lost(std::io::ErrorKind::UnexpectedEof.into()));
                }
                answers.read_exact(&mut [0]).map_err(lost)?;
                self.caller.watch.check()?;
                self.caller.watch.advance(
                    "unpack",
                    staging.files.len() as u64,
                    Some(blobs.len() as u64),
                    "files",
                );
            }
            self.caller.watch.finished("unpack", staging.files.len() as u64, "files");
            Ok(())
        })();
        drop(requests);
        let _ = child.kill();
        let _ = child.wait();
        result
    }
}

fn refused(code: &str, path: &str, reason: &str) -> WireError {
    let mut error =
        WireError::new(Code::Internal, format!("this repository is not a usable bundle: {reason}"))
            .at_file(path);
    error.code = format!("bundle.{code}").into();
    error.exit = 2;
    raise_limit(error)
}

/// `<mode> <kind> <id>\t<path>`.
fn listed(entry: &[u8]) -> Option<(&str, &str, &str, &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let mut head = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
    Some((head.next()?, head.next()?, head.next()?, &entry[tab + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_split_by_bytes() {
        let entry = b"100644 blob 0123\ta b\xff";
        assert_eq!(listed(entry), Some(("100644", "blob", "0123", &b"a b\xff"[..])));
        assert_eq!(listed(b"nonsense"), None);
    }
}
