//! The way to a daemon: connect, else start one, else do the work in a process of our own.
//!
//! A daemon that does not answer is not a dead one (it may be stopped, or swapped out): it is never replaced from here,
//! the work is done without it. Every way round is told once, on standard error, with its cause.

mod cause;
mod options;
mod probe;
pub(crate) mod quick;
mod sibling;
mod start;
mod stdio;

use gsd_proto::api::Warning;
use gsd_proto::client::{CallError, Client};
use gsd_proto::{Code, Context, Effect, Method, WireError, api};
use serde_json::value::RawValue;

pub(crate) use cause::ConnectError;
pub(crate) use options::{Options, Surroundings};

use crate::args::Global;
use crate::output::{clean, say};
use crate::progress::{self, Shown};
use probe::Attempt;

/// Code of the warning that the daemon was not used.
pub(crate) const DETOUR: &str = "daemon.detour";

/// A daemon that answered the greeting.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    options: Options,
    /// Why the daemon is not used, if it is not.
    detour: Option<String>,
}

impl Connection {
    fn new(mut client: Client, options: &Options, detour: Option<String>) -> Self {
        client.on_progress(Some(progress::notices()));
        Self { client, options: options.clone(), detour }
    }

    /// Calls a method; the same for both ways.
    pub(crate) fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, WireError> {
        match self.client.call::<M>(params) {
            Err(error) if self.may_call_again(&error, Some(M::EFFECT))? => {
                self.client.call::<M>(params).map_err(CallError::into_wire)
            }
            other => other.map_err(CallError::into_wire),
        }
    }

    /// Calls a method by name with parameters that are JSON already.
    pub(crate) fn call_raw(&mut self, method: &str, params: &str) -> Result<Box<RawValue>, WireError> {
        let call =
            |client: &mut Client| client.call_raw(method, params).map(|answer| answer.result.to_owned());
        match call(&mut self.client) {
            Err(error) if self.may_call_again(&error, api::effect(method))? => {
                call(&mut self.client).map_err(CallError::into_wire)
            }
            other => other.map_err(CallError::into_wire),
        }
    }

    /// A daemon that ends may do so between our greeting and our call. What certainly was not begun, and what only
    /// reads, is called again over a new connection, once.
    fn may_call_again(&mut self, error: &CallError, effect: Option<Effect>) -> Result<bool, WireError> {
        let again = match error {
            CallError::Remote { error, .. } => &*error.code == Code::DaemonStopping.name(),
            CallError::Closed => effect == Some(Effect::Read),
            _ => false,
        };
        if again && self.detour.is_none() && !self.options.no_daemon {
            let Self { client, detour, .. } = connect(&self.options)?;
            self.client = client;
            self.detour = detour;
            return Ok(true);
        }
        Ok(false)
    }

    /// Calls a method that may take its time, and shows how far it is.
    pub(crate) fn call_shown<M: Method>(
        &mut self,
        global: &Global,
        params: impl FnOnce(Context) -> M::Params,
    ) -> Result<M::Result, WireError> {
        let shown = Shown::start(global);
        self.client.on_progress(Some(shown.as_ref().map_or_else(progress::notices, Shown::listener)));
        let result = self.call::<M>(&params(self.context()));
        self.client.on_progress(Some(progress::notices()));
        result
    }

    /// The surroundings to send with each call.
    pub(crate) fn context(&self) -> Context {
        self.options.context.clone()
    }

    /// What a report has to say about the way the answers came; people were told already.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let told = self.detour.iter();
        told.map(|why| Warning { code: DETOUR.to_owned(), message: why.clone(), fix: Vec::new() }).collect()
    }

    /// The client itself, for subscriptions and raw calls.
    pub(crate) fn into_client(self) -> Client {
        self.client
    }
}

/// Whether the network may not be used.
pub(crate) fn offline(global: &Global) -> bool {
    global.offline || std::env::var_os("GSD_OFFLINE").is_some_and(|value| value == "1")
}

/// Connects by whatever way there is, starting a daemon if none runs.
///
/// # Errors
/// When there is no way at all.
pub(crate) fn connect(options: &Options) -> Result<Connection, WireError> {
    if options.no_daemon {
        let client = stdio::spawn(options)?;
        return Ok(Connection::new(client, options, None));
    }
    match connect_to_daemon(options) {
        Ok(client) => Ok(Connection::new(client, options, None)),
        Err(cause) => {
            let client = stdio::spawn(options).map_err(|failure| failure.caused_by(cause.to_string()))?;
            let why = clean(&cause.to_string());
            if !options.quiet {
                say(&format!("warning: working without the daemon: {why}"));
            }
            Ok(Connection::new(client, options, Some(why)))
        }
    }
}

/// Connects to a daemon, starting one if none runs, without any way round.
pub(crate) fn connect_to_daemon(options: &Options) -> Result<Client, ConnectError> {
    let client = match probe::attempt(options)? {
        Attempt::Connected(client) => client,
        Attempt::Nobody => start::start(options)?,
    };
    match probe::greet(options, client) {
        // It was on its way out: the next one is ours to start.
        Err(ConnectError::Closed) => probe::greet(options, start::start(options)?),
        other => other,
    }
}

/// A process that serves this caller alone.
pub(crate) fn private_process(options: &Options) -> Result<Client, WireError> {
    stdio::spawn(options)
}

/// Connects to a running daemon, whatever it speaks; `None` if none runs.
pub(crate) fn existing(options: &Options) -> Result<Option<Client>, ConnectError> {
    match probe::attempt(options)? {
        Attempt::Connected(mut client) => {
            client.set_timeout(Some(options.call_timeout));
            Ok(Some(client))
        }
        Attempt::Nobody => Ok(None),
    }
}

/// The program to run in the foreground, with what it has to know.
pub(crate) fn foreground(options: &Options) -> Result<std::process::Command, WireError> {
    let mut command = sibling::command(options)?;
    command.arg("--foreground");
    Ok(command)
}

/// Waits until the daemon with this process id, or any if it is not known, no longer holds the lock.
pub(crate) fn wait_until_gone(options: &Options, pid: Option<u32>) -> Result<(), WireError> {
    start::wait_for_lock(&options.endpoint.lock_file(), pid, options.stop_timeout).map_err(|error| {
        WireError::new(Code::Timeout, "the daemon has not ended yet").caused_by(error.to_string())
    })
}
