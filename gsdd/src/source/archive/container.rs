//! The compressed container around a tar archive: told by its content, and bounded while it is taken off.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use async_compression::tokio::bufread::{GzipDecoder, XzDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use gsdd_core::bundle::budget::MAX_STAGED_ENTRIES;
use tokio::io::{AsyncRead, BufReader, ReadBuf};

use super::Refusal;

/// Most bytes of the tar stream of a bundle with at most `max_bytes` of content: for each entry there are a header, its
/// extended header and the filling of three blocks besides.
pub(crate) const fn max_stream(max_bytes: u64) -> u64 {
    max_bytes + MAX_STAGED_ENTRIES * 3 * 1024
}

/// A stream may always have this many bytes, whatever its ratio.
const ANY_RATIO: u64 = 8 * 1024 * 1024;
/// Beyond that, most bytes of the stream for each byte of the archive. Texts reach 30.
const MAX_RATIO: u64 = 200;
/// Most memory for a dictionary of xz: its highest level wants 64 MiB.
const XZ_MEMORY: u64 = 80 * 1024 * 1024;
/// Largest window of zstd, as a power of two: 16 MiB, as much as a bundle has unless more is allowed.
const ZSTD_WINDOW_LOG: u32 = 24;

/// A kind of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// `.tgz`, `.tar.gz`
    Gzip,
    /// `.tar.zst`
    Zstd,
    /// `.tar.xz`
    Xz,
}

impl Container {
    /// What the name of an archive promises.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".tgz", ".tar.gz"]) {
            Some(Self::Gzip)
        } else if ends(&[".tar.zst"]) {
            Some(Self::Zstd)
        } else if ends(&[".tar.xz"]) {
            Some(Self::Xz)
        } else {
            None
        }
    }

    fn of_content(start: &[u8]) -> Option<Self> {
        if start.starts_with(&[0x1f, 0x8b, 0x08]) {
            Some(Self::Gzip)
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else if start.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Some(Self::Xz)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }
}

/// A reader whose bytes are here already.
pub(super) struct AlwaysReady<R>(pub(super) R);

impl<R: Read + Unpin> AsyncRead for AlwaysReady<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled());
        Poll::Ready(read.map(|count| buffer.advance(count)))
    }
}

type Source<R> = BufReader<AlwaysReady<R>>;

enum Decoder<R> {
    Gzip(GzipDecoder<Source<R>>),
    Zstd(ZstdDecoder<Source<R>>),
    Xz(XzDecoder<Source<R>>),
}

/// The tar stream inside of a container.
pub(super) struct Stream<R> {
    decoder: Decoder<R>,
    left: u64,
}

/// The stream is longer than a bundle can be.
#[derive(Debug, thiserror::Error)]
#[error("it is larger than a bundle may be when it is unpacked")]
pub(super) struct TooLong;

impl<R: Read + Unpin> Stream<R> {
    /// Takes the container off.
    pub(super) async fn open(
        archive: AlwaysReady<R>,
        len: u64,
        named: Option<Container>,
        max_bytes: u64,
    ) -> Result<Self, Refusal> {
        use tokio::io::AsyncBufReadExt as _;
        let mut source = BufReader::with_capacity(64 * 1024, archive);
        let start =
            source.fill_buf().await.map_err(|error| Refusal::whole("unreadable", error.to_string()))?;
        let wrong = |reason: String| Refusal::whole("container", reason);
        let Some(found) = Container::of_content(start) else {
            return Err(wrong("it is not compressed by gzip, zstd or xz".to_owned()));
        };
        if let Some(named) = named.filter(|named| *named != found) {
            return Err(wrong(format!("its name promises {} and it is {}", named.name(), found.name())));
        }
        let decoder = match found {
            Container::Gzip => Decoder::Gzip(GzipDecoder::new(source)),
            Container::Zstd => {
                let limits = [DParameter::window_log_max(ZSTD_WINDOW_LOG)];
                Decoder::Zstd(ZstdDecoder::with_params(source, &limits))
            }
            Container::Xz => Decoder::Xz(XzDecoder::with_mem_limit(source, XZ_MEMORY)),
        };
        let left = max_stream(max_bytes).min(ANY_RATIO.max(len.saturating_mul(MAX_RATIO)));
        Ok(Self { decoder, left })
    }

    /// After the last member: nothing but zeros in the stream, and nothing behind it (T31).
    pub(super) async fn finish(mut self) -> Result<(), Refusal> {
        use tokio::io::AsyncReadExt as _;
        let trailing = || Refusal::whole("trailing", "it goes on behind its end");
        let mut rest = vec![0; 16 * 1024];
        loop {
            match self.read(&mut rest).await {
                Ok(0) => break,
                Ok(count) if rest[..count].iter().all(|byte| *byte == 0) => {}
                Ok(_) => return Err(trailing()),
                Err(error) => return Err(broken(&error)),
            }
        }
        let mut source = match self.decoder {
            Decoder::Gzip(decoder) => decoder.into_inner(),
            Decoder::Zstd(decoder) => decoder.into_inner(),
            Decoder::Xz(decoder) => decoder.into_inner(),
        };
        match source.read(&mut rest).await {
            Ok(0) => Ok(()),
            Ok(_) => Err(trailing()),
            Err(error) => Err(broken(&error)),
        }
    }
}

/// An error of a stream: its end was wanted by us, or it is damaged.
pub(super) fn broken(error: &io::Error) -> Refusal {
    let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()).is_some();
    if ours {
        Refusal::whole("too-large", TooLong.to_string())
    } else {
        Refusal::whole(
            "damaged",
            format!("it is damaged ({})", gsdd_core::text::shown_up_to(&error.to_string(), 100)),
        )
    }
}

impl<R: Read + Unpin> AsyncRead for Stream<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = match &mut self.decoder {
            Decoder::Gzip(decoder) => Pin::new(decoder).poll_read(cx, buffer),
            Decoder::Zstd(decoder) => Pin::new(decoder).poll_read(cx, buffer),
            Decoder::Xz(decoder) => Pin::new(decoder).poll_read(cx, buffer),
        };
        let read = (buffer.filled().len() - before) as u64;
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(io::Error::other(TooLong))),
        }
        result
    }
}
