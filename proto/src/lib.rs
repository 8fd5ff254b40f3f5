//! The contract between `gsdd` and its clients.
//!
//! What is promised here: JSON-RPC 2.0 in UTF-8 over a local socket (or the pipes of `gsdd --stdio`), one JSON
//! document a line, or `Content-Length` headers for editor libraries ([`frame`]); methods with typed parameters
//! and results ([`method`], [`api`]); dotted error codes ([`code`]); the place where the socket is ([`endpoint`]).
//!
//! What is not here: the domain. Manifests, capabilities and consent records have wire views in [`api`], their
//! own types live in the daemon and may change without this crate.
//!
//! **Compatibility.** [`PROTOCOL`] changes when an existing field or method changes its meaning or goes away. New
//! optional fields and new methods do not change it: readers ignore fields they do not know, and clients ask for
//! methods by name. A daemon answers `daemon.hello`, `daemon.status` and `daemon.shutdown` to every client, whatever
//! its protocol number, so that two versions can always sort it out.

pub mod api;
#[cfg(any(unix, windows))]
pub mod client;
pub mod code;
pub mod context;
pub mod duration;
pub mod endpoint;
pub mod frame;
pub mod message;
pub mod method;
pub mod private_dir;
pub mod readiness;
mod scan;

pub use code::{Code, Fix, WireError};
pub use context::Context;
pub use method::{Effect, Method, Subscription};

/// Number of the protocol that this crate describes.
pub const PROTOCOL: u32 = 1;

/// Oldest protocol number that this build still speaks.
pub const PROTOCOL_MIN: u32 = 1;

/// Largest frame that either side accepts, in bytes of JSON.
pub const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;

/// Version of the product, the same in all crates of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Names one build of a program by its version, size and time of modification: a client that sees another one beside
/// itself than the one that runs knows that the program was replaced.
#[must_use]
pub fn build_of(program: &std::fs::Metadata) -> String {
    let modified = program.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{VERSION}+{:x}.{:x}", modified.unwrap_or_default().as_secs(), program.len())
}

/// Whether build `a` was made after build `b`, both named by [`build_of`].
#[must_use]
pub fn is_newer_build(a: &str, b: &str) -> bool {
    let made = |build: &str| {
        let (_, rest) = build.split_once('+')?;
        u64::from_str_radix(rest.split_once('.')?.0, 16).ok()
    };
    matches!((made(a), made(b)), (Some(a), Some(b)) if a > b)
}

#[cfg(test)]
mod tests {
    #[test]
    fn builds_are_ordered_by_the_time_they_were_made() {
        use super::is_newer_build;
        assert!(is_newer_build("0.1.0+6b0d4636.10", "0.1.0+6b0d4635.20"));
        assert!(!is_newer_build("0.1.0+6b0d4635.10", "0.1.0+6b0d4635.20"));
        assert!(!is_newer_build("0.1.0", "0.1.0+1.1"));
    }
}
