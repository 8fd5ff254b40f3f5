//! Push: order, shape, bounds, lagging readers.

use gsd_proto::code::rpc;
use serde_json::{Value, json};

use super::harness::{Harness, SOON, call, code};
use crate::transport::Limits;

#[tokio::test]
async fn p07_events_have_the_documented_shape_and_follow_the_answer() {
    let mut conn = Harness::new();
    let answer = conn.ask(&call(1, "watch", "{}")).await;
    let id = answer["result"].clone();
    assert!(id.is_u64(), "{answer}");
    conn.stage.events.send(5).unwrap();
    let event = conn.message().await;
    let expected =
        json!({"jsonrpc":"2.0","method":"watch.event","params":{"subscription":id,"result":{"number":5}}});
    assert_eq!(event, expected);
    // The closing call takes the id positionally.
    assert_eq!(conn.ask(&call(2, "unwatch", &format!("[{id}]"))).await["result"], true);
    assert_eq!(conn.ask(&call(3, "unwatch", &format!("[{id}]"))).await["result"], false);
    conn.nothing_before_echo().await;
}

#[tokio::test]
async fn a_subscription_belongs_to_its_connection() {
    let mut conn = Harness::new();
    let id = conn.ask(&call(1, "watch", "{}")).await["result"].clone();
    let mut other = Harness::new();
    assert_eq!(other.ask(&call(1, "unwatch", &format!("[{id}]"))).await["result"], false);
    conn.stage.events.send(1).unwrap();
    assert_eq!(conn.message().await["params"]["result"]["number"], 1);
}

#[tokio::test]
async fn p03_subscriptions_are_bounded_for_the_life_of_a_connection() {
    let mut conn = Harness::with(Limits { subscriptions: 2, ..Limits::default() }, 64 * 1024);
    let first = conn.ask(&call(1, "watch", "{}")).await["result"].clone();
    conn.ask(&call(2, "watch", "{}")).await;
    assert_eq!(code(&conn.ask(&call(3, "watch", "{}")).await), i64::from(rpc::TOO_MANY_SUBSCRIPTIONS));
    conn.ask(&call(4, "unwatch", &format!("[{first}]"))).await;
    // The place is free once the handler has noticed.
    let deadline = tokio::time::Instant::now() + SOON;
    while code(&conn.ask(&call(5, "watch", "{}")).await) != 0 {
        assert!(tokio::time::Instant::now() < deadline, "the place stayed taken");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn p06_a_slow_reader_costs_no_memory_and_gets_one_reset() {
    let mut conn = Harness::with(Limits { outbox: 4, ..Limits::default() }, 1024);
    conn.ask(&call(1, "watch", "{}")).await;
    for number in 0..20_000 {
        conn.stage.events.send(number).unwrap();
        if number % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let (mut resets, mut last, mut read) = (0, Value::Null, 0);
    while last != 19_999 {
        let result = conn.message().await["params"]["result"].clone();
        if result["reset"] == true {
            resets += 1;
        } else {
            last = result["number"].clone();
        }
        read += 1;
    }
    assert!(resets >= 1, "nothing was lost");
    assert!(read < 200, "{read} events were kept for a reader that slept");
}

#[tokio::test]
async fn subscriptions_end_with_their_connection() {
    let mut conn = Harness::new();
    conn.ask(&call(1, "watch", "{}")).await;
    conn.end_sending().await;
    assert_eq!(conn.line().await, None);
    tokio::time::timeout(SOON, &mut conn.served).await.unwrap().unwrap();
    let deadline = tokio::time::Instant::now() + SOON;
    while conn.stage.events.receiver_count() > 0 {
        assert!(tokio::time::Instant::now() < deadline, "the handler goes on");
        tokio::task::yield_now().await;
    }
}
