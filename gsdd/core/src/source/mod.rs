//! Where capabilities come from: the grammar of source specs, pins, and the policy over them. Fetching is the
//! shell's; what comes back is judged here.
//!
//! Source: ADR-1244 D3 (source kinds), D5 rules 3 and 7 (pins, strict registries).

pub mod integrity;
