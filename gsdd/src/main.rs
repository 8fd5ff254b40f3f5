//! `gsdd`, the daemon.
fn main() {}
