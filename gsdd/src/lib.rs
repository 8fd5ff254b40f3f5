//! The daemon: gathers facts, asks the core, carries out its plans, serves the result.
//!
//! [`run`] is the boot order, readable from top to bottom. Modules: [`settings`] and [`environment`] are read once;
//! [`single_instance`] proves that nobody else serves this home; [`transport`] moves messages and knows no method;
//! [`rpc`] is the only place that translates between wire types and the rest.

pub mod app;
pub mod boot;
pub mod environment;
pub mod latency;
pub mod observe;
pub mod rotating_file;
pub mod rpc;
pub mod settings;
pub mod shutdown;
pub mod single_instance;
pub mod stdio;
pub mod transport;

pub use boot::run;
