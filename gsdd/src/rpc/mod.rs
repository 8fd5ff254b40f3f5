//! The method table: one file per namespace, each with an `add_to` function.
//!
//! Handlers are three to ten lines: they get typed parameters, ask the rest of the daemon, and answer with a typed
//! result or a [`WireError`](gsd_proto::WireError).

mod capability;
mod command;
mod config;
mod consent;
pub mod daemon;
mod explain;
pub mod guard;
mod hook;
mod ledger;
mod loop_hooks;
mod manifest;
mod register;
mod registry;
mod reviewer;
mod runtime;
mod source;
mod switch;
mod wire;

use std::sync::Arc;

use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::{Methods, RpcModule};

pub use register::{EventSink, error_object, register, register_blocking, register_subscription};

use crate::app::App;

/// All methods over one state.
///
/// # Errors
/// When two methods have the same name, which a test rules out.
pub fn build(app: &Arc<App>) -> Result<Methods, RegisterMethodError> {
    let mut module = RpcModule::from_arc(Arc::clone(app));
    daemon::add_to(&mut module)?;
    registry::add_to(&mut module)?;
    explain::add_to(&mut module)?;
    manifest::add_to(&mut module)?;
    loop_hooks::add_to(&mut module)?;
    hook::add_to(&mut module)?;
    capability::add_to(&mut module)?;
    switch::add_to(&mut module)?;
    consent::add_to(&mut module)?;
    ledger::add_to(&mut module)?;
    command::add_to(&mut module)?;
    reviewer::add_to(&mut module)?;
    runtime::add_to(&mut module)?;
    source::add_to(&mut module)?;
    config::add_to(&mut module)?;
    let names: Vec<String> = module.method_names().map(str::to_owned).collect();
    app.set_methods(names);
    Ok(module.into())
}

#[cfg(test)]
mod tests;
