//! The way round: a daemon of our own that serves this one process over its pipes and ends with it.

use std::process::Stdio;

use gsd_proto::api::daemon::{Hello, ProtocolRange};
use gsd_proto::client::{CallError, ChildChannel, Client};
use gsd_proto::{Code, WireError};

use super::{Options, probe, sibling};

/// Starts it and greets it.
pub(super) fn spawn(options: &Options) -> Result<Client, WireError> {
    let mut command = sibling::command(options)?;
    // What it has to say goes to our terminal, next to our own words.
    command.arg("--stdio").stderr(Stdio::inherit());
    let channel = ChildChannel::spawn(&mut command).map_err(|error| {
        WireError::new(Code::DaemonStartFailed, "`gsdd --stdio` cannot be run").caused_by(error.to_string())
    })?;
    let mut client = Client::new(Box::new(channel));
    client.set_timeout(Some(options.call_timeout));
    client.call::<Hello>(&probe::hello(options, ProtocolRange::OURS)).map_err(CallError::into_wire)?;
    Ok(client)
}
