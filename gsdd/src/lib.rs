//! The shell around the pure domain.
