//! The method table and the typed handlers in it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use gsd_proto::api::{self, daemon};
use gsd_proto::code::rpc;
use gsd_proto::{Code, Effect, Method, WireError};
use jsonrpsee_core::server::RpcModule;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::app::App;
use crate::environment::Environment;
use crate::settings::{Flags, Settings};
use crate::transport::{Limits, Peer, Service, serve_conn};

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
    want: String,
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
