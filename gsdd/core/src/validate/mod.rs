//! Judging one bundle as its author wants it judged: everything at once, with places and remedies.
//!
//! Loading answers "may this be used"; here the question is "what is there to correct". [`Draft::read`] judges the
//! manifest file and says which other files have to be looked at; [`Draft::judge`] takes what the shell found and
//! answers with a [`Verdict`]. [`sarif`] writes one for tools that show findings in an editor or a review.
//!
//! Source: ADR-1244 D2 (validation is the author's tool too), decision D-20.

mod bundle_facts;
mod draft;
mod sarif;
mod verdict;

pub use bundle_facts::{BundleFacts, MemberFault, MemberFaultKind};
pub use draft::{Draft, ManifestFile};
pub use sarif::sarif;
pub use verdict::{Finding, Verdict};

#[cfg(test)]
mod tests;
