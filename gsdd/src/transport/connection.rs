//! One connection from its first byte to its last.
//!
//! The reader takes a frame, waits for room among the calls in flight, and starts a task for it; the tasks put their
//! answers into a bounded outbox; one writer empties it. A client that does not read its answers fills the outbox,
//! which stops its tasks, which stops the reader: it costs a bounded amount of memory and, after a while, its
//! connection.

use std::sync::Arc;

use gsd_proto::code::rpc;
use gsd_proto::frame::{Decoder, Frame, FrameError};
use gsd_proto::message::{Incoming, RequestId, classify};
use gsd_proto::{Code, WireError};
use jsonrpsee_core::server::{BoundedSubscriptions, MethodResponse, MethodSink};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::{owned, serve_batch};
use super::cancel::{Cancels, is_cancel};
use super::dispatch::{Caller, Place, dispatch, transport_error};
use super::writer::{SharedFraming, write_answers};
use super::{Limits, Peer, Service};
use crate::rpc::error_object;

/// Bytes asked for in one read.
const READ_BYTES: usize = 64 * 1024;

/// In-flight bytes are counted in pieces of this size.
const PIECE_BYTES: usize = 1024;

/// How the reading of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The client sends no more; it may still read.
    Eof,
    /// The framing is broken, or a frame was begun and not ended in time.
    Broken,
    /// The daemon ends.
    Stopping,
    /// Nothing can be written any more.
    Unwritable,
}

/// Serves one connection until the client is done, gone or too slow, or until `stop`.
///
/// `gone` is asked for once the client has ended its sending: the future it returns completes when the client cannot
/// be written to any more, which abandons the calls that are still open. A stream that cannot tell passes
/// `std::future::pending`.
pub async fn serve_conn<S, G>(
    stream: S,
    service: Arc<Service>,
    peer: Peer,
    stop: CancellationToken,
    gone: impl FnOnce() -> G + Send,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
    G: Future<Output = ()> + Send,
{
    let _client = service.app.shutdown.client();
    let limits = service.limits;
    let (read_half, write_half) = tokio::io::split(stream);
    let (outbox, answers) = mpsc::channel(limits.outbox);
    let framing = SharedFraming::default();
    let finish = CancellationToken::new();
    let mut writer =
        tokio::spawn(write_answers(write_half, answers, framing.clone(), limits.write_stall, finish.clone()));
    let answer_limit = u32::try_from(limits.answer_bytes).unwrap_or(u32::MAX);
    let caller = Caller {
        connection: service.next_connection(),
        peer,
        sink: MethodSink::new_with_limit(outbox.clone(), answer_limit),
        subscriptions: BoundedSubscriptions::new(limits.subscriptions),
        cancels: Cancels::default(),
        service,
    };
    let mut reader = Reader {
        stream: read_half,
        decoder: Decoder::new(limits.frame_bytes),
        framing,
        caller,
        outbox,
        tasks: JoinSet::new(),
        room: Room::new(&limits),
        limits,
    };
    let end = reader.run(&stop).await;
    let Reader { stream, mut tasks, caller, outbox, .. } = reader;
    drop((stream, caller, outbox));
    match end {
        End::Eof => {
            let all_done = async { while tasks.join_next().await.is_some() {} };
            tokio::select! {
                () = all_done => {}
                () = gone() => {}
                _ = &mut writer => {}
                () = stopped_and_drained(&stop, &limits) => {}
            }
        }
        End::Stopping => {
            let all_done = async { while tasks.join_next().await.is_some() {} };
            tokio::select! {
                () = all_done => {}
                _ = &mut writer => {}
                () = tokio::time::sleep(limits.drain) => {}
            }
        }
        End::Broken | End::Unwritable => {}
    }
    tasks.shutdown().await;
    finish.cancel();
    if !writer.is_finished() {
        // What is queued gets the usual time, but the end of the daemon does not wait for a client that does not read.
        let patience = async {
            stop.cancelled().await;
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        };
        tokio::select! {
            _ = &mut writer => {}
            () = patience => writer.abort(),
        }
    }
}

async fn stopped_and_drained(stop: &CancellationToken, limits: &Limits) {
    stop.cancelled().await;
    tokio::time::sleep(limits.drain).await;
}

/// Room for calls in flight: a number of them, and a number of bytes.
#[derive(Clone, Debug)]
struct Room {
    calls: Arc<Semaphore>,
    pieces: Arc<Semaphore>,
    all_pieces: usize,
}

impl Room {
    fn new(limits: &Limits) -> Self {
        let all_pieces = (limits.in_flight_bytes / PIECE_BYTES).max(1);
        Self {
            calls: Arc::new(Semaphore::new(limits.in_flight)),
            pieces: Arc::new(Semaphore::new(all_pieces)),
            all_pieces,
        }
    }

    /// Waits until a frame of this size fits. `None` cannot happen: the semaphores are never closed.
    async fn take(&self, bytes: usize) -> Option<impl Send + 'static> {
        let pieces = (bytes / PIECE_BYTES + 1).min(self.all_pieces);
        let call = Arc::clone(&self.calls).acquire_owned().await.ok()?;
        let pieces = Arc::clone(&self.pieces)
            .acquire_many_owned(u32::try_from(pieces).unwrap_or(u32::MAX))
            .await
            .ok()?;
        Some((call, pieces))
    }
}

