use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use super::*;
use crate::api::daemon::{Shutdown, ShutdownParams, Status, StatusParams};
use crate::code::rpc;

/// A server that reads one line and writes `answer`, in which `ID` stands for the id that came.
fn server(answer: &'static str) -> (Client, JoinHandle<String>) {
    let (near, far) = UnixStream::pair().unwrap();
    let serving = std::thread::spawn(move || {
        let mut line = String::new();
        let mut reader = BufReader::new(&far);
        reader.read_line(&mut line).unwrap();
        let request: serde_json::Value = serde_json::from_str(&line).unwrap();
        (&far).write_all(answer.replace("ID", &request["id"].to_string()).as_bytes()).unwrap();
        // Stay until the client goes, unless it is to see the end.
        if !answer.is_empty() {
            drop(reader.read_line(&mut String::new()));
        }
        line
    });
    let mut client = Client::new(Box::new(near));
    client.set_timeout(Some(Duration::from_secs(20)));
    (client, serving)
}

fn status(answer: &'static str) -> Result<crate::api::daemon::StatusResult, CallError> {
    server(answer).0.call::<Status>(&StatusParams::default())
}

#[test]
fn an_answer_is_found_among_other_messages() {
    let got = status(
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"pid\":7,\"later\":{}}}\n",
    );
    assert_eq!(got.unwrap().pid, 7);
}

#[test]
fn errors_carry_their_code_and_exit_status() {
    let with_data = status(
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32028,\"message\":\"m\",\"data\":{\"code\":\"lock.held\",\"message\":\"m\",\"exit\":8}}}\n",
    );
    let wire = with_data.unwrap_err().into_wire();
    assert_eq!((&*wire.code, wire.exit), ("lock.held", 8));
    let without =
        status("{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32601,\"message\":\"none\"}}\n");
    assert!(matches!(&without, Err(CallError::Remote { number: rpc::METHOD_NOT_FOUND, .. })));
    assert_eq!(&*without.unwrap_err().into_wire().code, "usage.unknown_method");
}

#[test]
fn a_refusal_without_id_is_the_answer_to_the_one_open_call() {
    let got =
        status("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32007,\"message\":\"too long\"}}\n");
    assert!(matches!(got, Err(CallError::Remote { number: rpc::FRAME_TOO_LONG, .. })));
}

#[test]
fn a_refusal_is_heard_although_the_other_end_hung_up_before_the_call() {
    let (near, far) = UnixStream::pair().unwrap();
    (&far)
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32007,\"message\":\"busy\"}}\n")
        .unwrap();
    drop(far);
    let mut client = Client::new(Box::new(near));
    let got = client.call::<Status>(&StatusParams::default());
    assert!(matches!(got, Err(CallError::Remote { .. })), "{got:?}");
    // With nothing said it is what it looks like.
    let got = client.call::<Status>(&StatusParams::default());
    assert!(matches!(got, Err(CallError::Closed)), "{got:?}");
}

#[test]
fn what_is_no_answer_is_an_error_and_not_a_wait() {
    assert!(matches!(status("hello\n"), Err(CallError::NotAnAnswer(_))));
    assert!(matches!(status(""), Err(CallError::Closed)));
    assert!(matches!(
        status("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":7}\n"),
        Err(CallError::Decode { .. })
    ));
}

#[test]
fn an_answer_that_does_not_come_is_a_timeout() {
    let (near, _far) = UnixStream::pair().unwrap();
    let mut client = Client::new(Box::new(near));
    client.set_timeout(Some(Duration::from_millis(20)));
    let error = client.call::<Status>(&StatusParams::default()).unwrap_err();
    assert!(matches!(error, CallError::Timeout) && error.is_transport());
    assert_eq!(error.into_wire().exit, 124);
}

#[test]
fn t175_an_over_long_answer_is_not_stored() {
    let (near, far) = UnixStream::pair().unwrap();
    let flood = std::thread::spawn(move || {
        let piece = [b'x'; 64 * 1024];
        // Ends with an error once the client has gone.
        while (&far).write_all(&piece).is_ok() {}
    });
    let mut client = Client::new(Box::new(near));
    client.set_timeout(Some(Duration::from_secs(20)));
    assert!(matches!(client.call::<Status>(&StatusParams::default()), Err(CallError::TooLong)));
    drop(client);
    flood.join().unwrap();
}

#[test]
fn raw_parameters_with_line_ends_stay_one_frame() {
    let (mut client, serving) = server("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\": [1]}}\n");
    let answer = client.call_raw("hook.evaluate", "{\n  \"payload\": {\r\n \"x\": 1 }\n}").unwrap();
    assert_eq!(answer.result.get(), "{\"a\": [1]}");
    drop(client);
    assert!(serving.join().unwrap().contains("\"payload\""));
}

#[test]
fn a_null_result_is_a_result() {
    let (mut client, _serving) = server("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":null}\n");
    assert_eq!(client.call_raw("m", "{}").unwrap().result.get(), "null");
}

#[test]
fn params_too_long_for_a_frame_are_not_sent() {
    let (mut client, _serving) = server("");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_FRAME_BYTES));
    assert!(matches!(client.call_raw("m", &long), Err(CallError::TooLong)));
    drop(client.call::<Shutdown>(&ShutdownParams::default()));
}
