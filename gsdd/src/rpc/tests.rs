//! The method table and the typed handlers in it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use gsd_proto::api::{self, Progress, daemon};
use gsd_proto::client::{CallError, Client};
use gsd_proto::code::rpc;
use gsd_proto::{Code, Effect, Method, Subscription, WireError};
use jsonrpsee_core::server::RpcModule;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::app::App;
use crate::environment::Environment;
use crate::settings::{Flags, Settings};
use crate::transport::{Current, Limits, Peer, Service, serve_conn};

fn app() -> Arc<App> {
    let environment = Environment::of([("HOME", "/nowhere".into())], Path::new("/"));
    Arc::new(App::new(Settings::resolve(&Flags::default(), &environment).unwrap()).unwrap())
}

/// Sends each line and gives the answers.
async fn ask(app: &Arc<App>, methods: jsonrpsee_core::server::Methods, requests: &[Value]) -> Vec<Value> {
    let service = Service::new(methods, Arc::clone(app), Limits::default());
    let (near, far) = tokio::io::duplex(64 * 1024);
    let stop = app.shutdown.token().clone();
    tokio::spawn(serve_conn(far, service, Peer::default(), stop, std::future::pending::<()>));
    let (reader, mut writer) = tokio::io::split(near);
    let mut lines = BufReader::new(reader).lines();
    let mut answers = Vec::new();
    for request in requests {
        writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        answers.push(serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap());
    }
    answers
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A method that does whatever the test wants to see.
enum Probe {}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProbeParams {
    #[serde(default)]
    ctx: gsd_proto::Context,
    want: String,
}

impl ProbeParams {
    fn of(want: &str) -> Self {
        Self { ctx: gsd_proto::Context::default(), want: want.to_owned() }
    }
}

impl Method for Probe {
    const NAME: &'static str = "probe.it";
    const EFFECT: Effect = Effect::Read;
    type Params = ProbeParams;
    type Result = Value;
}

fn probe(params: &ProbeParams) -> Result<Value, WireError> {
    match params.want.as_str() {
        "panic" => panic!("secret"),
        "progress" => {
            let current = Current::get().unwrap();
            for done in 1..=3 {
                current.progress(&Progress {
                    phase: "count".into(),
                    done,
                    unit: "items".into(),
                    ..Progress::default()
                });
            }
            Ok(json!({"uid": current.peer().uid}))
        }
        "error" => Err(WireError::new(Code::LockHeld, "held").with_fix("wait", &["sleep", "1"])),
        other => Ok(json!({"got": other})),
    }
}

#[test]
fn the_table_of_the_contract_is_what_is_served() {
    let app = app();
    super::build(&app).unwrap();
    let served: BTreeSet<&str> = app.methods().iter().map(String::as_str).collect();
    let promised: BTreeSet<&str> = api::METHODS.iter().map(|(name, _)| *name).collect();
    assert_eq!(served, promised);
}

#[tokio::test]
async fn p02_typed_handlers_answer_results_errors_and_panics() {
    for blocking in [false, true] {
        let app = app();
        let mut module = RpcModule::from_arc(Arc::clone(&app));
        if blocking {
            super::register_blocking::<Probe, _>(&mut module, |_, params| probe(&params)).unwrap();
        } else {
            super::register::<Probe, _, _>(&mut module, async |_, params| probe(&params)).unwrap();
        }
        let want = |what: &str| request(Probe::NAME, &json!({"want": what, "unknown": 1}));
        let requests = [want("x"), want("error"), want("panic"), request(Probe::NAME, &json!({"want": 5}))];
        let answers = ask(&app, module.into(), &requests).await;
        assert_eq!(answers[0]["result"]["got"], "x");
        let error = &answers[1]["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&Code::LockHeld.number().into(), &"lock.held".into())
        );
        assert_eq!(
            (&error["data"]["exit"], &error["data"]["fix"][0]["argv"][0]),
            (&8.into(), &"sleep".into())
        );
        assert_eq!(answers[2]["error"]["code"], rpc::INTERNAL_ERROR);
        assert!(!answers[2].to_string().contains("secret"));
        assert_eq!(answers[3]["error"]["code"], rpc::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn fr036_protocol_numbers_are_checked_in_every_call_but_those_that_sort_it_out() {
    let app = app();
    let mut module = RpcModule::from_arc(Arc::clone(&app));
    super::daemon::add_to(&mut module).unwrap();
    super::register::<Probe, _, _>(&mut module, async |_, params| probe(&params)).unwrap();
    let forged = json!({"want": "x", "ctx": {"protocol": 999}, "protocol": {"min": 999, "max": 999}});
    let requests = [
        request(Probe::NAME, &forged),
        request(daemon::Hello::NAME, &forged),
        request(daemon::Status::NAME, &forged),
        request(daemon::Hello::NAME, &json!({"protocol": {"min": 0, "max": 7}})),
        request(daemon::Hello::NAME, &json!({"protocol": {"min": 1, "max": 1}, "required": ["no.such"]})),
    ];
    let answers = ask(&app, module.into(), &requests).await;
    for refused in [0, 1, 4] {
        assert_eq!(answers[refused]["error"]["data"]["code"], "daemon.protocol", "{refused}");
    }
    assert_eq!(answers[2]["result"]["protocol"]["max"], gsd_proto::PROTOCOL);
    assert_eq!(answers[3]["result"]["protocol"], gsd_proto::PROTOCOL);
}

#[tokio::test]
async fn t180_a_relative_working_directory_is_refused() {
    let app = app();
    let methods = super::build(&app).unwrap();
    let answers =
        ask(&app, methods, &[request(daemon::Status::NAME, &json!({"ctx": {"cwd": "../other"}}))]).await;
    assert_eq!(answers[0]["error"]["code"], rpc::INVALID_PARAMS);
}

/// Counts up to the number asked for.
enum Count {}

#[derive(Serialize, Deserialize)]
struct CountParams {
    to: u32,
}

impl Subscription for Count {
    const SUBSCRIBE: &'static str = "count.subscribe";
    const UNSUBSCRIBE: &'static str = "count.unsubscribe";
    const EVENT: &'static str = "count.counted";
    type Params = CountParams;
    type Event = u32;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typed_subscriptions_reach_the_blocking_client() {
    let app = app();
    let mut module = RpcModule::from_arc(Arc::clone(&app));
    super::register_blocking::<Probe, _>(&mut module, |_, params| probe(&params)).unwrap();
    super::register_subscription::<Count, _, _>(&mut module, async |_, params, sink| {
        for number in 0..params.to {
            assert!(sink.send(&number).await);
        }
        sink.closed().await;
    })
    .unwrap();
    let service = Service::new(module.into(), Arc::clone(&app), Limits::default());
    let connect = || {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let far = tokio::net::UnixStream::from_std(far).unwrap();
        let stop = app.shutdown.token().clone();
        tokio::spawn(serve_conn(
            far,
            Arc::clone(&service),
            Peer::default(),
            stop,
            std::future::pending::<()>,
        ));
        let mut client = Client::new(Box::new(near));
        client.set_timeout(Some(std::time::Duration::from_secs(20)));
        client
    };
    let (mut calling, subscribing, refused) = (connect(), connect(), connect());
    let used = tokio::task::spawn_blocking(move || {
        let answer = calling.call::<Probe>(&ProbeParams::of("x")).unwrap();
        assert_eq!(answer["got"], "x");
        let error = calling.call::<Probe>(&ProbeParams::of("error")).unwrap_err();
        assert_eq!(&*error.into_wire().code, "lock.held");
        // Progress goes to callers that ask for it, and to nobody else.
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        calling.on_progress(Some(Box::new(move |progress| listener.lock().unwrap().push(progress.done))));
        calling.call::<Probe>(&ProbeParams::of("progress")).unwrap();
        assert!(heard.lock().unwrap().is_empty());
        let ctx = gsd_proto::Context { progress: true, ..Default::default() };
        calling.call::<Probe>(&ProbeParams { ctx, want: "progress".into() }).unwrap();
        assert_eq!(*heard.lock().unwrap(), [1, 2, 3]);
        let mut events = subscribing.subscribe::<Count>(&CountParams { to: 1000 }).unwrap();
        for number in 0..1000 {
            assert_eq!(events.next().unwrap().unwrap(), number);
        }
        let soon = Some(std::time::Duration::from_millis(10));
        assert!(matches!(events.next_within(soon), Err(CallError::Timeout)));
        // Parameters that do not fit are an error of the opening call.
        let mut refused = refused;
        let error = refused.call_raw(Count::SUBSCRIBE, r#"{"to":"many"}"#).unwrap_err();
        assert_eq!(&*error.into_wire().code, "usage.invalid_params");
        events
    });
    let mut events = used.await.unwrap();
    // The end of the daemon ends the subscription.
    app.shutdown.request(daemon::When::Now);
    assert!(tokio::task::spawn_blocking(move || events.next().is_none()).await.unwrap());
}
