//! A connection to a method table made for tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jsonrpsee_core::server::{Methods, RpcModule};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::environment::Environment;
use crate::settings::{Flags, Settings};
use crate::transport::{Limits, Peer, Service, serve_conn};

/// Longest wait for anything that is expected to happen.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// What the methods of the table share with the test.
#[derive(Debug)]
pub(super) struct Stage {
    /// Lets one `held` call go on.
    pub(super) release: Notify,
    /// Tells that a `held` call has begun.
    pub(super) begun: Notify,
    /// Tells that a `held` call was dropped before it was done.
    pub(super) dropped: Arc<Notify>,
    /// Events of the subscription.
    pub(super) events: broadcast::Sender<u64>,
}

/// Notifies when it is dropped.
struct Tell(Arc<Notify>, bool);

impl Drop for Tell {
    fn drop(&mut self) {
        if !self.1 {
            self.0.notify_one();
        }
    }
}

pub(in crate::transport) fn app() -> Arc<App> {
    let environment = Environment::of([("HOME", "/nowhere".into())], Path::new("/"));
    Arc::new(App::new(Settings::resolve(&Flags::default(), &environment).unwrap()).unwrap())
}

/// `echo`, `big`, `held`, three that panic, and the subscription `watch`.
fn methods(stage: &Arc<Stage>) -> Methods {
    let mut module = RpcModule::new(Arc::clone(stage));
    module.register_method("echo", |params, _, _| params.parse::<Value>().unwrap_or(Value::Null)).unwrap();
    module.register_method("big", |params, _, _| "x".repeat(params.one::<usize>().unwrap_or(0))).unwrap();
    module
        .register_async_method("held", |_, stage, _| async move {
            let mut tell = Tell(Arc::clone(&stage.dropped), false);
            stage.begun.notify_one();
            stage.release.notified().await;
            tell.1 = true;
            "released"
        })
        .unwrap();
    module
        .register_method::<Result<(), jsonrpsee_types::ErrorObjectOwned>, _>("panic.sync", |_, _, _| {
            panic!("secret")
        })
        .unwrap();
    module
        .register_async_method("panic.async", |_, _, _| async move {
            if std::hint::black_box(true) {
                panic!("secret");
            }
            "never"
        })
        .unwrap();
    module
        .register_subscription("watch", "watch.event", "unwatch", |_, pending, stage, _| async move {
            let mut events = stage.events.subscribe();
            let Ok(sink) = pending.accept().await else { return };
            loop {
                let event = tokio::select! {
                    () = sink.closed() => return,
                    event = events.recv() => event,
                };
                let message = match event {
                    Ok(number) => json!({"number": number}),
                    Err(broadcast::error::RecvError::Lagged(lost)) => json!({"reset": true, "lagged": lost}),
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                if sink.send(serde_json::value::to_raw_value(&message).unwrap()).await.is_err() {
                    return;
                }
            }
        })
        .unwrap();
    module.into()
}

/// One connection, seen from the client.
pub(super) struct Harness {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    pub(super) stage: Arc<Stage>,
    pub(super) app: Arc<App>,
    /// Ends when the connection has been served.
    pub(super) served: JoinHandle<()>,
    /// Tells the connection that the client is gone for good.
    pub(super) hang_up: Option<oneshot::Sender<()>>,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with(Limits::default(), 64 * 1024)
    }

    /// `pipe` is how many bytes the connection holds in each direction.
    pub(super) fn with(limits: Limits, pipe: usize) -> Self {
        let stage = Arc::new(Stage {
            release: Notify::new(),
            begun: Notify::new(),
            dropped: Arc::new(Notify::new()),
            events: broadcast::Sender::new(16),
        });
        let app = app();
        Self::of(Service::new(methods(&stage), Arc::clone(&app), limits), stage, app, pipe)
    }

    /// Another connection to the same table.
    pub(super) fn of(service: Arc<Service>, stage: Arc<Stage>, app: Arc<App>, pipe: usize) -> Self {
        let (near, far) = tokio::io::duplex(pipe);
        let (hang_up, gone) = oneshot::channel::<()>();
        let stop = app.shutdown.token().clone();
        let gone = async move {
            if gone.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let served = tokio::spawn(serve_conn(far, service, Peer::default(), stop, move || gone));
        let (reader, writer) = tokio::io::split(near);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
            stage,
            app,
            served,
            hang_up: Some(hang_up),
        }
    }

    pub(super) async fn send(&mut self, text: &str) {
        self.send_bytes(format!("{text}\n").as_bytes()).await;
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().unwrap();
        tokio::time::timeout(SOON, writer.write_all(bytes)).await.expect("writing takes too long").unwrap();
    }

    /// Ends the sending, as `printf … | tool` does.
    pub(super) async fn end_sending(&mut self) {
        self.writer.take().unwrap().shutdown().await.unwrap();
    }

    /// The next line; `None` at the end.
    pub(super) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read =
            tokio::time::timeout(SOON, self.reader.read_line(&mut line)).await.expect("no answer").unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next message; `null` at the end.
    pub(super) async fn message(&mut self) -> Value {
        self.line().await.map_or(Value::Null, |line| serde_json::from_str(&line).unwrap())
    }

    /// Sends one line and gives the next message.
    pub(super) async fn ask(&mut self, text: &str) -> Value {
        self.send(text).await;
        self.message().await
    }

    /// Everything until the end of the connection.
    pub(super) async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        tokio::time::timeout(SOON, self.reader.read_to_end(&mut bytes)).await.expect("no end").unwrap();
        bytes
    }

    /// Proves that nothing was sent before the answer to this call.
    pub(super) async fn nothing_before_echo(&mut self) {
        let answer = self.ask(r#"{"jsonrpc":"2.0","id":"sentinel","method":"echo"}"#).await;
        assert_eq!(answer["id"], "sentinel", "{answer}");
    }
}

pub(super) fn call(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(super) fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or(0)
}

/// Waits for `told`.
pub(super) async fn soon(told: &Notify) {
    tokio::time::timeout(SOON, told.notified()).await.expect("it did not happen");
}