struct Reader<R> {
    stream: R,
    decoder: Decoder,
    framing: SharedFraming,
    caller: Caller,
    outbox: mpsc::Sender<Box<RawValue>>,
    tasks: JoinSet<()>,
    room: Room,
    limits: Limits,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    async fn run(&mut self, stop: &CancellationToken) -> End {
        let outbox = self.outbox.clone();
        let end = tokio::select! {
            biased;
            () = stop.cancelled() => End::Stopping,
            () = outbox.closed() => End::Unwritable,
            end = self.read_all() => end,
        };
        if end == End::Stopping {
            self.refuse_what_is_there().await;
        }
        end
    }

    /// Calls that were sent before the client could know of the end are told that they were not begun, so that they
    /// can be made again elsewhere.
    async fn refuse_what_is_there(&mut self) {
        let mut chunk = vec![0; READ_BYTES];
        loop {
            while let Ok(Some(frame)) = self.decoder.next_frame() {
                self.framing.set(self.decoder.framing());
                if let Frame::Message(bytes) = frame
                    && let Incoming::Call { id, .. } = classify(&bytes)
                {
                    let error = WireError::new(Code::DaemonStopping, "the daemon is shutting down");
                    let error = error_object(Code::DaemonStopping.number(), error);
                    self.answer(&MethodResponse::error(super::dispatch::table_id(&id), error)).await;
                }
            }
            match tokio::time::timeout(std::time::Duration::ZERO, self.stream.read(&mut chunk)).await {
                Ok(Ok(read)) if read > 0 => self.decoder.push(chunk.get(..read).unwrap_or_default()),
                _ => return,
            }
        }
    }

    async fn read_all(&mut self) -> End {
        let mut chunk = vec![0; READ_BYTES];
        let mut frame_began: Option<Instant> = None;
        loop {
            while let Some(done) = self.tasks.try_join_next() {
                drop(done);
            }
            match self.decoder.next_frame() {
                Ok(Some(frame)) => {
                    frame_began = None;
                    self.framing.set(self.decoder.framing());
                    self.take(frame).await;
                    continue;
                }
                Ok(None) => {}
                Err(error) => return self.broken(&error).await,
            }
            let read = if self.decoder.is_inside_frame() {
                let began = *frame_began.get_or_insert_with(Instant::now);
                let Ok(read) =
                    tokio::time::timeout_at(began + self.limits.read_stall, self.stream.read(&mut chunk))
                        .await
                else {
                    return End::Broken;
                };
                read
            } else {
                frame_began = None;
                self.stream.read(&mut chunk).await
            };
            match read {
                Ok(0) => {
                    if let Some(frame) = self.decoder.finish() {
                        self.take(frame).await;
                    }
                    return End::Eof;
                }
                Ok(read) => self.decoder.push(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return End::Eof,
            }
        }
    }

    async fn broken(&mut self, error: &FrameError) -> End {
        self.framing.set(self.decoder.framing());
        self.answer(&transport_error(&RequestId::Null, rpc::PARSE_ERROR, &error.to_string())).await;
        End::Broken
    }

    async fn answer(&self, answer: &MethodResponse) {
        // A closed outbox is noticed by `run`.
        drop(self.outbox.send(answer.to_json()).await);
    }

    async fn take(&mut self, frame: Frame) {
        let bytes = match frame {
            Frame::Message(bytes) => bytes,
            Frame::TooLong => {
                let message = format!("a frame may have {} bytes", self.limits.frame_bytes);
                return self.answer(&transport_error(&RequestId::Null, rpc::FRAME_TOO_LONG, &message)).await;
            }
        };
        // Cancellation must get through while all the room is taken, hence before waiting for room.
        let work = match classify(&bytes) {
            Incoming::Notification { method, params } if is_cancel(&method) => {
                return self.caller.cancels.cancel(params);
            }
            Incoming::Call { id, method, params } if is_cancel(&method) => {
                self.caller.cancels.cancel(params);
                let null = jsonrpsee_core::server::ResponsePayload::success(());
                let answer =
                    MethodResponse::response(super::dispatch::table_id(&id), null, self.limits.answer_bytes);
                return self.answer(&answer).await;
            }
            Incoming::Refused(refusal) => {
                return self.answer(&transport_error(&refusal.id, refusal.number, refusal.reason)).await;
            }
            Incoming::Call { id, method, params } => Work::Call(owned(id, &method, params), Place::Alone),
            Incoming::Notification { method, params } => {
                Work::Call(owned(RequestId::Null, &method, params), Place::Notification)
            }
            Incoming::Batch(entries) => Work::Batch(entries.into_iter().map(ToOwned::to_owned).collect()),
        };
        let size = bytes.len();
        drop(bytes);
        let Some(room) = self.room.take(size).await else { return };
        let (caller, outbox) = (self.caller.clone(), self.outbox.clone());
        self.tasks.spawn(async move {
            let answer = match work {
                Work::Call(call, place) => {
                    let answer = dispatch(&caller, call, place).await;
                    answer.filter(|_| place != Place::Notification)
                }
                Work::Batch(entries) => serve_batch(&caller, entries).await,
            };
            if let Some(answer) = answer {
                drop(outbox.send(answer.into_json()).await);
            }
            drop(room);
        });
    }
}

enum Work {
    Call(super::dispatch::Call, Place),
    Batch(Vec<Box<RawValue>>),
}
