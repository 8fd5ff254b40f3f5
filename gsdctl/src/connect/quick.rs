//! The way of `gsdctl hook`: connect within the budget or not at all, no greeting, no waiting for a start.
//!
//! Every request says its protocol number in `ctx`, which the daemon checks, so one exchange is enough.

use std::process::Stdio;
use std::time::Duration;

use gsd_proto::client::Client;

use super::probe::{Attempt, attempt};
use super::{ConnectError, Options, Surroundings, sibling, start};
use crate::args::Global;

/// Time to connect.
pub(crate) const HOOK_BUDGET: Duration = Duration::from_millis(50);

/// Time for one answer of a daemon that was reached.
const ANSWER: Duration = Duration::from_secs(5);

/// The options of a hook call: environment only, no flags.
pub(crate) fn options(surroundings: &Surroundings) -> Options {
    let options = Options::new(&Global::default(), surroundings);
    Options { budget: HOOK_BUDGET, hello_timeout: HOOK_BUDGET, ..options }
}

/// Connects to a running daemon; `None` if none runs. A daemon that was reached gets [`ANSWER`]: it may have to
/// compose first.
pub(crate) fn connect(options: &Options) -> Result<Option<Client>, ConnectError> {
    match attempt(options)? {
        Attempt::Connected(mut client) => {
            client.set_timeout(Some(ANSWER));
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
