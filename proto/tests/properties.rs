//! What holds for every input: no panic, no dependence on how the bytes are cut, nothing lost on the way.

use gsd_proto::endpoint::{Endpoint, MAX_SOCKET_PATH_BYTES, Surroundings};
use gsd_proto::frame::{Decoder, Frame, Framing, encode};
use gsd_proto::message::{Incoming, classify};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Frames and how it ended, with the input cut into pieces of these sizes.
fn decode(max: usize, input: &[u8], cuts: &[usize]) -> (Vec<Frame>, bool) {
    let mut decoder = Decoder::new(max);
    let mut frames = Vec::new();
    let mut rest = input;
    let mut sizes = cuts.iter().copied().chain(std::iter::repeat(usize::MAX));
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
        rest = later;
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return (frames, false),
            }
        }
    }
    frames.extend(decoder.finish());
    (frames, true)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    /// How a stream is cut does not change what is read from it.
    #[test]
    fn frames_do_not_depend_on_the_cuts(
        input in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "([{}x]{0,30}\r?\n){0,10}".prop_map(String::into_bytes),
            "(Content-Length: [0-9]{1,2}\r\n\r\n[x\n]{0,20}){0,6}".prop_map(String::into_bytes),
        ],
        cuts in prop::collection::vec(1_usize..40, 0..40),
    ) {
        prop_assert_eq!(decode(16, &input, &cuts), decode(16, &input, &[1; 400]));
    }

    /// What one side writes the other reads, in both framings, whatever the layout of the JSON.
    #[test]
    fn messages_survive_the_way(messages in prop::collection::vec(value(), 1..6), pretty: bool, headers: bool, cut in 1_usize..50) {
        let framing = if headers { Framing::Headers } else { Framing::Lines };
        let mut stream = Vec::new();
        for message in &messages {
            let text = if pretty { serde_json::to_string_pretty(message) } else { serde_json::to_string(message) };
            encode(framing, text.unwrap().as_bytes(), &mut stream);
        }
        let mut decoder = Decoder::with_framing(1 << 20, framing);
        let mut got = Vec::new();
        for piece in stream.chunks(cut) {
            decoder.push(piece);
            while let Some(Frame::Message(bytes)) = decoder.next_frame().unwrap() {
                got.push(serde_json::from_slice::<Value>(&bytes).unwrap());
            }
        }
        prop_assert_eq!(got, messages);
    }

    /// Arbitrary bytes are classified without a panic.
    #[test]
    fn anything_can_be_classified(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(classify(&bytes));
    }

    /// A well-formed call is recognised with its id and parameters, whatever they hold.
    #[test]
    fn calls_are_recognised(id: u64, method in "[a-z.]{1,20}", params in value()) {
        let params = json!({"value": params});
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        match classify(text.as_bytes()) {
            Incoming::Call { id: got, method: name, params: Some(raw) } => {
                prop_assert_eq!(got, gsd_proto::message::RequestId::Number(id));
                prop_assert_eq!(name, method);
                prop_assert_eq!(serde_json::from_str::<Value>(raw.get()).unwrap(), params);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Whatever the environment, the path of the socket fits, and both sides arrive at the same one.
    #[test]
    #[cfg(unix)]
    fn fr033_the_path_of_the_socket_always_fits(
        home in "(/[a-zé]{1,30}){1,6}",
        runtime in prop::option::of("(/[a-zé]{1,30}){1,6}"),
        tmpdir in prop::option::of("(/[a-zé]{1,30}){1,6}"),
        uid: u32,
    ) {
        let surroundings = Surroundings {
            home: home.into(),
            gsd_runtime_dir: runtime.map(Into::into),
            tmpdir: tmpdir.map(Into::into),
            uid,
            ..Surroundings::default()
        };
        let endpoint = Endpoint::resolve(&surroundings);
        prop_assert!(endpoint.socket.as_os_str().len() <= MAX_SOCKET_PATH_BYTES, "{:?}", endpoint);
        prop_assert_eq!(endpoint, Endpoint::resolve(&surroundings));
    }
}
