//! Calls, notifications, batches, cancellation, ends.

use gsd_proto::Code;
use gsd_proto::code::rpc;
use serde_json::{Value, json};

use super::harness::{Harness, SOON, call, code, soon};

#[tokio::test]
async fn p01_unusable_ids_are_answered_with_id_null() {
    let mut conn = Harness::new();
    for id in ["-5", "1.5", "18446744073709551616"] {
        let answer = conn.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#)).await;
        assert_eq!((code(&answer), &answer["id"]), (rpc::INVALID_REQUEST.into(), &Value::Null), "{id}");
    }
    let largest =
        conn.ask(r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"echo","params":{"a":1}}"#).await;
    assert_eq!(largest["id"], u64::MAX);
}

#[tokio::test]
async fn p02_a_panic_is_an_answer_and_the_connection_lives() {
    let mut conn = Harness::new();
    for method in ["panic.sync", "panic.async"] {
        let answer = conn.ask(&call(1, method, "{}")).await;
        assert_eq!((code(&answer), &answer["id"]), (rpc::INTERNAL_ERROR.into(), &json!(1)), "{method}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn notifications_are_never_answered() {
    let mut conn = Harness::new();
    conn.send(r#"{"jsonrpc":"2.0","method":"echo","params":{}}"#).await;
    conn.send(r#"{"jsonrpc":"2.0","method":"no.such","params":{}}"#).await;
    conn.send(r#"{"jsonrpc":"2.0","method":"panic.sync"}"#).await;
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn unknown_methods_are_refused_by_name_and_cleaned() {
    let mut conn = Harness::new();
    let answer = conn.ask(r#"{"jsonrpc":"2.0","id":1,"method":"a\u001b[31m`x`"}"#).await;
    assert_eq!(code(&answer), i64::from(rpc::METHOD_NOT_FOUND));
    assert_eq!(answer["error"]["data"]["code"], Code::UsageUnknownMethod.name());
    assert!(!answer["error"]["message"].as_str().unwrap().contains('\u{1b}'));
}

#[tokio::test]
async fn p03_batches() {
    let mut conn = Harness::new();
    let answer = conn
        .ask(&format!(
            r#"[{}, {{"jsonrpc":"2.0","method":"echo"}}, 7, {}, {}, [1]]"#,
            call(1, "echo", "{\"a\":1}"),
            call(2, "watch", "{}"),
            call(3, "panic.async", "{}")
        ))
        .await;
    let answers = answer.as_array().unwrap();
    assert_eq!(answers.len(), 5, "{answer}");
    assert_eq!(answers[0]["result"], json!({"a": 1}));
    assert_eq!((code(&answers[1]), &answers[1]["id"]), (rpc::INVALID_REQUEST.into(), &Value::Null));
    assert_eq!((code(&answers[2]), &answers[2]["id"]), (rpc::INVALID_REQUEST.into(), &json!(2)));
    assert_eq!(code(&answers[3]), i64::from(rpc::INTERNAL_ERROR));
    assert_eq!(code(&answers[4]), i64::from(rpc::INVALID_REQUEST));
    // An empty one is an error, one of notifications only is nothing.
    assert_eq!(code(&conn.ask("[]").await), i64::from(rpc::INVALID_REQUEST));
    conn.send(r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"echo"}]"#).await;
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn p05_a_last_line_without_newline_and_a_half_closed_connection_are_served() {
    let mut conn = Harness::new();
    conn.send_bytes(call(1, "held", "{}").as_bytes()).await;
    conn.end_sending().await;
    soon(&conn.stage.begun).await;
    conn.stage.release.notify_one();
    assert_eq!(conn.message().await["result"], "released");
    assert_eq!(conn.line().await, None);
    tokio::time::timeout(SOON, conn.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn p08_cancel_by_id_is_answered() {
    for name in ["$/cancelRequest", "$/cancel"] {
        let mut conn = Harness::new();
        conn.send(&call(7, "held", "{}")).await;
        soon(&conn.stage.begun).await;
        conn.send(&format!(r#"{{"jsonrpc":"2.0","method":"{name}","params":{{"id":7}}}}"#)).await;
        let answer = conn.message().await;
        assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(7), &json!("cancelled")));
        soon(&conn.stage.dropped).await;
        // Unknown ids and forms are ignored; as a call it has an answer.
        conn.send(&format!(r#"{{"jsonrpc":"2.0","method":"{name}","params":{{"id":99}}}}"#)).await;
        conn.send(&format!(r#"{{"jsonrpc":"2.0","method":"{name}"}}"#)).await;
        assert_eq!(conn.ask(&call(8, name, "{\"id\":99}")).await["result"], Value::Null);
    }
}

#[tokio::test]
async fn p08_closing_the_connection_abandons_its_calls() {
    let mut conn = Harness::new();
    conn.send(&call(1, "held", "{}")).await;
    soon(&conn.stage.begun).await;
    conn.end_sending().await;
    conn.hang_up.take().unwrap().send(()).unwrap();
    soon(&conn.stage.dropped).await;
    tokio::time::timeout(SOON, conn.served).await.unwrap().unwrap();
    assert_eq!(conn.app.in_flight.count(), 0);
}

#[tokio::test]
async fn headers_are_answered_with_headers() {
    let mut conn = Harness::new();
    let body = call(1, "echo", "{\"a\":\"é\"}");
    conn.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    conn.end_sending().await;
    let text = String::from_utf8(conn.rest().await).unwrap();
    let (head, answer) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(head, format!("Content-Length: {}", answer.len()));
    assert_eq!(serde_json::from_str::<Value>(answer).unwrap()["result"]["a"], "é");
}

#[tokio::test]
async fn the_end_of_the_daemon_waits_for_calls_in_flight() {
    let mut conn = Harness::new();
    conn.send(&call(1, "held", "{}")).await;
    soon(&conn.stage.begun).await;
    conn.app.shutdown.request(gsd_proto::api::daemon::When::Now);
    conn.stage.release.notify_one();
    assert_eq!(conn.message().await["result"], "released");
    assert_eq!(conn.line().await, None);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_daemon_does_not_wait_for_ever() {
    let mut conn = Harness::new();
    conn.send(&call(1, "held", "{}")).await;
    soon(&conn.stage.begun).await;
    conn.app.shutdown.request(gsd_proto::api::daemon::When::Now);
    tokio::time::timeout(SOON, &mut conn.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn clients_are_counted() {
    let mut conn = Harness::new();
    conn.nothing_before_echo().await;
    assert_eq!(conn.app.shutdown.clients(), 1);
    conn.end_sending().await;
    tokio::time::timeout(SOON, &mut conn.served).await.unwrap().unwrap();
    assert_eq!(conn.app.shutdown.clients(), 0);
    assert_eq!(conn.app.latencies.report()["echo"].count, 1);
}

#[tokio::test]
async fn calls_that_cross_the_end_are_told_that_they_were_not_begun() {
    let mut conn = Harness::new();
    conn.nothing_before_echo().await;
    // Nothing is polled between these two lines: both are there when the connection looks.
    conn.app.shutdown.request(gsd_proto::api::daemon::When::Now);
    conn.send(&call(1, "held", "{}")).await;
    let answer = conn.message().await;
    assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(1), &json!("daemon.stopping")));
}
