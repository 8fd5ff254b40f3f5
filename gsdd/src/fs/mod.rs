//! The only place that touches files: bounded reads, atomic writes, whole bundles.

pub(crate) mod atomic;
pub(crate) mod bounded_read;
pub(crate) mod bundle_survey;
pub(crate) mod bundle_tree;
mod crew;
pub(crate) mod fault;
pub(crate) mod staging;
pub(crate) mod stamp;
