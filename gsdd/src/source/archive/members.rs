//! The members of a tar archive, judged one by one.

use std::io::Read;

use futures_util::{FutureExt as _, StreamExt as _};
use gsdd_core::bundle::pax::{MAX_EXTENSION_BYTES, read_pax};
use gsdd_core::bundle::{Budget, MemberRefusal, RelPath, TwinGuard, check_member, is_cache_entry};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_tar::{Archive, EntryType, Header};

use super::container::{AlwaysReady, Container, Stream, broken};
use super::{Refusal, Watch};
use crate::fs::staging::{Room, Staging};

/// Bits of a mode that change who a file runs as.
const SPECIAL_BITS: u32 = 0o6000;

/// Stages all members of an archive, as they are named in it.
pub(super) async fn read<R: Read + Unpin>(
    archive: AlwaysReady<R>,
    len: u64,
    named: Option<Container>,
    room: &Room,
    watch: &Watch,
) -> Result<Staging, Refusal> {
    let mut archive = Archive::new(Stream::open(archive, len, named, room.max_bytes).await?);
    let mut reader = Reader {
        staging: Staging::new(room)?,
        budget: Budget::staging(room.max_bytes),
        twins: TwinGuard::new(),
        next_name: None,
    };
    {
        let mut entries = archive.entries_raw().map_err(|error| broken(&error))?;
        while let Some(entry) = entries.next().await {
            let mut entry = entry.map_err(|error| broken(&error))?;
            if watch.is_cancelled() {
                return Err(Refusal::whole("cancelled", "it is not wanted any more"));
            }
            let header = entry.header().clone();
            reader.take(&header, &mut entry).await?;
            watch.advance("unpack", reader.staging.files.len() as u64, None, "files");
        }
    }
    if reader.next_name.is_some() {
        return Err(Refusal::whole("header", "its last header is about a member that is not there"));
    }
    let stream = archive.into_inner().map_err(|_| Refusal::whole("unreadable", "it is still being read"))?;
    stream.finish().await?;
    Ok(reader.staging)
}

struct Reader {
    staging: Staging,
    budget: Budget,
    twins: TwinGuard,
    /// A header in front of the next member gives it this name.
    next_name: Option<NextName>,
}

struct NextName {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Reader {
    async fn take(&mut self, header: &Header, content: &mut (impl AsyncRead + Unpin)) -> Result<(), Refusal> {
        let kind = header.entry_type();
        let raw_name = header.path_bytes().into_owned();
        let size = header.raw_entry_size().map_err(|error| {
            Refusal::member("header", &raw_name, &format!("its size is malformed ({error})"))
        })?;
        match kind {
            EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName => {
                return self.extension(kind, &raw_name, size, content).await;
            }
            _ => {}
        }
        let next = self.next_name.take();
        let path = next.as_ref().and_then(|next| next.path.clone()).unwrap_or(raw_name);
        if next.and_then(|next| next.size).is_some_and(|told| told != size) {
            return Err(Refusal::member("header", &path, &"its headers disagree about its size"));
        }
        // The oldest form of tar marks a folder by its name alone.
        let is_folder = kind.is_dir() || (kind == EntryType::Regular && path.ends_with(b"/"));
        refuse_kind(header, &path)?;
        let member = match check_member(&path) {
            Err(MemberRefusal::Root) if is_folder => return Ok(()),
            checked => checked.map_err(|refusal| Refusal::member("name", &path, &refusal))?,
        };
        self.twins.add(&member, is_folder).map_err(|refusal| Refusal::member("twin", &path, &refusal))?;
        if is_folder {
            self.budget.add_dir().map_err(|over| Refusal::member(over.name(), &path, &over))?;
            if size > 0 {
                return Err(Refusal::member("header", &path, &"it is a folder with content"));
            }
            if !is_cache_entry(member.as_str().as_bytes()) {
                self.staging.add_folder(&member)?;
            }
            return Ok(());
        }
        self.budget.add_file(size).map_err(|over| Refusal::member(over.name(), &path, &over))?;
        let mode = header.mode().map_err(|_| Refusal::member("header", &path, &"its mode is malformed"))?;
        if mode & SPECIAL_BITS != 0 {
            return Err(Refusal::member(
                "special-mode",
                &path,
                &"it would run as somebody else (setuid, setgid)",
            ));
        }
        self.file(&member, size, mode & 0o100 != 0, content)
    }

