//! The one task that writes to a connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gsd_proto::frame::{Framing, encode};
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Answers that are ready are written together up to this size.
const COALESCE_BYTES: usize = 64 * 1024;

/// The framing of a connection, known once its first byte has been read.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedFraming(Arc<AtomicBool>);

impl SharedFraming {
    pub(super) fn set(&self, framing: Framing) {
        self.0.store(framing == Framing::Headers, Ordering::Relaxed);
    }

    fn get(&self) -> Framing {
        if self.0.load(Ordering::Relaxed) { Framing::Headers } else { Framing::Lines }
    }
}

/// Writes what comes out of `outbox` until it is closed and empty, or until `finish` is cancelled and what was queued
/// has been written.
///
/// # Errors
/// When the client is gone, or does not take a piece within `stall`.
pub(super) async fn write_answers<W: AsyncWrite + Unpin>(
    mut stream: W,
    mut outbox: mpsc::Receiver<Box<RawValue>>,
    framing: SharedFraming,
    stall: Duration,
    finish: CancellationToken,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let first = tokio::select! {
            biased;
            answer = outbox.recv() => answer,
            () = finish.cancelled(), if !outbox.is_closed() => {
                // No new answers; those in the queue still come out of `recv`.
                outbox.close();
                continue;
            }
        };
        let Some(first) = first else { break };
        buffer.clear();
        encode(framing.get(), first.get().as_bytes(), &mut buffer);
        while buffer.len() < COALESCE_BYTES {
            let Ok(answer) = outbox.try_recv() else { break };
            encode(framing.get(), answer.get().as_bytes(), &mut buffer);
        }
        let written = async {
            stream.write_all(&buffer).await?;
            stream.flush().await
        };
        tokio::time::timeout(stall, written)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if buffer.capacity() > 4 * COALESCE_BYTES {
            buffer = Vec::new();
        }
    }
    tokio::time::timeout(stall, stream.shutdown())
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}
