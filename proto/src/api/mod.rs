//! The methods, one file per namespace.
//!
//! A method is a unit type that implements [`Method`]; its parameters and result are plain structs
//! with camelCase names. Every parameter object carries `ctx`; every result carries `snapshot` and `warnings`.

use serde::{Deserialize, Serialize};

use crate::method::{Effect, Method, Subscription};

pub mod capability;
pub mod command;
pub mod config;
pub mod daemon;
pub mod hook;
pub mod ledger;
pub mod loop_hooks;
pub mod manifest;
pub mod outdated;
pub mod registry;
pub mod reviewer;
pub mod runtime;
pub mod source;

/// Every method with its effect; subscriptions are listed by their opening and closing calls.
///
/// A test of the daemon compares this table with what it serves.
pub const METHODS: &[(&str, Effect)] = &[
    row::<daemon::Hello>(),
    row::<daemon::Status>(),
    row::<daemon::Shutdown>(),
    row::<daemon::Logs>(),
    row::<registry::Get>(),
    row::<registry::List>(),
    row::<registry::Explain>(),
    row::<registry::Graph>(),
    (<registry::Changes as Subscription>::SUBSCRIBE, Effect::Read),
    (<registry::Changes as Subscription>::UNSUBSCRIBE, Effect::Read),
    row::<manifest::Validate>(),
    row::<loop_hooks::Render>(),
    row::<loop_hooks::Points>(),
    row::<hook::Evaluate>(),
    row::<hook::Report>(),
    row::<hook::Resolve>(),
    row::<hook::List>(),
    row::<capability::Stage>(),
    row::<capability::Commit>(),
    row::<capability::Discard>(),
    row::<capability::Remove>(),
    row::<capability::State>(),
    row::<capability::Set>(),
    row::<capability::Enable>(),
    row::<capability::Disable>(),
    row::<capability::ConsentList>(),
    row::<capability::ConsentShow>(),
    row::<capability::ConsentRevoke>(),
    row::<ledger::LedgerList>(),
    row::<ledger::LedgerVerify>(),
    row::<ledger::LedgerReconcile>(),
    row::<command::Resolve>(),
    row::<command::McpResolve>(),
    row::<reviewer::List>(),
    row::<reviewer::Resolve>(),
    row::<runtime::List>(),
    row::<source::Parse>(),
    row::<source::Hash>(),
    row::<source::Resolve>(),
    row::<source::Inspect>(),
    row::<outdated::Outdated>(),
    row::<config::List>(),
    row::<config::Get>(),
    row::<config::Set>(),
    row::<config::Unset>(),
];

const fn row<M: Method>() -> (&'static str, Effect) {
    (M::NAME, M::EFFECT)
}

/// What a method of this name may do; `None` for a name that this build does not know.
#[must_use]
pub fn effect(method: &str) -> Option<Effect> {
    METHODS.iter().find(|(name, _)| *name == method).map(|(_, effect)| *effect)
}

/// Method name of the notification that tells how far a call is.
pub const PROGRESS: &str = "$/progress";

/// How far a call is; sent to callers that set `ctx.progress`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// Id of the call; filled in by the daemon.
    pub token: serde_json::Value,
    /// What is being done, for example `download`.
    pub phase: String,
    /// How much of it is done.
    pub done: u64,
    /// How much there is, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Of what: `bytes`, `files`, `items`.
    pub unit: String,
    /// One line that the person has to be told at once, if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notice: String,
}

/// Something that did not stop a call but that the caller should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Warning {
    /// Dotted name.
    pub code: String,
    /// One line.
    pub message: String,
    /// The command that would settle it, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<crate::Fix>,
}
