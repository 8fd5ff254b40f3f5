use super::*;

fn all(max: usize, input: &[u8], chunk: usize) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = Decoder::new(max);
    let mut frames = Vec::new();
    for piece in input.chunks(chunk) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(
            decoder.buffer.len() <= max + chunk + MAX_HEADER_BYTES,
            "the buffer grew to {}",
            decoder.buffer.len()
        );
    }
    frames.extend(decoder.finish());
    (frames, None)
}

#[track_caller]
fn check(input: &[u8], expected: &[&str]) {
    for chunk in [1, 2, 3, 7, 4096] {
        let (frames, error) = all(64, input, chunk);
        assert_eq!(error, None);
        let got: Vec<String> = frames
            .iter()
            .map(|frame| match frame {
                Frame::Message(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Frame::TooLong => "TOO LONG".to_owned(),
            })
            .collect();
        assert_eq!(got, expected, "in chunks of {chunk}");
    }
}

#[test]
fn lines() {
    check(b"{\"a\":1}\n{}\r\n\n  \n[]\n", &["{\"a\":1}", "{}", "[]"]);
}

#[test]
fn p05_last_line_without_newline_is_served() {
    check(b"{}\n{\"b\":2}", &["{}", "{\"b\":2}"]);
}

#[test]
fn headers() {
    check(b"Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x\r\n\r\n[1]", &["{}", "[1]"]);
    check(b"\r\n Content-Length: 2\n\n{}", &["{}"]);
}

#[test]
fn a_message_in_headers_may_hold_line_ends() {
    check(b"Content-Length: 5\r\n\r\n{\n\n}\n\r\nContent-Length: 2\r\n\r\n{}", &["{\n\n}\n", "{}"]);
}

#[test]
fn p04_over_long_frame_is_skipped_and_the_next_one_served() {
    let mut lines = b"{}\n".to_vec();
    lines.extend(vec![b'x'; 1000]);
    lines.extend(b"\n[]\n");
    check(&lines, &["{}", "TOO LONG", "[]"]);
    let mut headers = b"Content-Length: 1000\r\n\r\n".to_vec();
    headers.extend(vec![b'x'; 1000]);
    headers.extend(b"Content-Length: 2\r\n\r\n[]");
    check(&headers, &["TOO LONG", "[]"]);
}

#[test]
fn t175_giant_frame_is_not_stored() {
    // 4 GiB announced, none of it allocated.
    let mut decoder = Decoder::new(64);
    decoder.push(b"Content-Length: 4294967296\r\n\r\n");
    assert_eq!(decoder.next_frame(), Ok(Some(Frame::TooLong)));
    for _ in 0..100 {
        decoder.push(&[b'x'; 1000]);
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.buffer.capacity() < 4096);
    }
    // A length that no address space has.
    let (frames, error) = all(64, b"Content-Length: 18446744073709551615\r\n\r\nxx", 4096);
    assert_eq!((frames.len(), error), (1, None));
}

#[test]
fn broken_headers_end_the_stream() {
    for bad in [
        "Content-Type: x\r\n\r\n{}",
        "Content-Length: -1\r\n\r\n{}",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "Content-Length: 99999999999999999999999\r\n\r\n{}",
        "Content-Length:\r\n\r\n",
    ] {
        assert_eq!(all(64, bad.as_bytes(), 4096).1, Some(FrameError::BadHeader), "{bad}");
    }
    let endless = format!("Content-Length: 2\r\n{}", "a: b\r\n".repeat(4000));
    assert_eq!(all(64, endless.as_bytes(), 512).1, Some(FrameError::HeadersTooLong));
}

#[test]
fn encoding_keeps_one_message_on_one_line() {
    let mut out = Vec::new();
    encode(Framing::Lines, b"{\n  \"a\": 1\r\n}", &mut out);
    assert_eq!(out, b"{   \"a\": 1  }\n");
    out.clear();
    encode(Framing::Headers, b"{}", &mut out);
    assert_eq!(out, b"Content-Length: 2\r\n\r\n{}");
}

/// A small generator: the everyday form of the fuzz target.
#[test]
fn arbitrary_bytes_never_panic() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..2000 {
        let mut input = Vec::new();
        for _ in 0..200 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            input.push(b"Cc{}[]:\r\n 0123456789content-length"[(seed % 33) as usize]);
        }
        drop(all(16, &input, (seed % 17) as usize + 1));
    }
}
