//! `gsdctl`, the thin client.
fn main() {}
