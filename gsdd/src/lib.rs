//! The daemon: gathers facts, asks the core, carries out its plans, serves the result.
//!
//! [`run`] is the boot order, readable from top to bottom. Modules: [`settings`] and [`environment`] are read once;
//! [`single_instance`] proves that nobody else serves this home; [`transport`] moves messages and knows no method;
//! [`rpc`] is the only place that translates between wire types and the rest; `engine` keeps the composed registry,
//! `lifecycle` plans, `apply` carries out, `store` and `fs` are the only ones that touch files.

pub mod app;
mod apply;
mod audit;
pub mod boot;
mod engine;
pub mod environment;
mod fs;
mod hook_runs;
pub mod latency;
mod lifecycle;
pub mod observe;
mod patience;
mod policy;
mod project;
pub mod rotating_file;
pub mod rpc;
pub mod settings;
pub mod shutdown;
pub mod single_instance;
mod source;
pub mod stdio;
mod store;
pub mod transport;
mod user_config;
mod validate;
mod watch;

pub use boot::run;

/// The whole program: flags and environment of the process in, exit status out.
#[must_use]
pub fn program() -> std::process::ExitCode {
    let flags = <settings::Flags as clap::Parser>::parse();
    let environment = environment::Environment::of_process();
    match settings::Settings::resolve(&flags, &environment) {
        Ok(settings) => run(settings),
        Err(failure) => boot::report_failure(&flags, failure),
    }
}
