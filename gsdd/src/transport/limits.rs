//! The bounds of one connection and of all of them.

use std::time::Duration;

use gsd_proto::MAX_FRAME_BYTES;

/// What a client may use up (threats T175 to T179).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest frame taken, in bytes.
    pub frame_bytes: usize,
    /// Longest answer given, in bytes.
    pub answer_bytes: usize,
    /// Calls being served at a time, per connection; more have to wait.
    pub in_flight: usize,
    /// Bytes of the calls being served, per connection; more have to wait.
    pub in_flight_bytes: usize,
    /// Answers waiting to be written, per connection; a handler that has more waits.
    pub outbox: usize,
    /// Entries of one batch.
    pub batch: usize,
    /// Open subscriptions per connection.
    pub subscriptions: u32,
    /// Connections at a time.
    pub connections: usize,
    /// Time to take one write off us.
    pub write_stall: Duration,
    /// Time to send the rest of a frame that has begun.
    pub read_stall: Duration,
    /// Time that one call may take.
    pub call: Duration,
    /// Time that calls in flight get when the daemon ends.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: MAX_FRAME_BYTES,
            answer_bytes: MAX_FRAME_BYTES,
            in_flight: 64,
            in_flight_bytes: 4 * MAX_FRAME_BYTES,
            outbox: 64,
            batch: 100,
            subscriptions: 16,
            connections: 256,
            write_stall: Duration::from_secs(30),
            read_stall: Duration::from_secs(30),
            call: Duration::from_secs(600),
            drain: Duration::from_secs(5),
        }
    }
}
