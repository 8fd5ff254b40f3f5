//! The contract between `gsdd` and its clients.
