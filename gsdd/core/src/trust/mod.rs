//! What a bundle would do on this machine, and the values that bind a person's approval to it.
//!
//! Three values, each with one job: the [`content_hash`] says *which bytes*, the [`signature`] is the text that
//! upstream keeps beside it in a consent record, and the [`digest`] is what an approval of ours names: content,
//! surfaces and everything the other two leave out. Nothing here decides who may install what; that is policy.
//!
//! Source: ADR-1244 D5 (disclosure, consent, re-consent), decisions D-05 to D-07.

pub mod canonical_json;
pub mod content_hash;
pub mod signature;
mod surfaces;
