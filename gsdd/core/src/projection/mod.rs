//! See the crate documentation.

pub mod edit;
