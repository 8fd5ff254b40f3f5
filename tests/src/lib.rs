//! A small world for one test: its own home, runtime folder and daemon, and nothing of the person's.
//!
//! [`World::gsdctl`] runs the real client with a cleared environment; whatever daemon it starts lives in the world's
//! folders and is ended with it. Nothing waits for a fixed time: [`wait_for`] looks until a condition holds.

#![expect(clippy::expect_used, clippy::panic, reason = "support of tests: a panic is the report")]

mod binaries;
mod bundle;
mod files;
mod host;
mod https;
mod minisign;
mod process;
mod registry;
mod repository;
mod run;
mod terminal;
mod tree;
mod world;

pub use bundle::{Bundle, sri};
pub use files::{bytes_of, link, mode_of, put, set_mode, text_of};
pub use host::{payload, registered, write_of};
pub use https::{HttpsServer, Reply, Seen};
pub use minisign::MinisignKey;
pub use process::{alive, signal_process};
pub use registry::{OciRegistry, oci_digest, oci_manifest};
pub use repository::Repository;
pub use run::{Outcome, Run};
pub use tree::Tree;
pub use world::{World, wait_for};