    fn file(
        &mut self,
        member: &RelPath,
        size: u64,
        executable: bool,
        content: &mut (impl AsyncRead + Unpin),
    ) -> Result<(), Refusal> {
        let name = member.as_str().as_bytes();
        let mut content = content.take(size);
        // Caches change by themselves and are no part of what a person agrees to (T35).
        let kept = !is_cache_entry(name);
        let read = |buffer: &mut [u8]| match content.read(buffer).now_or_never() {
            Some(read) => read.map_err(|error| broken(&error)),
            None => Err(Refusal::whole("unreadable", "reading it did not end")),
        };
        let count = if kept { self.staging.add_file(member, executable, read)? } else { skipped(read)? };
        if count == size {
            Ok(())
        } else {
            Err(Refusal::member("damaged", name, &"the archive ends inside of it"))
        }
    }

    /// A header that is about the next member, or about all of them.
    async fn extension(
        &mut self,
        kind: EntryType,
        name: &[u8],
        size: u64,
        content: &mut (impl AsyncRead + Unpin),
    ) -> Result<(), Refusal> {
        if size > MAX_EXTENSION_BYTES {
            return Err(Refusal::member("header", name, &"its extended header is too long"));
        }
        // An archive of nothing but headers is bounded like one of members.
        self.budget.add_dir().map_err(|over| Refusal::member(over.name(), name, &over))?;
        let bytes = read_exactly(content, size, name).await?;
        let next = if kind == EntryType::GNULongName {
            let path = bytes.strip_suffix(b"\0").unwrap_or(&bytes).to_vec();
            NextName { path: Some(path), size: None }
        } else {
            let is_global = kind == EntryType::XGlobalHeader;
            let records =
                read_pax(&bytes, is_global).map_err(|refusal| Refusal::member("header", name, &refusal))?;
            if is_global {
                return Ok(());
            }
            NextName { path: records.path.map(<[u8]>::to_vec), size: records.size }
        };
        if self.next_name.replace(next).is_some() {
            return Err(Refusal::member("header", name, &"two headers are about one member"));
        }
        Ok(())
    }
}

/// Everything that is neither a regular file nor a folder.
fn refuse_kind(header: &Header, path: &[u8]) -> Result<(), Refusal> {
    let (code, reason) = match header.entry_type() {
        EntryType::Regular | EntryType::Directory => return Ok(()),
        EntryType::Symlink => ("symlink", "symlinks are not allowed in a bundle"),
        EntryType::Link | EntryType::GNULongLink => ("hardlink", "hard links are not allowed in a bundle"),
        EntryType::Char | EntryType::Block => ("device", "devices are not allowed in a bundle"),
        EntryType::Fifo => ("non-regular", "pipes are not allowed in a bundle"),
        EntryType::GNUSparse => ("sparse", "sparse files are not allowed in a bundle"),
        _ => ("non-regular", "it is neither a regular file nor a folder"),
    };
    Err(Refusal::member(code, path, &reason))
}

/// Reads what nobody keeps.
fn skipped(mut read: impl FnMut(&mut [u8]) -> Result<usize, Refusal>) -> Result<u64, Refusal> {
    let mut buffer = vec![0; 16 * 1024];
    let mut count = 0;
    loop {
        match read(&mut buffer)? {
            0 => return Ok(count),
            more => count += more as u64,
        }
    }
}

/// The content of a header.
async fn read_exactly(
    content: &mut (impl AsyncRead + Unpin),
    size: u64,
    name: &[u8],
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    content.take(size).read_to_end(&mut bytes).await.map_err(|error| broken(&error))?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(Refusal::member("damaged", name, &"the archive ends inside of it"))
    }
}
