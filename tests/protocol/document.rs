//! The page about the wire says what the code does.

use gsd_proto::code::rpc;

#[test]
fn every_number_of_the_transport_is_explained() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");
    let page = std::io::read_to_string(std::fs::File::open(page).unwrap()).unwrap();
    let numbers = [
        rpc::PARSE_ERROR,
        rpc::INVALID_REQUEST,
        rpc::METHOD_NOT_FOUND,
        rpc::INVALID_PARAMS,
        rpc::INTERNAL_ERROR,
        rpc::TOO_MANY_SUBSCRIPTIONS,
        rpc::FRAME_TOO_LONG,
        rpc::ANSWER_TOO_LONG,
        rpc::BUSY,
        rpc::BATCH_TOO_LONG,
        rpc::BATCH_ANSWER_TOO_LONG,
    ];
    for number in numbers {
        assert!(page.contains(&format!("| {number} |")), "{number} is missing");
    }
    for name in ["daemon.hello", "$/cancel", "$/cancelRequest", "$/progress", "daemon.stopping", "GSD_SOCKET"]
    {
        assert!(page.contains(name), "{name} is missing");
    }
}
