//! What a bundle would do on this machine, and the values that bind a person's approval to it.
//!
//! Three values, each with one job: the [`ContentHash`] says *which bytes*, the [`signature`] is the text that
//! upstream keeps beside it in a consent record, and the [`digest`] is what an approval of ours names: content,
//! surfaces and everything the other two leave out. Nothing here decides who may install what; that is policy.
//!
//! Source: ADR-1244 D5 (disclosure, consent, re-consent), decisions D-05 to D-07.

pub mod canonical_json;
mod changes;
mod collect;
pub mod content_hash;
mod destination;
pub mod digest;
pub mod disclosure;
mod items;
mod level;
pub mod lines;
mod publisher;
pub mod reask;
pub mod signature;
mod surfaces;
mod tokens;

pub use changes::{ChangeKind, Changes, Compared, ComparedFile, FileChange, differing};
pub use content_hash::{ContentHash, ContentHasher, EntryKind, content_hash};
pub use destination::Destination;
pub use digest::{consent_digest, destination_digest, link_digest, sha256, sha256_text, surface_digest};
pub use disclosure::{Disclosure, LaneSurface};
pub use items::LANE_RECEIVES;
pub use level::VerificationLevel;
pub use lines::{Detail, DisclosureGroup, DisclosureLine, FileFact, FileFacts};
pub use publisher::{
    KeyProblem, PublisherKey, PublisherSignature, SignatureProblem, SignedOrigin, SignerTrust,
};
pub use reask::{ExecutableState, ReaskReason, UpdateFacts, reasons_to_ask_again};
pub use signature::disclosure_signature;
pub use tokens::{Instruction, estimated_tokens};
