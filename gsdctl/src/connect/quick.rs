//! The way of `gsdctl hook`: connect within the budget or not at all, no greeting, no waiting for a start.
//!
//! Every request says its protocol number in `ctx`, which the daemon checks, so one exchange is enough.

#![allow(dead_code, reason = "the only caller is the hook path")]

use std::process::Stdio;
use std::time::Duration;

use gsd_proto::client::Client;

use super::probe::{Attempt, attempt};
use super::{ConnectError, Options, Surroundings, sibling, start};
use crate::args::Global;

/// Time to connect and to get an answer.
pub(crate) const HOOK_BUDGET: Duration = Duration::from_millis(50);

/// The options of a hook call: environment only, no flags.
pub(crate) fn options() -> Result<Options, gsd_proto::WireError> {
    let global = Global::default();
    let options = Options::new(&global, &Surroundings::of_process(&global)?);
    Ok(Options { budget: HOOK_BUDGET, hello_timeout: HOOK_BUDGET, ..options })
}

/// Connects to a running daemon; `None` if none runs. The client waits for an answer as long as
/// [`Client::set_timeout`] says; at first that is [`HOOK_BUDGET`].
pub(crate) fn connect(options: &Options) -> Result<Option<Client>, ConnectError> {
    match attempt(options)? {
        Attempt::Connected(mut client) => {
            client.set_timeout(Some(HOOK_BUDGET));
            Ok(Some(client))
        }
        Attempt::Nobody => Ok(None),
    }
}

/// Starts a daemon and does not wait for it. Nothing is started while one is on its way up or down, or when a start
/// failed a moment ago: hooks come in bursts. Of several started at once one stays: the daemon's own lock decides.
pub(crate) fn start_in_background(options: &Options) -> Result<(), gsd_proto::WireError> {
    if start::is_pointless(options) {
        return Ok(());
    }
    let mut command = sibling::command(options)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(gsd_proto::WireError::new(gsd_proto::Code::DaemonStartFailed, "`gsdd` cannot be run")
                .caused_by(error.to_string()))
        }
    }
}
