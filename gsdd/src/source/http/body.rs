//! Reading a body: bounded while it comes, in time, and hashed.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use gsd_proto::{Code, WireError};
use gsdd_core::source::Pin;
use reqwest::Url;
use reqwest::header::CONTENT_ENCODING;
use sha2::{Digest as _, Sha256, Sha512};
use tempfile::SpooledTempFile;
use tokio::time::Instant;

use super::failure::Failure;
use super::{Request, Watch};

/// Bytes of an archive that are kept in memory; what is larger goes to a temporary file.
const IN_MEMORY: usize = 1024 * 1024;

/// An archive that was downloaded, at its beginning.
#[derive(Debug)]
pub(crate) struct Downloaded {
    /// Where it came from in the end.
    pub(crate) final_url: Url,
    /// Its bytes, in memory or in a file without a name.
    pub(crate) file: SpooledTempFile,
    /// How many there are.
    pub(crate) bytes: u64,
    pub(crate) sha512: Pin,
    /// 64 hexadecimal digits.
    pub(crate) sha256: String,
}

impl Downloaded {
    /// All bytes; the file is at its beginning again afterwards.
    ///
    /// # Errors
    /// The temporary file can't be read.
    pub(crate) fn whole(&mut self) -> Result<Vec<u8>, WireError> {
        let failed =
            |error: std::io::Error| WireError::new(Code::IoFailed, format!("reading the archive: {error}"));
        let mut bytes = Vec::new();
        self.file.rewind().map_err(failed)?;
        self.file.read_to_end(&mut bytes).map_err(failed)?;
        self.file.rewind().map_err(failed)?;
        Ok(bytes)
    }
}

/// An archive while it comes.
pub(super) struct Spool {
    file: SpooledTempFile,
    bytes: u64,
    sha512: Sha512,
    sha256: Sha256,
}

impl Spool {
    pub(super) fn new(workspace: &Path) -> Self {
        Self {
            file: tempfile::spooled_tempfile_in(IN_MEMORY, workspace),
            bytes: 0,
            sha512: Sha512::new(),
            sha256: Sha256::new(),
        }
    }

    fn write(&mut self, chunk: &[u8]) -> std::io::Result<()> {
        self.file.write_all(chunk)?;
        self.sha512.update(chunk);
        self.sha256.update(chunk);
        self.bytes += chunk.len() as u64;
        Ok(())
    }

    /// What came, at its beginning.
    pub(super) fn finish(self, final_url: Url) -> std::io::Result<Downloaded> {
        let Self { mut file, bytes, sha512, sha256 } = self;
        file.rewind()?;
        let sha256 = sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Downloaded { final_url, file, bytes, sha512: Pin::from_digest(&sha512.finalize().into()), sha256 })
    }
}

/// Where the bytes go.
pub(super) enum Sink<'a> {
    Memory(&'a mut Vec<u8>),
    Spool(&'a mut Spool),
}

impl Sink<'_> {
    fn take(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Memory(bytes) => bytes.extend_from_slice(chunk),
            Self::Spool(spool) => spool.write(chunk).map_err(Failure::disk)?,
        }
        Ok(())
    }
}

/// Reads the whole body. A length that is announced is believed only when it is too large (T72); a body that was
/// encoded on the way is refused, as nothing but identity was asked for (T73).
pub(super) async fn read(
    response: &mut reqwest::Response,
    request: &Request<'_>,
    deadline: Instant,
    watch: &Watch,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let limits = request.limits;
    if let Some(coding) = response.headers().get(CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(Failure::Encoded);
    }
    let announced = response.content_length();
    if announced.is_some_and(|length| length > limits.bytes) {
        return Err(Failure::TooLarge(limits.bytes));
    }
    let mut done = 0_u64;
    let (mut window_end, mut in_window) = (Instant::now() + limits.window, 0_u64);
    watch.advance(request.phase, done, announced, "bytes");
    loop {
        let chunk = tokio::select! {
            biased;
            () = watch.cancelled() => return Err(Failure::Cancelled),
            () = tokio::time::sleep_until(deadline) => return Err(Failure::TooLong(limits.time)),
            () = tokio::time::sleep_until(window_end) => {
                if in_window < limits.window_bytes {
                    return Err(Failure::TooSlow);
                }
                (window_end, in_window) = (Instant::now() + limits.window, 0);
                continue;
            }
            chunk = response.chunk() => chunk.map_err(|error| Failure::of(&error))?,
        };
        let Some(chunk) = chunk else { break };
        done += chunk.len() as u64;
        in_window += chunk.len() as u64;
        if done > limits.bytes {
            return Err(Failure::TooLarge(limits.bytes));
        }
        sink.take(&chunk)?;
        watch.advance(request.phase, done, announced, "bytes");
    }
    watch.finished(request.phase, done, "bytes");
    Ok(())
}
