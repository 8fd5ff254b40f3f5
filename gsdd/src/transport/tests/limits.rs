//! What a client cannot use up.

use std::time::Duration;

use gsd_proto::code::rpc;
use serde_json::{Value, json};

use super::harness::{Harness, SOON, call, code, soon};
use crate::transport::Limits;

#[tokio::test]
async fn p04_an_over_long_line_is_answered_and_the_next_call_served() {
    let mut conn = Harness::with(Limits { frame_bytes: 1000, ..Limits::default() }, 64 * 1024);
    let answer = conn.ask(&call(1, "echo", &format!("{{\"a\":\"{}\"}}", "x".repeat(5000)))).await;
    assert_eq!((code(&answer), &answer["id"]), (rpc::FRAME_TOO_LONG.into(), &Value::Null));
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn p04_t175_a_giant_announced_frame_is_answered_before_it_arrives() {
    let mut conn = Harness::new();
    conn.send_bytes(b"Content-Length: 4294967296\r\n\r\n").await;
    // The answer comes at once; nothing waits for 4 GiB, and nothing was allocated for them.
    conn.end_sending().await;
    let text = String::from_utf8(conn.rest().await).unwrap();
    assert!(text.contains(&rpc::FRAME_TOO_LONG.to_string()), "{text}");
}

#[tokio::test]
async fn broken_headers_are_answered_and_the_connection_closed() {
    let mut conn = Harness::new();
    conn.send_bytes(b"Content-Length: x\r\n\r\n{}").await;
    let text = String::from_utf8(conn.rest().await).unwrap();
    assert!(text.contains(&rpc::PARSE_ERROR.to_string()), "{text}");
}

#[tokio::test]
async fn t176_deep_and_duplicate_key_calls_are_refused_and_the_connection_lives() {
    let mut conn = Harness::new();
    let deep = conn.ask(&call(1, "echo", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)))).await;
    assert_eq!(code(&deep), i64::from(rpc::INVALID_REQUEST));
    let twice = conn.ask(&call(1, "echo", r#"{"id":"a","id":"b"}"#)).await;
    assert_eq!(code(&twice), i64::from(rpc::INVALID_REQUEST));
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn p03_t177_a_batch_bomb_is_one_answer() {
    let mut conn = Harness::with(Limits::default(), 1024 * 1024);
    let entries = vec![call(1, "held", "{}"); 101].join(",");
    let answer = conn.ask(&format!("[{entries}]")).await;
    assert_eq!((code(&answer), &answer["id"]), (rpc::BATCH_TOO_LONG.into(), &Value::Null));
}

#[tokio::test]
async fn p03_the_answers_of_a_batch_are_bounded_together() {
    let mut conn = Harness::with(Limits { answer_bytes: 10_000, ..Limits::default() }, 64 * 1024);
    let entries = vec![call(1, "big", "[4000]"); 3].join(",");
    let answer = conn.ask(&format!("[{entries}]")).await;
    assert_eq!(code(&answer), i64::from(rpc::BATCH_ANSWER_TOO_LONG));
    // A single answer is bounded too.
    let answer = conn.ask(&call(1, "big", "[20000]")).await;
    assert_eq!((code(&answer), &answer["id"]), (rpc::ANSWER_TOO_LONG.into(), &json!(1)));
}

#[tokio::test]
async fn t177_a_flood_waits_outside() {
    let mut conn = Harness::with(Limits { in_flight: 4, ..Limits::default() }, 1024);
    for id in 0..4 {
        conn.send(&call(id, "held", "{}")).await;
        soon(&conn.stage.begun).await;
    }
    // The fifth is read and waits for room; what comes after it stays in the pipe.
    conn.send(&call(4, "echo", "{}")).await;
    let more = call(5, "echo", "{}");
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_millis(50), conn.send_bytes(format!("{more}\n").as_bytes()))
        .await
        .is_ok()
    {
        sent += 1;
        assert!(sent < 10_000, "the flood was taken in");
    }
    assert_eq!(conn.app.in_flight.count(), 4);
    assert!(!conn.app.latencies.report().contains_key("echo"), "calls were served beyond the limit");
    for _ in 0..4 {
        conn.stage.release.notify_one();
        conn.message().await;
    }
}

#[tokio::test]
async fn t177_large_calls_in_flight_are_bounded_by_their_bytes() {
    let limits = Limits { in_flight_bytes: 8 * 1024, ..Limits::default() };
    let mut conn = Harness::with(limits, 64 * 1024);
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(6000));
    conn.send(&call(1, "held", &large)).await;
    soon(&conn.stage.begun).await;
    conn.send(&call(2, "echo", &large)).await;
    conn.stage.release.notify_one();
    assert_eq!(
        (conn.message().await["id"].clone(), conn.message().await["id"].clone()),
        (json!(1), json!(2))
    );
}

#[tokio::test(start_paused = true)]
async fn t178_a_client_that_does_not_read_loses_its_connection() {
    let mut conn = Harness::with(Limits::default(), 16 * 1024);
    for id in 0..20 {
        conn.send(&call(id, "big", "[8000]")).await;
    }
    tokio::time::timeout(Limits::default().write_stall * 3, &mut conn.served)
        .await
        .expect("still served")
        .unwrap();
    assert_eq!(conn.app.in_flight.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn t178_a_frame_that_does_not_end_loses_its_connection() {
    let mut conn = Harness::new();
    for byte in br#"{"jsonrpc":"2.0"#.repeat(40) {
        if conn.served.is_finished() {
            return;
        }
        conn.send_bytes(&[byte]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("a byte a second kept the connection open");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_stays() {
    let mut conn = Harness::new();
    conn.nothing_before_echo().await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    conn.nothing_before_echo().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_deadline() {
    let mut conn = Harness::with(Limits { call: SOON / 2, ..Limits::default() }, 64 * 1024);
    let answer = conn.ask(&call(1, "held", "{}")).await;
    assert_eq!(answer["error"]["data"]["code"], "timeout");
}
