//! `gsdd --stdio` answers as the socket does and ends with its client.

use std::io::{BufRead as _, BufReader, Write as _};

use gsd_tests::World;
use serde_json::Value;

fn over_stdio(world: &World, input: &str) -> Vec<Value> {
    let outcome = world.gsdd(["--stdio"]).input(input).run().succeeds().silent();
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn both_ways_answer_the_same() {
    let world = World::new();
    let call = |extra: &[&str]| {
        let mut run =
            world.gsdctl(["daemon", "call", "daemon.hello", r#"{"protocol":{"min":1,"max":1}}"#, "--json"]);
        for arg in extra {
            run = run.arg(arg);
        }
        run.run().succeeds().silent().json()["data"].clone()
    };
    let (mut socket, mut stdio) = (call(&[]), call(&["--no-daemon"]));
    for answer in [&mut socket, &mut stdio] {
        for member in ["pid", "instance", "uptimeS"] {
            assert!(!answer[member].is_null());
            answer[member] = Value::Null;
        }
    }
    assert_eq!(socket, stdio);
}

#[test]
fn p05_a_piped_request_without_newline_is_served() {
    let world = World::new();
    let answers = over_stdio(&world, r#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"#);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], 1);
}

#[test]
fn several_requests_and_a_batch() {
    let world = World::new();
    let answers = over_stdio(
        &world,
        "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"daemon.status\"}\nnot json\n[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"daemon.status\"}]\n",
    );
    assert_eq!(answers.len(), 3, "{answers:?}");
}

#[test]
fn it_ends_when_its_client_does() {
    let world = World::new();
    let mut child = world.gsdd(["--stdio"]).spawn();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.status\"}\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"id\":1"), "{line}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
