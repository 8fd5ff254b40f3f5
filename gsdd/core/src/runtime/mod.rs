//! Hosts as data: where a host keeps its configuration and what it really reads.
//!
//! The engine knows no host by name. Everything that differs between hosts is a value over closed vocabularies in
//! the host's descriptor (`capabilities/<id>/capability.json`, role `runtime`).
//!
//! Source: ADR-1016 (core principle: closed vocabulary, never code in a descriptor).

mod config_home;
mod descriptor;

pub use config_home::{ConfigHome, ConfigHomeKind, NoConfigHome, PathFacts};
pub use descriptor::{
    BlockForm, CommandsPlace, Descriptor, Detect, DirPlace, DocumentDialect, EventRule, GroupRule,
    HandlerRule, HooksPlace, McpBase, McpPlace, McpTarget, ReplyDialect, ReplyRule, ScopedFile, Surfaces,
    TimeUnit, Timeout, WiringScope,
};
