//! The policy on disk: which files make it up for one caller in one project, and what a refusal says.
//!
//! Nothing of it is remembered beyond what the files look like: each use looks at them again, so that a change counts
//! from the next question on (threat T187).

mod files;
mod refusal;

pub(crate) use files::{Policies, files};
pub(crate) use refusal::{refused, source_refused};
